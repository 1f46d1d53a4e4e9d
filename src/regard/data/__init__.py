"""Data sets by name, tokenizers, batches, and augmentation on the device."""

from regard.data.augment import Augment
from regard.data.hub_tokenizer import HubTokenizer
from regard.data.kinds import Corpus, Images, Pictures, Reviews, Texts, split
from regard.data.own.problems import BadData, DataProblem
from regard.data.own.source import Source
from regard.data.sets import NAMES, load
from regard.data.tokenizers import (
    BytePairTokenizer,
    CharTokenizer,
    Tokenizer,
    WordTokenizer,
    load_tokenizer,
)

__all__ = [
    "NAMES",
    "Augment",
    "BadData",
    "BytePairTokenizer",
    "CharTokenizer",
    "Corpus",
    "DataProblem",
    "HubTokenizer",
    "Images",
    "Pictures",
    "Reviews",
    "Source",
    "Texts",
    "Tokenizer",
    "WordTokenizer",
    "load",
    "load_tokenizer",
    "split",
]  # fmt: skip
