"""The same models through the counters in use, beside the true value."""
