"""The exercises of the lessons, one file each: questions, truths, and the mistakes that are known by name."""

# Letters that sheets and books use for the same things.
LENGTH = "n T N L m S"  # of a sequence
WIDTH = "d D C k K h m d_model d_k"  # of a token or a state
