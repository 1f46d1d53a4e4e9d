"""A report on a trained classifier: its answers on a part of its data, and on pairs of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.data import Augment, Images, Reviews, load, split
from regard.data.embedded.pairs import PairScore, score_pairs
from regard.data.tokenizers import Tokenizer
from regard.files import write_json
from regard.probe.report import WORST, Report, judge
from regard.train.folder import RECIPE, TEST, read_recipe
from regard.train.recipe import Recipe
from regard.train.runs import Run
from regard.train.tasks.text_classes import readable, rows_of
from regard.train.tasks.tokens import Table, segments_of


@torch.no_grad()
def report(
    run: Run,
    *,
    test: bool = False,
    data_dir: str | Path | None = None,
    worst: int = WORST,
) -> Report:
    """How the model of a run, or one of the zoo, fares on its validation part or on the test part.

    The scores on the test part are recorded as `evaluate` does. A model of the zoo has no recipe, so that
    only the test part is known.
    """
    kind, name = run.description["task"], run.description.get("data")
    if kind not in ("images", "texts"):
        raise ValueError(f"report needs a classifier of images or texts, this model is for {kind}")
    recipe = read_recipe(run.folder) if (run.folder / RECIPE).exists() else None
    if recipe is None and not test:
        raise ValueError(f"{run.folder.name} has no recipe that tells its validation part; add --test")
    found = load(str(name), folder=None if data_dir is None else Path(data_dir))
    assert isinstance(found, Images | Reviews)
    part: Any = found.test if recipe is None or test else held_out(found.train, recipe)
    if isinstance(found, Images):
        shown = [f"picture {i + 1}" for i in range(len(part))]
        out = judge(image_logits(run, part.images), part.labels, found.classes, shown=shown, worst=worst)
        out = replace(out, pictures=part.images[[one.index for one in out.mistakes]])
    else:
        texts = readable(part).texts
        out = judge(text_logits(run, texts), part.labels, found.classes, shown=texts, worst=worst)
        out = replace(out, pairs=pair_scores(run))
    if test and recipe is not None:
        write_json(run.folder / TEST, out.scores)
    return replace(out, name=run.folder.name, data=found.name, part="test" if test else "validation")


def held_out(part: Any, recipe: Recipe) -> Any:
    """What training validated on: the same cut as its tasks make."""
    learn, held = split(len(part), recipe.task.validation, seed=0)
    return part.take(held if recipe.checks.overfit is None else learn[: recipe.checks.overfit])


def pair_scores(run: Run) -> dict[str, PairScore] | None:
    """The scores on the negation and contrast pairs by kind, of a model that knows positive and negative."""
    classes = list(run.description["classes"])
    if not {"negative", "positive"} <= set(classes):
        return None
    at = [classes.index(name) for name in ("negative", "positive")]

    def answers(texts: Sequence[str]) -> list[int]:
        return text_logits(run, texts)[:, at].argmax(1).tolist()

    return score_pairs(answers)


@torch.no_grad()
def text_logits(run: Run, texts: Sequence[str]) -> Tensor:
    """Logits (N,classes) on the CPU; of a long text what training keeps of it is read."""
    assert run.tokenizer is not None
    place = next(run.model.parameters()).device
    context, keep = run.description["context"], run.description.get("keep", "head")
    rows = rows_of(run.tokenizer, texts, context, keep)
    table = Table(rows, width=context, pad=_pad(run.tokenizer), device=place)
    out: list[Tensor] = []
    by_size = torch.argsort(table.lengths, stable=True)  # like lengths together: less padding
    for at in by_size.split(64 if place.type == "cpu" else 256):
        tokens, lengths = table.rows(at)
        out.append(run.model(tokens, segments=segments_of(tokens, lengths)).float().cpu())
    return torch.cat(out)[torch.argsort(by_size.cpu())]


@torch.no_grad()
def image_logits(run: Run, images: Tensor) -> Tensor:
    """Logits (N,classes) on the CPU of pictures uint8 (N,C,rows,cols)."""
    model: nn.Module = run.model
    place = next(model.parameters()).device
    classes, mean, std = (run.description[name] for name in ("classes", "mean", "std"))
    normal = Augment(classes=len(classes), mean=tuple(mean), std=tuple(std))
    parts = images.split(200 if place.type == "cpu" else 1000)
    return torch.cat([model(normal.normalise(part.to(place))).float().cpu() for part in parts])


def _pad(tokenizer: Tokenizer) -> int:
    return 0 if tokenizer.pad is None else tokenizer.pad
