"""Masked language: an Encoder learns to fill in hidden tokens, before it learns a task with few labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.data import Corpus, Reviews, Tokenizer, load
from regard.data.cleaning import without_markup
from regard.data.draws import generator as drawn
from regard.data.kinds import held_out
from regard.errors import check_kind, check_shares
from regard.models import Encoder, EncoderConfig
from regard.train.distributed import ALONE, Team
from regard.train.fingerprint import fingerprint
from regard.train.task import OWN_TASK, BaseTask, Batch, Losses, TaskSetting
from regard.train.tasks.dialogues import dialogues_of
from regard.train.tasks.sources import Data, data_name, described
from regard.train.tasks.tokens import BytePairs, Tokens
from regard.train.tasks.windows import Windows, consecutive
from regard.values import Json

HIDDEN, SWAPPED = 0.8, 0.9  # of the chosen tokens 80% are hidden, 10% swapped for another, 10% left


@dataclass(frozen=True, kw_only=True)
class MaskedText:
    """Train an Encoder to fill in `share` of the tokens of a text, on everything but test and validation.

    All texts follow each other, a start token before each, in windows of the model's context. The vocabulary
    is the tokenizer's and one more: the mask. Without `unlabelled`, only texts with labels are read.
    """

    data: Data
    model: EncoderConfig
    tokens: Tokens = BytePairs()  # noqa: RUF009 - a frozen value
    share: float = 0.2
    unlabelled: bool = True
    validation: float = 0.1

    def __post_init__(self) -> None:
        check_kind("model", self.model, (EncoderConfig,), OWN_TASK)
        check_shares(share=self.share, validation=self.validation)
        if round(self.share * self.model.context) < 1:
            raise ValueError(f"share must hide a token at least, got share={self.share}")

    def build(self, setting: TaskSetting) -> MaskedTask:
        """The texts as tokens on the device, some of which each step hides."""
        return MaskedTask(self, setting)


class MaskedModel(nn.Module):
    """An Encoder, and a head that names hidden tokens by products with the embedding."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.config.width
        self.dense, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(encoder.config.vocab_size))
        with torch.no_grad():
            self.dense.weight.copy_(torch.eye(width))
            self.dense.bias.zero_()

    def forward(self, tokens: Tensor, places: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Map tokens (B,N) and places (B,K) to logits (B,K,vocab)."""
        x = self.encoder.features(tokens, generator=generator)
        x = x.gather(1, places[..., None].expand(-1, -1, x.shape[2]))  # B K C
        x = self.norm(torch.nn.functional.gelu(self.dense(x)))
        return x @ self.encoder.embed.weight.T + self.bias


class MaskedTask(BaseTask):
    """Windows of text on the device, some tokens hidden anew each time."""

    better, unit, has_test = "min", "tokens", False

    def __init__(self, spec: MaskedText, setting: TaskSetting) -> None:
        found = load(spec.data, folder=setting.data_dir)
        if isinstance(found, Corpus):
            learn, held = dialogues_of(found, spec.validation)
        elif isinstance(found, Reviews):
            # The same cut as for classes of texts: what that task validates on is never read here.
            mine, others = held_out(found, spec.validation)
            learn = [*found.train.take(mine).texts, *(found.unlabelled if spec.unlabelled else ())]
            held = list(found.train.take(others).texts)
        else:
            raise ValueError(f"data must be texts, got data={data_name(spec.data)!r}")
        self.spec, self.device, self.overfit = spec, setting.device, setting.overfit
        self.parts = {"train": len(learn), "validation": len(held)}
        learn, held = ([without_markup(text) for text in part] for part in (learn, held))
        self.tokenizer: Tokenizer = setting.tokenizer(lambda: spec.tokens.train(learn))
        self.mask = self.tokenizer.vocab
        self.config = replace(spec.model, vocab=self.mask + 1, classes=None, pool="mean")
        self.per_example = length = spec.model.context
        self.chosen = round(spec.share * length)
        whole = self._joined(learn)
        if self.overfit is not None:
            whole = whole[: length * self.overfit + 1]
        self.windows = Windows(whole.to(self.device), length=length, seed=setting.seed)
        self.order = self.windows.stream
        self.held = (whole if self.overfit is not None else self._joined(held)).to(self.device)
        self.examples, self.fingerprint = self.windows.count, fingerprint(found, self.windows.tokens)

    def _joined(self, texts: list[str]) -> Tensor:
        start = [] if self.tokenizer.start is None else [self.tokenizer.start]
        return torch.tensor([i for ids in self.tokenizer.encode_batch(texts) for i in (*start, *ids)])

    def model(self, generator: torch.Generator) -> nn.Module:
        """A new Encoder under its head."""
        return MaskedModel(Encoder(self.config, generator=generator))

    def prepare(self, batch: Batch, generator: torch.Generator) -> Batch:
        """Tokens with some hidden (B,N), their places (B,K) and what was there (B,K)."""
        (starts,) = batch
        return self.hide(self.windows.rows(starts, extra=0), self.chosen, generator)

    def hide(
        self, tokens: Tensor, chosen: int, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Choose K places of each row; the same number everywhere, so that no shape depends on chance."""
        luck = torch.rand(tokens.shape, device=tokens.device, generator=generator)
        places = luck.topk(chosen, dim=1).indices  # B K
        targets = tokens.gather(1, places)
        kind, other = torch.rand((2, *places.shape), device=tokens.device, generator=generator)
        other = (other * self.mask).long().clamp(max=self.mask - 1)  # any token but the mask
        seen = torch.where(kind < HIDDEN, self.mask, torch.where(kind < SWAPPED, other, targets))
        return tokens.scatter(1, places, seen), places, targets

    def loss(self, model: nn.Module, inputs: Batch, generator: torch.Generator | None) -> Losses:
        """The sum of −log p of the hidden tokens, and their number."""
        tokens, places, targets = inputs
        logits = model(tokens, places, generator=generator).float()
        total = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
        return total, torch.ones_like(total) * targets.numel()

    def validate(self, model: nn.Module, team: Team = ALONE) -> dict[str, float]:
        """Loss and accuracy on hidden tokens of the held-out part, the same ones every time."""

        def score(batch: tuple[Tensor, Tensor, Tensor]) -> Sequence[Tensor]:
            tokens, places, targets = batch
            logits = model(tokens, places).float()
            loss = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
            return loss, (logits.argmax(2) == targets).sum(), torch.ones_like(loss) * targets.numel()

        loss, right, count = self.sums(team, 3, self._held_batches(), score)
        return {"loss": loss / count, "accuracy": right / count}

    def _held_batches(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        draws = drawn(0, "held", device=self.device)
        for rows in consecutive(self.held, self.per_example, 64):
            tokens = rows[:, :-1] if rows.shape[1] > 1 else rows
            yield self.hide(tokens, max(1, round(self.spec.share * tokens.shape[1])), draws)

    def test(self, model: nn.Module) -> dict[str, float]:
        """Nothing: what is hidden is filled in on the validation part alone."""
        raise ValueError("a pretraining has no test part; evaluate what is trained from it")

    @torch.no_grad()
    def show(self, model: nn.Module) -> str:
        """A held-out stretch with its gaps, and what the model puts there."""
        few = self.held[None, : min(24, self.per_example)].long()
        tokens, places, _ = self.hide(few, min(3, few.shape[1]), drawn(0, "shown", device=self.device))
        best = model(tokens, places).argmax(2)[0].tolist()
        filled = tokens[0].tolist()
        gaps = dict(zip(places[0].tolist(), best, strict=True))
        words = [
            f"[{self.tokenizer.decode([min(gaps[i], self.mask - 1)]).strip()}]"
            if i in gaps
            else self.tokenizer.decode([token])
            for i, token in enumerate(filled)
        ]
        glue = "" if self.tokenizer.unk is None else " "
        return glue.join(words).strip()

    def export(self, model: nn.Module) -> nn.Module:
        """The Encoder alone: the head has served its purpose."""
        assert isinstance(model, MaskedModel)
        return model.encoder

    def describe(self) -> Json:
        """What going on from here takes."""
        return {"task": "masked", **described(self.spec.data, self.parts), "mask": self.mask}
