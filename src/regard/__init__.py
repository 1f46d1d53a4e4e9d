"""Sequence models you can see, count and run."""

__version__ = "0.1.0"
