"""The web page: patterns, costs, models and attention in a browser, on this machine alone."""

from regard.studio.server import serve

__all__ = ["serve"]
