"""Linear attention: the exponential dropped, so that time is linear in the length."""
