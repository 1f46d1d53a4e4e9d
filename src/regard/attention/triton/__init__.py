"""Attention by our own kernels, written in Triton: over tiles, over short sequences, and for decoding."""
