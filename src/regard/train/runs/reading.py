"""Models of texts in use, whatever they were trained for: texts, or files of text, and a look at them."""

import os
from collections.abc import Sequence
from pathlib import Path

from regard.data import Tokenizer
from regard.probe import TextLook, clean, look_text
from regard.probe.inputs import read_text
from regard.train.runs.run import Folder, Look, Run

LONGEST = 500_000  # characters of one text: far beyond any review, and some minutes of reading


class ReadingRun(Run):
    """A run whose inputs are texts."""

    @property
    def reader(self) -> Tokenizer:
        """Its tokenizer, which it must have."""
        if self.tokenizer is None:
            raise ValueError(f"{self.name} has no tokenizer, so no text can be read")
        return self.tokenizer

    def _look(
        self, inputs: Sequence[str], labels: Sequence[str] | None, steps: int, data_dir: Folder
    ) -> Look:
        if not inputs:
            raise ValueError(f"inputs must be at least one text for a run that reads {self.kind}, got none")
        return Look(self.kind, texts=tuple(self.look_at(content(one), steps=steps) for one in inputs))

    def look_at(self, text: str, *, steps: int = 32) -> TextLook:
        """Where the model looked in one text, which is taken for what it says and never for a file's name."""
        raise NotImplementedError

    def windows_seen(
        self,
        text: str,
        classes: Sequence[str],
        *,
        steps: int,
        first: int | None = None,
        window: int | None = None,
        words: bool = False,
    ) -> TextLook:
        """The look at a text by its pieces, or by its words, in windows of at most so many tokens."""
        tokens, pieces, joined = read_text(clean(text), self.reader, words=words)
        return look_text(
            self.model, tokens, pieces, classes, first=first, joined=joined, window=window, steps=steps
        )


def content(given: str) -> str:
    """The text itself, or that of the file that it names; what is no text raises.

    >>> content("Not one dull minute.")
    'Not one dull minute.'
    >>> content("no-such-review.txt")
    Traceback (most recent call last):
        ...
    ValueError: no-such-review.txt cannot be read: No such file or directory
    """
    if not isinstance(given, str):
        raise ValueError(f"text must be a string, got {type(given).__name__}")
    if any("\ud800" <= one <= "\udfff" for one in given):  # how Python hands on an argument's stray bytes
        raise ValueError(f"text must be UTF-8, got bytes that are none: {given[:60]!a}")
    if not names_file(given):
        return _short(given)
    try:
        return _short(Path(given).read_text(encoding="utf-8"), given)
    except UnicodeDecodeError as error:
        raise ValueError(f"{given} must be text in UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise ValueError(f"{given} cannot be read: {error.strerror}") from error


def names_file(given: str) -> bool:
    """Whether an input is meant as a file: something of this name is there, or it ends in .txt."""
    return (given.lower().endswith(".txt") and "\n" not in given) or os.path.exists(given)


def _short(text: str, name: str = "text") -> str:
    if len(text) > LONGEST:
        raise ValueError(f"{name} must have at most {LONGEST:,} characters, got {len(text):,}")
    if "\0" in text:
        raise ValueError(f"{name} must be text, got something binary: it holds zero bytes")
    return text
