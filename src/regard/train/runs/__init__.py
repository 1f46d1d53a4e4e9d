"""Runs that are there: their models in use, by what they were trained for, and a list of them."""
