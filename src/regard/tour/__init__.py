"""The first walk through everything: patterns drawn and counted, a model priced, three small ones trained."""
