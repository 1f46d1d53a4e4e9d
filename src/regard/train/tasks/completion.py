"""Completion of images: a grid RNN learns each pixel from all pixels before it, in reading order."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.data import Images, load
from regard.errors import check_shares
from regard.models import GridCompletion, GridCompletionConfig
from regard.train.distributed import ALONE, Team
from regard.train.fingerprint import fingerprint
from regard.train.order import Examples
from regard.train.task import BaseTask, Batch, Losses, TaskSetting, parted
from regard.train.tasks.sources import Data, data_name, described
from regard.values import Json

SHADES = " .:-=+*#%@"


@dataclass(frozen=True, kw_only=True)
class CompleteImages:
    """Train a completion model on grey images, whose 256 shades become the model's `levels`."""

    data: Data
    model: GridCompletionConfig
    validation: float = 0.1

    def __post_init__(self) -> None:
        check_shares(validation=self.validation)

    def build(self, setting: TaskSetting) -> CompletionTask:
        """The images as levels of grey on the device, to be completed."""
        return CompletionTask(self, setting)


class CompletionTask(BaseTask):
    """Images of few levels on the device."""

    better, unit, certain = "min", "images", 0.05

    def __init__(self, spec: CompleteImages, setting: TaskSetting) -> None:
        found = load(spec.data, folder=setting.data_dir)
        if not isinstance(found, Images) or found.train.images.shape[1] != 1:
            raise ValueError(f"data must be a set of grey images, got data={data_name(spec.data)!r}")
        self.spec, self.device = spec, setting.device
        levels = spec.model.levels
        whole = (found.train.images[:, 0].long() * levels // 256).to(torch.uint8)  # N rows cols
        learn, held = parted(found, spec.validation, setting.overfit)
        self.learn, self.held = whole[learn].to(self.device), whole[held].to(self.device)
        self.parts = {"train": len(self.learn), "validation": len(self.held), "test": len(found.test)}
        self.has_test = len(found.test) > 0
        self.kept_test = (found.test.images[:, 0].long() * levels // 256).to(torch.uint8)
        self.examples, self.fingerprint = len(self.learn), fingerprint(found)
        self.order = Examples(self.examples, seed=setting.seed, device=self.device)

    def model(self, generator: torch.Generator) -> nn.Module:
        """A new completion model."""
        return GridCompletion(self.spec.model, generator=generator)

    def prepare(self, batch: Batch, generator: torch.Generator) -> Batch:
        """The images (B, rows, cols)."""
        (at,) = batch
        return (self.learn[at].long(),)

    def loss(self, model: nn.Module, inputs: Batch, generator: torch.Generator | None) -> Losses:
        """The sum of −log p of all pixels, and their number."""
        (images,) = inputs
        logits = model(images).float()
        total = nn.functional.cross_entropy(logits.flatten(0, 2), images.flatten(), reduction="sum")
        return total, torch.ones_like(total) * images.numel()

    def validate(self, model: nn.Module, team: Team = ALONE) -> dict[str, float]:
        """Loss in nats per pixel on the held-out part."""
        return self._score(model, self.held, team)

    def test(self, model: nn.Module) -> dict[str, float]:
        """Loss in nats per pixel on the test set."""
        if not self.has_test:
            raise ValueError(f"{data_name(self.spec.data)} has no test part")
        return self._score(model, self.kept_test.to(self.device))

    def _score(self, model: nn.Module, images: Tensor, team: Team = ALONE) -> dict[str, float]:
        nats, count = self.sums(
            team, 2, images.split(250), lambda part: self.loss(model, (part.long(),), None)
        )
        return {"loss": nats / count}

    @torch.no_grad()
    def show(self, model: nn.Module) -> str:
        """One held-out image with its lower half made up by the model, in shades of text."""
        assert isinstance(model, GridCompletion)
        rows = self.held.shape[1]
        whole = model.complete(self.held[:1, : rows // 2].long(), rows=rows)[0]
        scale = (len(SHADES) - 1) / (self.spec.model.levels - 1)
        return "\n".join("".join(SHADES[round(level * scale)] * 2 for level in row) for row in whole.tolist())

    def describe(self) -> Json:
        """What completing takes later."""
        return {
            "task": "completion",
            **described(self.spec.data, self.parts),
            "validation": self.spec.validation,
            "levels": self.spec.model.levels,
            "image": list(self.learn.shape[1:]),
        }
