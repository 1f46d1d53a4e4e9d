"""The command line: one file per verb, which reads arguments and prints what the library computes."""
