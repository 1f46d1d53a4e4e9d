"""Benchmarks that ship with the package: ours beside each peer, in one run, checked before they are timed."""
