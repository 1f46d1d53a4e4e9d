"""Classes of texts: an Encoder reads a text in both directions and says what it is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.data import Reviews, Texts, load
from regard.data.tokenizers import Tokenizer
from regard.errors import check_choice, check_int, check_kind, check_shares
from regard.models.own import Factory, is_own
from regard.paper.commands import is_plain
from regard.train.distributed import ALONE, Team
from regard.train.fingerprint import fingerprint
from regard.train.task import OWN_MODEL, BaseTask, Batch, Losses, TaskSetting, parted
from regard.train.tasks.building import context_of
from regard.train.tasks.row_files import table_of, tokenizer_of
from regard.train.tasks.rows import TokenTable, segments_of
from regard.train.tasks.sources import Data, data_name, described
from regard.train.tasks.teachers import cut_out, taught
from regard.train.tasks.text_models import TextConfig, TextModel, cut, fitted, made, started
from regard.train.tasks.tokens import Tokens, Words
from regard.values import Json

KEEPS = ("head", "tail", "both")
PADDINGS = ("auto", "batch")
TRIED, LINE = 1000, 60  # held-out texts that are looked at, and characters, for a command to try a model by


@dataclass(frozen=True, kw_only=True)
class ClassifyTexts:
    """Train a model on labelled texts; vocabulary and classes of the model are set from the data.

    HTML in the texts is dropped. Of a text longer than the context, `keep` says what is read: its head,
    its tail, or a quarter of the head with the tail. `hide` is the share of tokens that training passes
    over, others each time, as if they were padding: no word may be relied on. `start` is a folder that
    training left, or a BERT's (by its path, as `package:NAME/FOLDER`, or by its name on the hub): then
    weights, tokenizer and shape are taken from there, and only `context`, `pool`, `dropout`, `pattern` and
    `mixer` from `model`; a BERTGRUConfig needs one. A model of one's own is any module that maps tokens (B,N)
    to logits (B,classes); `context` is then how many tokens it reads at most.

    Of a BERT's vocabulary, `least` leaves what occurs so often in the training texts. With `padding="batch"`
    texts of like lengths are batched and padded to the longest; "auto" does so on a CPU, and pads all to the
    context on a GPU, where a step of one shape is one CUDA graph.

    `teachers` are folders of trained models of the same classes: the mean of what they say of a text is
    learned in place of its label, and so many `sentences` cut out of the longer training texts with it.
    """

    data: Data
    model: TextConfig | Factory
    tokens: Tokens = Words()  # noqa: RUF009 - a frozen value
    keep: str = "head"
    hide: float = 0.0
    smoothing: float = 0.0
    validation: float = 0.1
    start: str | None = None
    context: int | None = None
    least: int | None = None
    padding: str = "auto"
    teachers: tuple[str, ...] = ()
    sentences: int = 0

    def __post_init__(self) -> None:
        if not is_own(self.model):
            check_kind("model", self.model, get_args(TextConfig), OWN_MODEL)
        if self.context is not None:
            check_int("context", self.context, 1)
        if self.least is not None:
            check_int("least", self.least, 1)
            if self.start is None:
                raise ValueError(
                    f"least cuts the vocabulary of a BERT to start from, got least={self.least}, start=None"
                )
        check_int("sentences", self.sentences, 0)
        if self.sentences and not self.teachers:
            raise ValueError(f"sentences need teachers, got sentences={self.sentences}, teachers=()")
        check_choice("keep", self.keep, KEEPS)
        check_choice("padding", self.padding, PADDINGS)
        check_shares(hide=self.hide, smoothing=self.smoothing, validation=self.validation)

    def build(self, setting: TaskSetting) -> TextTask:
        """The texts as padded rows of tokens on the device, with their labels."""
        return TextTask(self, setting)


class TextTask(BaseTask):
    """Texts as rows of tokens on the device."""

    better, unit = "max", "texts"

    def __init__(self, spec: ClassifyTexts, setting: TaskSetting) -> None:
        context = context_of(spec.model, spec.context)
        found = load(spec.data, folder=setting.data_dir)
        if not isinstance(found, Reviews):
            raise ValueError(f"data must be a set of labelled texts, got data={data_name(spec.data)!r}")
        self.spec, self.device, self.classes = spec, setting.device, found.classes
        learn, held = parted(found, spec.validation, setting.overfit)
        self.smoothing, self.hide = spec.smoothing, spec.hide
        if setting.overfit is not None:
            self.smoothing = self.hide = 0.0
        parts = found.train.take(learn), found.train.take(held)
        self.begin: TextModel | None = None
        if spec.start is None:
            self.tokenizer: Tokenizer = setting.tokenizer(lambda: tokenizer_of(parts[0].texts, spec.tokens))
        else:
            self.begin, self.tokenizer = started(spec.start)
            if spec.least is not None:
                self.begin, self.tokenizer = cut(self.begin, self.tokenizer, parts[0].texts, spec.least)
        vocab, classes = self.tokenizer.vocab, len(found.classes)
        self.config = fitted(spec.model, self.begin, vocab=vocab, context=context, classes=classes)
        self.length = min(context, getattr(self.config, "context", context))
        self.learn_labels, self.held_labels = (part.labels.to(self.device) for part in parts)
        if spec.teachers and setting.overfit is None:
            texts = (*parts[0].texts, *cut_out(parts[0].texts, spec.sentences))
            self.learn_labels = taught(spec.teachers, texts, classes=found.classes, device=self.device)
            parts = Texts(texts, self.learn_labels.argmax(1).cpu()), parts[1]
        self.learn, self.held = self._table(parts[0]), self._table(parts[1])
        self.held_texts = parts[1].texts
        self.kept_test, self.has_test = found.test, len(found.test) > 0
        self.parts = {"train": len(parts[0]), "validation": len(parts[1]), "test": len(found.test)}
        self.examples, self.fingerprint = (
            len(parts[0]),
            fingerprint(found, self.learn.content, self.held.content),
        )
        self.order = self.learn.examples(setting.seed, fixed=self.fixed)

    @property
    def fixed(self) -> bool:
        """Whether batches have one shape."""
        return super().fixed and self.spec.padding == "auto"

    def _table(self, part: Texts) -> TokenTable:
        width, keep = self.length, self.spec.keep
        return table_of(part.texts, self.tokenizer, width=width, keep=keep, device=self.device)

    def model(self, generator: torch.Generator) -> nn.Module:
        """A new model, with the weights it starts from where there are some."""
        return made(self.config, self.begin, generator)

    def prepare(self, batch: Batch, generator: torch.Generator) -> Batch:
        """Tokens (B,N), segments (B,N) and labels (B,), or what teachers said (B,classes)."""
        (at,) = batch
        tokens, lengths = self.learn.rows(at, whole=self.fixed)
        segments = segments_of(tokens, lengths)
        if self.hide:
            luck = torch.rand(tokens.shape, device=self.device, generator=generator)
            luck[:, 0] = 1.0  # the start token stays, so that no text is empty
            segments = torch.where(luck < self.hide, -1, segments)
        return tokens, segments, self.learn_labels[at]

    def loss(self, model: nn.Module, inputs: Batch, generator: torch.Generator | None) -> Losses:
        """The sum of cross-entropies, and how many there are."""
        tokens, segments, labels = inputs
        logits = model(tokens, segments=segments, generator=generator).float()
        total = cross_entropy(logits, labels, label_smoothing=self.smoothing, reduction="sum")
        return total, torch.ones_like(total) * len(labels)

    def validate(self, model: nn.Module, team: Team = ALONE) -> dict[str, float]:
        """Accuracy and loss on the held-out part of the training set."""
        return self._score(model, self.held, self.held_labels, team)

    def test(self, model: nn.Module) -> dict[str, float]:
        """Accuracy and loss on the test set."""
        if not self.has_test:
            raise ValueError(f"{data_name(self.spec.data)} has no test part")
        return self._score(model, self._table(self.kept_test), self.kept_test.labels.to(self.device))

    def _score(
        self, model: nn.Module, table: TokenTable, labels: Tensor, team: Team = ALONE
    ) -> dict[str, float]:
        def answer(at: Tensor) -> tuple[Tensor, Tensor]:
            tokens, lengths = table.rows(at)
            return model(tokens, segments=segments_of(tokens, lengths)), labels[at]

        parts = table.by_length().split(64 if self.device.type == "cpu" else 256)
        return self.accuracy(team, len(labels), parts, answer)

    @torch.no_grad()
    def show(self, model: nn.Module) -> str:
        """Three held-out texts, and how sure the model is of what."""
        lines = []
        for i in range(min(3, len(self.held))):
            tokens, _ = self.held.rows(torch.tensor([i], device=self.device))
            chances = model(tokens).float().softmax(1)[0]
            best = int(chances.argmax())
            marks = (self.tokenizer.start, self.tokenizer.pad)
            ids = [token for token in tokens[0].tolist() if token not in marks]
            text = " ".join(self.tokenizer.decode(ids).split())
            right = "" if best == int(self.held_labels[i]) else " (wrong)"
            lines.append(f"{self.classes[best]} {float(chances[best]):.0%}{right}: {text[:100]}")
        return "\n".join(lines)

    def trial(self) -> tuple[str, ...]:
        """A prediction of a held-out text that fits into a line."""
        texts = (" ".join(text.split()) for text in islice(self.held_texts, TRIED))
        return ("predict", next((text for text in texts if len(text) <= LINE and is_plain(text)), "Not bad."))

    def describe(self) -> Json:
        """What predicting takes later."""
        return {
            "task": "texts",
            **described(self.spec.data, self.parts),
            "classes": list(self.classes),
            "keep": self.spec.keep,
            "context": self.length,
        }
