"""Small recipes that the tests of training share, and a run in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from regard.data import Augment
from regard.layers import PreNorm
from regard.models import EncoderConfig, GPTConfig, ViTConfig
from regard.train import AdamW, Characters, ClassifyImages, ClassifyTexts, Language, Muon, Recipe, Words

ROOT = Path(__file__).parents[2]


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
        ema=0.9,
        validate_every=8,
        save_every=5,
        read_every=4,
    )
    return replace(recipe, **changes)


def language(**changes: object) -> Recipe:
    recipe = Recipe(
        name="small-language",
        task=Language(
            data="play",
            model=GPTConfig(vocab=1, context=16, depth=1, width=16, heads=2),
            tokens=Characters(),
            validation=0.005,
            sample=10,
        ),
        batch=8,
        steps=12,
        validate_every=6,
        save_every=5,
        read_every=4,
    )
    return replace(recipe, **changes)


def texts(**changes: object) -> Recipe:
    recipe = Recipe(
        name="small-texts",
        task=ClassifyTexts(
            data="verdicts",
            model=EncoderConfig(
                vocab=1, context=24, depth=1, width=16, heads=2, block=PreNorm(), pool="mean", dropout=0.1
            ),
            tokens=Words(),
            validation=0.01,
        ),
        batch=8,
        steps=12,
        validate_every=6,
        save_every=5,
        read_every=4,
    )
    return replace(recipe, **changes)


def started(code: str, *words: str, **environment: str) -> subprocess.Popen[str]:
    """A Python process that runs this code with `small` at hand."""
    whole = f"import sys, torch; torch.set_num_threads(1); from tests.train import small\n{code}"
    return subprocess.Popen(
        [sys.executable, "-c", whole, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )


def plain(**changes: object) -> Recipe:
    """Images without chance in them, so that processes can share a batch and see the same."""
    recipe = images(batch=24, steps=10, optimizer=AdamW(lr=3e-3), save_every=4)
    task = replace(
        recipe.task,
        model=replace(recipe.task.model, dropout=0.0),
        augment=Augment(classes=10, mean=(0.3,), std=(0.4,)),
    )
    return replace(recipe, task=task, **changes)


def muon(**changes: object) -> Recipe:
    """The same with Muon, whose products of whole matrices meet sharded ones."""
    return plain(optimizer=Muon(lr=0.01, adam=AdamW(lr=1e-3)), **changes)


def words(**changes: object) -> Recipe:
    """Padded dialogues, whose parts hold different numbers of targets."""
    recipe = language(batch=24, steps=6, save_every=3)
    return replace(recipe, task=replace(recipe.task, cut="dialogues", validation=0.02), **changes)
