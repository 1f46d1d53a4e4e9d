"""Small trained models that ship with the package, each with its card, and a look into any run."""

from regard.zoo.looking import Look, look, open_run
from regard.zoo.sentiment import TextPrediction, WordScore, predict_sentiment
from regard.zoo.shelf import MOST_BYTES, Entry, add, card, load, names, put, size

__all__ = [
    "MOST_BYTES",
    "Entry",
    "Look",
    "TextPrediction",
    "WordScore",
    "add",
    "card",
    "load",
    "look",
    "names",
    "open_run",
    "predict_sentiment",
    "put",
    "size",
]
