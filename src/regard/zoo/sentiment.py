"""A text judged by a model of the zoo or a run: the label, how sure it is, and what each word did."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.probe import TextLook
from regard.train import Prediction, Run
from regard.train.prediction import read_in
from regard.zoo.looking import look, names_file, open_run

DEFAULT = "zoo:sentiment"


@dataclass(frozen=True)
class WordScore:
    """A word, how much it was attended to (1 is the even share), and its signed part of the label's logit."""

    text: str
    attention: float | None
    gradient: float


@dataclass(frozen=True)
class TextPrediction(Prediction):
    """A prediction for a text, and where the model looked."""

    look: TextLook = field(kw_only=True)

    @property
    def words(self) -> tuple[WordScore, ...]:
        """Every word in the order of the text."""
        found = self.look
        attention = [None] * len(found.pieces) if found.attention is None else found.attention
        rows = zip(found.pieces, attention, found.gradient, strict=True)
        return tuple(WordScore(piece.strip(), a, g) for piece, a, g in rows if piece.strip())

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "input": self.input,
            "label": self.label,
            "probability": self.probability,
            "probabilities": self.probabilities,
            "notice": self.notice,
            "windows": [part.probability for part in self.look.parts],
            "agreement": self.look.agreement(),
            "words": [vars(word) for word in self.words],
        }


def predict_sentiment(text: str, run: Run | str | Path = DEFAULT, *, steps: int = 32) -> TextPrediction:
    """The label of a text (or of a file of text), its probability, and the scores of every word.

    `run` is a run for texts, its folder, or `zoo:NAME`.

    >>> found = predict_sentiment("Not one dull minute.", "zoo:verdicts-encoder")
    >>> found.label, [word.text for word in found.words]
    ('positive', ['Not', 'one', 'dull', 'minute', '.'])
    """
    opened = run if isinstance(run, Run) else open_run(run)
    kind = opened.description["task"]
    if kind != "texts":
        raise ValueError(f"predict_sentiment needs a model for texts, {opened.folder.name} is for {kind}")
    (found,) = look(opened, [text], steps=steps).texts
    assert opened.tokenizer is not None
    room = opened.description["context"] - (opened.tokenizer.start is not None)
    notices = [f"read from {text}" if names_file(text) else None, read_in(found.windows, room)]
    sure = {found.answer: found.probability} if found.probabilities is None else found.probabilities
    notice = "; ".join(one for one in notices if one is not None)
    return TextPrediction(text, found.answer, found.probability, sure, notice if notice else None, look=found)
