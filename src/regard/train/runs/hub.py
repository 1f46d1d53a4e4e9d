"""Folders of transformers in use: where such a model looked and, of a classifier, what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from regard.data import Source
from regard.errors import need
from regard.models.own_texts import OwnLanguageModel, OwnReader
from regard.probe import TextLook, look_images, look_text
from regard.probe.inputs import grouped
from regard.probe.report import WORST, EvaluationReport
from regard.probe.texts import windows
from regard.train.runs.hub_inputs import (
    TokenNames,
    TokensRead,
    processor_of,
    read_pictures,
    read_tokens,
    tokenizer_of,
)
from regard.train.runs.images import numbers_of
from regard.train.runs.reading import content
from regard.train.runs.run import Classifier, Folder, Look, Prediction, Prompt
from regard.values import Json

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LONGEST = 1024  # tokens read at once: the weights of every layer and head are held, for all pairs of them
UNSCORED = "is a model of transformers: on what it should be scored is not known"
INPUTS = {"input_ids": "texts", "pixel_values": "images"}


def open_hub(folder: Path, device: str | torch.device = "cpu") -> HubRun:
    """The model of a folder of transformers in float32, ready to be looked at; it attends by Regard."""
    need("transformers", "hub")
    from regard.hub.models import open_folder
    from regard.hub.readers import answers, classes_of

    model = open_folder(folder).float().to(device)
    kind, takes = answers(model), str(model.main_input_name)
    if takes not in INPUTS or model.config.is_encoder_decoder:
        what = "has an encoder and a decoder" if takes in INPUTS else f"takes {takes}"
        raise ValueError(f"{folder}: {type(model).__name__} {what}; a model of texts or of images is needed")
    described: Json = {"task": kind, "takes": INPUTS[takes], "model": type(model).__name__}
    if kind in ("texts", "images"):
        described["classes"] = classes_of(model)
    return HubRun(folder, model, described)


class HubRun(Classifier):
    """A model of transformers: of texts or of images, with an answer or without one."""

    @property
    def hub(self) -> PreTrainedModel:
        """The model itself."""
        return self.model  # type: ignore[return-value]

    @property
    def classes(self) -> list[str]:
        """The names of its classes; none where it tells none apart."""
        return list(self.description.get("classes", []))

    @cached_property
    def words(self) -> PreTrainedTokenizerBase:
        """Its tokenizer, which its folder must have."""
        return tokenizer_of(self.folder)

    def with_pattern(self, pattern: str | Sequence[str | None]) -> Self:
        """This run, whose layers now look as a pattern says, or as one for each of them."""
        from regard.hub import use

        use(self.hub, pattern)
        return self

    def look(
        self,
        inputs: Sequence[str] = (),
        *,
        labels: Sequence[str] | None = None,
        steps: int = 32,
        data_dir: Folder = None,
    ) -> Look:
        """Where it looked in images, texts or files of text, and what moved its answer, if it has one."""
        name = self.description["model"]
        if not inputs:
            raise ValueError(f"{name} needs {self.description['takes']} to look at, got none")
        if self.description["takes"] == "texts":
            if labels is not None:
                raise ValueError(f"labels are for images, and {name} reads texts")
            texts = tuple(self.look_at(content(one), steps=steps) for one in inputs)
            return Look("texts", texts=texts, notices=self._notices())
        from regard.hub.readers import ImageReader

        true = None if labels is None else numbers_of(labels, self.classes, len(inputs))
        pictures, pixels = read_pictures(processor_of(self.folder), inputs)
        names = [Path(path).name for path in inputs]
        reader = ImageReader(self.hub, self.kind)
        found = look_images(reader, pixels, pictures, self.classes, labels=true, names=names, steps=steps)
        return Look("images", images=found, notices=self._notices())

    def look_at(self, text: str, *, steps: int = 32) -> TextLook:
        """Where it looked in one text; what fills in hidden words answers for the first of them."""
        read = read_tokens(self.words, text)
        at = self._hidden(read)
        writes = self.kind == "language" or at is not None
        reader = self._reader(at)
        return look_text(
            reader,
            read.ids,
            read.pieces if read.joined or self.kind == "language" else grouped(read.pieces),
            TokenNames(self.words, reader.vocab) if writes else self.classes,
            first=read.first,
            joined=read.joined,
            window=reader.context,
            steps=steps,
        )

    @torch.no_grad()
    def predict(self, inputs: Sequence[str]) -> list[Prediction]:
        """One prediction for each image file, text or file of text; of a long text its windows' mean."""
        if not self.classes:
            name = self.description["model"]
            raise ValueError(f"predict needs a classifier of images or texts, and {name} names no classes")
        out = []
        for given in inputs:
            rows = self._rows(given)
            logits = torch.cat([self._logits(row.to(self.device)) for row in rows])
            said = f"the mean of {len(rows)} windows" if len(rows) > 1 else None
            out.append(self.prediction(given, logits.float().softmax(1).mean(0).cpu(), said))
        return out

    def prompt(self, text: str, tokens: int | None = None) -> Prompt:
        """Nothing: it is opened otherwise to write."""
        raise ValueError(
            f"{self.name} is open to be looked at; open_run(…, writes=True) gives what writes with its "
            "weights, as transformers itself does by model.generate(…, "
            "past_key_values=regard.hub.PatternCache(model))"
        )

    def evaluate(
        self, *, test: bool = False, data: Source | None = None, data_dir: Folder = None
    ) -> dict[str, float]:
        """Nothing: what it was trained and tested on is not in its folder."""
        raise ValueError(f"{self.name} {UNSCORED}")

    def report(
        self,
        *,
        test: bool = False,
        data: Source | None = None,
        whole: bool = False,
        data_dir: Folder = None,
        worst: int = WORST,
    ) -> EvaluationReport:
        """Nothing, either."""
        raise ValueError(f"{self.name} {UNSCORED}")

    def _rows(self, given: str) -> list[Tensor]:
        if self.description["takes"] == "images":
            return [read_pictures(processor_of(self.folder), [given])[1]]
        read = read_tokens(self.words, content(given))
        front = [] if read.first is None else [read.first]
        parts = windows(read.ids, self._reader(None).context - len(front))
        return [torch.tensor([front + part]) for part in parts]

    def _logits(self, row: Tensor) -> Tensor:
        found: Tensor = self.model(row).logits
        return found

    def _reader(self, at: int | None) -> OwnReader:
        """The model as ours are called, answering for the token `at` if it is given."""
        from regard.hub.readers import TextReader, context_of

        limits = (context_of(self.hub), self.words.model_max_length, LONGEST)
        room = min(limit for limit in limits if limit is not None)
        kind = "attention" if self.kind == "masked" and at is None else self.kind
        inner, vocab = TextReader(self.hub, kind, at), int(self.hub.config.get_text_config().vocab_size)
        wrap = OwnLanguageModel if kind == "language" else OwnReader
        return wrap(inner, vocab=vocab, context=room).eval()

    def _hidden(self, read: TokensRead) -> int | None:
        """Where the first hidden word stands among the tokens of a row, for a model that fills them in."""
        mask = self.words.mask_token_id
        if self.kind != "masked" or mask is None or mask not in read.ids:
            return None
        if len(read.ids) + (read.first is not None) > self._reader(0).context:
            raise ValueError(
                f"a text with a hidden word must fit into {self._reader(0).context} tokens, "
                f"got {len(read.ids)}"
            )
        return read.ids.index(mask) + (read.first is not None)

    def _notices(self) -> tuple[str, ...]:
        """What must be known to read the maps."""
        from regard.hub.models import attention_modules, pattern_on

        patterns = {str(pattern_on(part)) for part in attention_modules(self.hub).values()} - {"None"}
        said = [f"its layers look by {', '.join(sorted(patterns))}"] if patterns else []
        if self.kind == "masked":
            said.append(f"hide a word behind {self.words.mask_token} and it is filled in")
        elif self.kind == "attention":
            said.append(f"{self.description['model']} gives no answer: attention alone")
        return tuple(said)
