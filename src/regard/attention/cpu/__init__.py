"""Attention on a CPU: folded into the batch, by chunks of a band, or by gathered tiles."""
