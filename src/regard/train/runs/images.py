"""Models of pictures in use: classifiers, and those that complete half a picture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from regard.data import Augment, Images, Pictures, Texts, load
from regard.data.kinds import first_of, held_out
from regard.models import GridCompletion
from regard.probe import ImageLook, complete_images, look_images, read_image, to_levels
from regard.probe.report import EvaluationReport, judge
from regard.train.folder import read_recipe
from regard.train.runs.run import Classifier, Folder, Look, Prediction, Run
from regard.train.tasks.building import call
from regard.train.tasks.sources import source_in

HELD = 10  # pictures that are shown where none is named


@dataclass(frozen=True)
class Shown:
    """Pictures uint8 (N,C,rows,cols) with their names, their classes where known, and notices on them."""

    pictures: Tensor
    names: tuple[str, ...]
    labels: Tensor | None
    notices: tuple[str, ...]


class PictureRun(Run):
    """A run whose inputs are pictures."""

    def held_out(self, count: int | None = None, *, data_dir: Folder = None) -> Pictures:
        """The pictures that its training held out, or the first of them."""
        share = self.description.get("validation")
        if share is None:  # a run of before this was written down
            share = read_recipe(self.folder).task.validation
        found = load(source_in(self.description), folder=data_dir)
        assert isinstance(found, Images)
        return found.train.take(first_of(held_out(found, share)[1], count))

    def shown(self, inputs: Sequence[str], labels: Sequence[str] | None, data_dir: Folder) -> Shown:
        """The files that were named, or else pictures that training held out."""
        if not inputs:
            held = self.held_out(HELD, data_dir=data_dir)
            said = f"the first {len(held)} images of {self.description['data']} that training held out"
            names = tuple(f"held-out {i + 1}" for i in range(len(held)))
            return Shown(held.images, names, held.labels, (said,))
        *channels, rows, cols = self.description["image"]
        read = [read_image(path, (rows, cols), *channels or [1]) for path in inputs]
        true = None if labels is None else numbers_of(labels, self.description["classes"], len(inputs))
        pictures = torch.stack([one.picture for one in read])
        notices = tuple(notice for one in read for notice in one.notices)
        return Shown(pictures, tuple(Path(path).name for path in inputs), true, notices)


class ImageRun(PictureRun, Classifier):
    """A classifier of pictures."""

    def normalise(self, pictures: Tensor) -> Tensor:
        """Pictures uint8 (N,C,rows,cols) as the model takes them, on its device."""
        mean, std = (tuple(self.description[name]) for name in ("mean", "std"))
        normal = Augment(classes=len(self.classes), mean=mean, std=std)
        return normal.normalise(pictures.to(self.device))

    @torch.no_grad()
    def logits(self, pictures: Tensor) -> Tensor:
        """Logits (N,classes) on the CPU of pictures uint8 (N,C,rows,cols)."""
        parts = pictures.split(200 if self.device.type == "cpu" else 1000)
        return torch.cat([call(self.model, self.normalise(part), None).float().cpu() for part in parts])

    def predict(self, inputs: Sequence[str]) -> list[Prediction]:
        """One prediction for each image file."""
        found = []
        for path in inputs:
            shown = self.shown([path], None, None)
            chances = self.logits(shown.pictures).softmax(1)[0]
            found.append(self.prediction(path, chances, ", ".join(shown.notices) or None))
        return found

    def _look(
        self, inputs: Sequence[str], labels: Sequence[str] | None, steps: int, data_dir: Folder
    ) -> Look:
        shown = self.shown(inputs, labels, data_dir)
        found = self.look_at(shown.pictures, labels=shown.labels, names=shown.names, steps=steps)
        return Look("images", images=found, notices=shown.notices)

    def look_at(
        self,
        pictures: Tensor,
        *,
        labels: Tensor | None = None,
        names: Sequence[str] = (),
        steps: int = 32,
    ) -> ImageLook:
        """Where the model looked in pictures uint8 (N,C,rows,cols)."""
        inputs = self.normalise(pictures)
        return look_images(
            self.model, inputs, pictures, self.classes, labels=labels, names=names, steps=steps
        )

    def judge(self, part: Pictures | Texts, worst: int) -> EvaluationReport:
        """The report on some pictures, with those it was worst at."""
        assert isinstance(part, Pictures)
        shown = [f"picture {i + 1}" for i in range(len(part))]
        out = judge(self.logits(part.images), part.labels, self.classes, shown=shown, worst=worst)
        return replace(out, pictures=part.images[[one.index for one in out.mistakes]])


class CompletionRun(PictureRun):
    """A model that completes the lower half of a picture."""

    def _look(
        self, inputs: Sequence[str], labels: Sequence[str] | None, steps: int, data_dir: Folder
    ) -> Look:
        assert isinstance(self.model, GridCompletion)
        shown = self.shown(inputs, None, data_dir)
        levels = to_levels(shown.pictures, self.model.config.levels)
        found = complete_images(self.model, levels, generator=torch.Generator(self.device).manual_seed(0))
        return Look("completion", completion=found, notices=shown.notices)


def numbers_of(labels: Sequence[str], classes: Sequence[str], count: int) -> Tensor:
    """True classes that were named, one for each image, by their numbers."""
    if len(labels) != count:
        raise ValueError(f"labels must be one per image, got {len(labels)} for {count} images")
    if strange := [label for label in labels if label not in classes]:
        raise ValueError(f"labels must be among {', '.join(classes)}, got {strange[0]!r}")
    return torch.tensor([list(classes).index(label) for label in labels])
