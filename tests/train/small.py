"""Small recipes that the tests of training share, one at least for every kind of task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from regard.data import Augment, Reviews, load
from regard.data.sets import EMBEDDED
from regard.layers import PreNorm
from regard.models import EncoderConfig, GPTConfig, GridCompletionConfig, ViTConfig
from regard.train import (
    AdamW,
    BytePairs,
    Characters,
    Checks,
    ClassifyImages,
    ClassifyTexts,
    CompleteImages,
    CourseGPT,
    Language,
    MaskedText,
    Muon,
    Recipe,
    Words,
)
from regard.train.recipe_data import to_data

ROOT = Path(__file__).parents[2]
FEW = "few-verdicts"


def few() -> Reviews:
    """Some hundred sentences, whose words are learned in no time."""
    found = load("verdicts")
    assert isinstance(found, Reviews)
    parts = [part.take(torch.arange(size)) for part, size in ((found.train, 400), (found.test, 50))]
    return replace(found, name=FEW, train=parts[0], test=parts[1])


EMBEDDED[FEW] = few


def images(**changes: object) -> Recipe:
    recipe = Recipe(
        name="small-images",
        task=ClassifyImages(
            data="digits",
            model=ViTConfig(
                image=8, patch=4, channels=1, classes=10, depth=1, width=16, heads=2, dropout=0.1
            ),
            augment=Augment(classes=10, mean=(0.3,), std=(0.4,), crop=1, mixup=0.2, cutmix=1.0),
            smoothing=0.1,
        ),
        batch=16,
        steps=24,
        optimizer=Muon(lr=0.01, adam=AdamW(lr=1e-3)),
        checks=Checks(ema=0.9, validate_every=8, save_every=5, read_every=4),
    )
    return recipe.but(**changes)


def language(**changes: object) -> Recipe:
    recipe = Recipe(
        name="small-language",
        task=Language(
            data="play",
            model=GPTConfig(vocab=None, context=16, depth=1, width=16, heads=2),
            tokens=Characters(),
            validation=0.005,
            sample=10,
        ),
        batch=8,
        steps=12,
        checks=Checks(validate_every=6, save_every=5, read_every=4),
    )
    return recipe.but(**changes)


def texts(**changes: object) -> Recipe:
    recipe = Recipe(
        name="small-texts",
        task=ClassifyTexts(
            data=FEW,
            model=EncoderConfig(
                vocab=None, context=24, depth=1, width=16, heads=2, block=PreNorm(), pool="mean", dropout=0.1
            ),
            tokens=Words(),
            validation=0.2,
        ),
        batch=8,
        steps=12,
        checks=Checks(validate_every=6, save_every=5, read_every=4),
    )
    return recipe.but(**changes)


def masked(**changes: object) -> Recipe:
    recipe = Recipe(
        name="small-masked",
        task=MaskedText(
            data=FEW,
            model=EncoderConfig(vocab=None, context=16, depth=1, width=16, heads=2, block=PreNorm()),
            tokens=BytePairs(300),
            validation=0.1,
        ),
        batch=8,
        steps=12,
        checks=Checks(validate_every=6, save_every=5, read_every=4),
    )
    return recipe.but(**changes)


def completion(**changes: object) -> Recipe:
    task = CompleteImages(data="digits", model=GridCompletionConfig(levels=4, hidden=4, layers=1))
    recipe = images(name="small-completion", task=task, steps=12, optimizer=AdamW(), ema=None)
    return recipe.but(**changes)


def course(**changes: object) -> Recipe:
    """The textbook's dialogue model."""
    model = CourseGPT(context=24, depth=1, width=16, heads=2, head_width=8, hidden=16)
    task = replace(words().task, model=model, tokens=Words(), sample=5)
    return words(batch=8, task=task).but(**changes)


def two_stages(**changes: object) -> Recipe:
    """Hidden words first, then classes."""
    first = masked(steps=8, optimizer=Muon(lr=0.01, adam=AdamW(lr=1e-3)), ema=0.9)
    task = replace(texts().task, model=replace(first.task.model, pool="mean", dropout=0.1), hide=0.2)
    return texts(name="small-two-stages", task=task, steps=8, before=first).but(**changes)


def plain(**changes: object) -> Recipe:
    """Images without chance in them, so that processes can share a batch and see the same."""
    recipe = changed(**changes)
    task = replace(recipe.task, augment=Augment(classes=10, mean=(0.3,), std=(0.4,)))
    return replace(recipe, task=task)


def changed(**changes: object) -> Recipe:
    """Images that are moved and mixed, but no dropout: several processes train what one does."""
    recipe = images(batch=24, steps=10, optimizer=AdamW(lr=3e-3), save_every=4)
    task = replace(recipe.task, model=replace(recipe.task.model, dropout=0.0))
    return recipe.but(**{"task": task} | changes)


def muon(**changes: object) -> Recipe:
    """The same with Muon, whose products of whole matrices meet sharded ones."""
    return changed(optimizer=Muon(lr=0.01, adam=AdamW(lr=1e-3)), **changes)


def words(**changes: object) -> Recipe:
    """Padded dialogues, whose parts hold different numbers of targets."""
    recipe = language(batch=24, steps=6, save_every=3)
    task = replace(recipe.task, cut="dialogues", validation=0.02)
    return recipe.but(**{"task": task} | changes)


def as_of_old(recipe: Recipe) -> dict[str, object]:
    """A recipe as data in the form of earlier versions: every field at the top."""

    def flat(data: dict) -> dict[str, object]:
        parts = {**data.pop("execution"), **data.pop("checks")}
        del parts["parallel"]  # which came later
        return {**parts, **data, "before": None if data["before"] is None else flat(data["before"])}

    return flat(to_data(recipe))
