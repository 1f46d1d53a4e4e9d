"""Hunts for whole classes of fault: a few tries each in `make test`, as many as wanted by hand."""
