"""The command line: one file per verb, which prints what the library computes."""
