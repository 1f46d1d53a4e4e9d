"""Classes of images: the pictures stay on the device as bytes and are changed there for every batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.course import VisionTransformer
from regard.data import Augment, Images, Pictures, Source, load
from regard.data.augment import Draws
from regard.errors import check_shares
from regard.importing import reason
from regard.models import ConvNetConfig, GridRNNConfig, MLPConfig, ViTConfig, from_course
from regard.models.own import Factory, Own, build_own, is_own, shown
from regard.pattern import Full
from regard.sharing.sizes import pair
from regard.train.distributed import ALONE, Team
from regard.train.fingerprint import fingerprint
from regard.train.order import Examples
from regard.train.task import BaseTask, Batch, Losses, TaskSetting, parted
from regard.train.tasks.building import build, call
from regard.train.tasks.course import CourseViT
from regard.train.tasks.sources import Data, data_name, described
from regard.values import Json

ImageConfig = ViTConfig | MLPConfig | ConvNetConfig | GridRNNConfig | CourseViT
ImageModel = ImageConfig | Factory


@dataclass(frozen=True, kw_only=True)
class ClassifyImages:
    """Train a classifier on a set of images; `validation` of the training part is held out for choices.

    Of a ViT's patches each step leaves out the share `drop_patches`, others each time, and takes less time.
    """

    data: Data
    model: ImageModel
    augment: Augment
    smoothing: float = 0.0
    validation: float = 0.1
    drop_patches: float = 0.0

    def __post_init__(self) -> None:
        check_shares(smoothing=self.smoothing, validation=self.validation, drop_patches=self.drop_patches)
        full = isinstance(self.model, ViTConfig) and set(self.model.patterns) == {Full()}
        if self.drop_patches and not full:
            raise ValueError(
                f"drop_patches is for a ViT with the pattern full, got drop_patches={self.drop_patches}"
            )

    def build(self, setting: TaskSetting) -> ImageTask:
        """The images and labels on the device, with what is held out."""
        return ImageTask(self, setting)


class ImageTask(BaseTask):
    """Images on the device, and the order in which they come."""

    better, unit = "max", "images"

    def __init__(self, spec: ClassifyImages, setting: TaskSetting) -> None:
        found = load(spec.data, folder=setting.data_dir)
        if not isinstance(found, Images):
            raise ValueError(f"data must be a set of images, got data={data_name(spec.data)!r}")
        check_fit(spec, found)
        self.spec, self.device, self.classes = spec, setting.device, found.classes
        self.augment, self.smoothing = spec.augment, spec.smoothing
        learn, held = parted(found, spec.validation, setting.overfit)
        if setting.overfit is not None:
            normal = spec.augment  # and nothing at random
            self.augment = Augment(classes=normal.classes, mean=normal.mean, std=normal.std)
            self.smoothing = 0.0
        self.learn, self.held = (found.train.take(at).to(self.device) for at in (learn, held))
        self.kept_test, self.has_test = found.test, len(found.test) > 0
        self.parts = {"train": len(self.learn), "validation": len(self.held), "test": len(found.test)}
        self.examples, self.fingerprint = len(self.learn), fingerprint(found)
        self.order = Examples(self.examples, seed=setting.seed, device=self.device)

    def model(self, generator: torch.Generator) -> nn.Module:
        """A new classifier; one of one's own is tried on two pictures first."""
        if not is_own(self.spec.model):
            return build(self.spec.model, generator)
        channels, *image = self.learn.images.shape[1:]
        facts = {"image": tuple(image), "channels": channels, "classes": len(self.classes)}
        model = build_own(Own(self.spec.model, facts), generator)
        self._tried(model)
        return model

    @torch.no_grad()
    def _tried(self, model: nn.Module) -> None:
        pictures = self.learn.images[:1].cpu().expand(2, -1, -1, -1)
        wanted, name = (2, len(self.classes)), shown(self.spec.model)
        try:
            out = call(model.eval(), self.augment.normalise(pictures), None)
        except Exception as error:
            size = tuple(pictures.shape)
            raise ValueError(f"the model of {name} does not take pictures {size}: {reason(error)}") from error
        finally:
            model.train()
        if not isinstance(out, Tensor) or tuple(out.shape) != wanted:
            got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
            raise ValueError(f"the model of {name} must give logits {wanted} for two pictures, got {got}")

    def prepare(self, batch: Batch, generator: torch.Generator) -> Batch:
        """The pictures, their labels, and all the chance of their augmentation (B,18).

        Where pictures are mixed, each with the one before it, the last one stands before the first too.
        """
        (at,) = batch
        draws = torch.stack(self.augment.draw(len(at), self.device, generator), 1)
        if self._mixes:
            at, draws = torch.cat([at[-1:], at]), torch.cat([draws[-1:], draws])
        return self.learn.images[at], self.learn.labels[at], draws

    @property
    def _mixes(self) -> bool:
        return bool(self.augment.mixup or self.augment.cutmix)

    def loss(self, model: nn.Module, inputs: Batch, generator: torch.Generator | None) -> Losses:
        """The sum of cross-entropies with the mixed and smoothed targets, and how many there are."""
        images, labels, draws = inputs
        x, targets = self.augment.apply(images, labels, Draws(*draws.unbind(1)))
        if self._mixes:  # the first came along for the second
            x, targets = x[1:], targets[1:]
        logits = call(model, x, generator, self._kept(generator)).float()
        total = cross_entropy(logits, targets, label_smoothing=self.smoothing, reduction="sum")
        return total, torch.ones_like(total) * len(targets)

    def _kept(self, generator: torch.Generator | None) -> Tensor | None:
        """Which patches a step sees: the same of all its pictures, which is cheap."""
        if not self.spec.drop_patches:
            return None
        assert isinstance(self.spec.model, ViTConfig)
        rows, cols = self.spec.model.grid
        count = max(1, round(rows * cols * (1 - self.spec.drop_patches)))
        return torch.rand(rows * cols, device=self.device, generator=generator).topk(count).indices

    def validate(self, model: nn.Module, team: Team = ALONE) -> dict[str, float]:
        """Accuracy and loss on the held-out part of the training set."""
        return self._score(model, self.held, team)

    def test(self, model: nn.Module) -> dict[str, float]:
        """Accuracy and loss on the official test set, or that of one's own data."""
        if not self.has_test:
            raise ValueError(f"{data_name(self.spec.data)} has no test part")
        return self._score(model, self.kept_test.to(self.device))

    def _score(self, model: nn.Module, part: Pictures, team: Team = ALONE) -> dict[str, float]:
        def answer(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            images, labels = batch
            return call(model, self.augment.normalise(images), None), labels

        size = 1000 if self.fixed else 200
        batches = zip(part.images.split(size), part.labels.split(size), strict=True)
        return self.accuracy(team, len(part), batches, answer)

    @torch.no_grad()
    def show(self, model: nn.Module) -> str:
        """Ten held-out pictures: what they are, and what the model takes them for."""
        images, labels = self.held.images[:10], self.held.labels[:10]
        found = call(model, self.augment.normalise(images), None).argmax(1)
        names = [
            self.classes[a] if a == b else f"{self.classes[b]} taken for {self.classes[a]}"
            for a, b in zip(found.tolist(), labels.tolist(), strict=True)
        ]
        return ", ".join(names)

    def trial(self) -> tuple[str, ...]:
        """A look at ten held-out pictures; a model of one's own need not have attention to look at."""
        return () if is_own(self.spec.model) else ("look",)

    def export(self, model: nn.Module) -> nn.Module:
        """The model, the course's as the ViT that computes the same."""
        return from_course(model) if isinstance(model, VisionTransformer) else model

    def describe(self) -> Json:
        """What predicting takes later."""
        return {
            "task": "images",
            **described(self.spec.data, self.parts),
            "validation": self.spec.validation,
            "classes": list(self.classes),
            "image": list(self.learn.images.shape[1:]),
            "mean": list(self.augment.mean),
            "std": list(self.augment.std),
        }


def check_fit(spec: ClassifyImages, found: Images) -> None:
    """Raise unless the model is made for such images and classes."""
    model, (channels, *size) = spec.model, found.train.images.shape[1:]
    has = (channels, *size, len(found.classes))
    if isinstance(model, ImageConfig):
        wants: tuple[int | None, ...] = (model.channels, *pair("image", model.image, 1), model.classes)
    elif is_own(model):  # which is tried when it is made
        wants = has
    else:
        raise ValueError(f"model must be a config or make an nn.Module, got {model!r}")
    if wants != has:
        raise ValueError(
            f"model must fit {found.name}: channels, rows, cols, classes are {has}, the model's {wants}"
            + (
                "; regard train … --data fits it, or say so in the recipe"
                if isinstance(spec.data, Source)
                else ""
            )
        )
    if spec.augment.classes != len(found.classes):
        raise ValueError(
            f"augment.classes must be {len(found.classes)}, the classes of {found.name}, "
            f"got {spec.augment.classes}"
        )
