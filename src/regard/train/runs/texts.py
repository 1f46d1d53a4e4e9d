"""Classifiers of texts in use: the label, how sure it is, and what each word did."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from regard.data import Pictures, Texts
from regard.data.embedded.pairs import PairScore, score_pairs
from regard.probe import TextLook, clean
from regard.probe.inputs import unknown
from regard.probe.report import EvaluationReport, judge
from regard.probe.texts import windows
from regard.train.runs.reading import ReadingRun, content, names_file
from regard.train.runs.run import Classifier, Prediction
from regard.train.tasks.rows import TokenTable, readable, rows_of, segments_of
from regard.values import Json


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
        scores = self.look.scores()
        return tuple(WordScore(piece.strip(), a, g or 0.0) for piece, a, g in scores if piece.strip())

    def as_dict(self) -> Json:
        """Label, probabilities, windows and the scores of every word, as JSON."""
        return {name: value for name, value in vars(self).items() if name != "look"} | {
            "windows": [part.probability for part in self.look.parts],
            "agreement": self.look.agreement(),
            "words": [vars(word) for word in self.words],
        }


class TextRun(ReadingRun, Classifier):
    """A classifier of texts."""

    @property
    def room(self) -> int:
        """How many tokens of a text one window holds."""
        return int(self.description["context"]) - (self.reader.start is not None)

    def predict(self, inputs: Sequence[str]) -> list[Prediction]:
        """One prediction for each text, or file of text."""
        found = []
        for given in inputs:
            one = self.predict_text(content(given))
            found.append(replace(one, input=given, notice=_noticed(given, one.notice)))
        return found

    @torch.no_grad()
    def predict_text(self, text: str) -> Prediction:
        """What one text is taken for, be there a file of its name or not; a long one by its windows' mean."""
        ids = self.reader.encode(clean(text))
        if not ids or unknown(ids, self.reader):
            raise ValueError(f"text must hold something that the model knows, got {text[:60]!r}")
        start = [] if self.reader.start is None else [self.reader.start]
        parts = windows(ids, self.room)
        rows = [torch.tensor([[*start, *part]], device=self.device) for part in parts]
        chances = torch.stack([self.model(row).softmax(1)[0] for row in rows]).float().mean(0)
        return self.prediction(text, chances, self._read_in(text, len(parts)))

    def explain(self, inputs: Sequence[str], *, steps: int = 32) -> list[Prediction]:
        """The predictions, each with how much every word did.

        >>> from regard.train import open_run
        >>> (found,) = open_run("zoo:verdicts-encoder").explain(["Not one dull minute."])
        >>> found.label, [word.text for word in found.words]
        ('positive', ['Not', 'one', 'dull', 'minute', '.'])
        """
        out: list[Prediction] = []
        for given in inputs:
            text = content(given)
            look = self.look_at(text, steps=steps)
            assert look.answer is not None  # a classifier gives one
            assert look.probability is not None
            sure = {look.answer: look.probability} if look.probabilities is None else look.probabilities
            notice = _noticed(given, self._read_in(text, look.windows))
            out.append(TextPrediction(given, look.answer, look.probability, sure, notice, look=look))
        return out

    def look_at(self, text: str, *, steps: int = 32) -> TextLook:
        """Where the model looked in one text, which is taken for what it says and never for a file's name."""
        window, first = self.description["context"], self.reader.start
        return self.windows_seen(text, self.classes, steps=steps, first=first, window=window, words=True)

    @torch.no_grad()
    def logits(self, texts: Sequence[str]) -> Tensor:
        """Logits (N,classes) on the CPU; of a long text what training keeps of it is read."""
        context, keep = self.description["context"], self.description.get("keep", "head")
        rows = rows_of(self.reader, texts, context, keep)
        table = TokenTable.of(rows, width=context, tokenizer=self.reader, device=self.device)
        by_size, out = table.by_length(), []
        for at in by_size.split(64 if self.device.type == "cpu" else 256):
            tokens, lengths = table.rows(at)
            out.append(self.model(tokens, segments=segments_of(tokens, lengths)).float().cpu())
        return torch.cat(out)[torch.argsort(by_size.cpu())]

    def judge(self, part: Pictures | Texts, worst: int) -> EvaluationReport:
        """The report on some texts, and on pairs of sentences that differ in a negation."""
        assert isinstance(part, Texts)
        texts = readable(part.texts)
        out = judge(self.logits(texts), part.labels, self.classes, shown=texts, worst=worst)
        return replace(out, pairs=self.pair_scores())

    def pair_scores(self) -> dict[str, PairScore] | None:
        """The scores on the negation and contrast pairs by kind, where it knows positive and negative."""
        if not {"negative", "positive"} <= set(self.classes):
            return None
        at = [self.classes.index(name) for name in ("negative", "positive")]
        return score_pairs(lambda texts: self.logits(texts)[:, at].argmax(1).tolist())

    def _read_in(self, text: str, count: int) -> str | None:
        """How a text was read, where that must be known to trust the answer."""
        said = []
        if count > 1:
            said.append(
                f"read in {count} windows of at most {self.room} tokens, whose probabilities are averaged"
            )
        ids = self.reader.encode(clean(text))
        strange = 0 if self.reader.unk is None else ids.count(self.reader.unk)
        if 2 * strange > len(ids):
            said.append(f"{strange} of {len(ids)} tokens are unknown to the model: its answer says little")
        return "; ".join(said) or None


def _noticed(given: str, notice: str | None) -> str | None:
    said = [f"read from {given}" if names_file(given) else None, notice]
    return "; ".join(one for one in said if one is not None) or None
