"""The pictures of what trained models looked at, on held-out images; they need the real data.

REGARD_DATA=FOLDER python docs/make.py --figures            # all that the zoo has models for
REGARD_DATA=FOLDER python docs/make.py --figures runs/grid  # images completed, or looked at, by this run
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from regard import zoo
from regard.data import Pictures
from regard.models import GridCompletion
from regard.probe import (
    HidingCheck,
    check_by_hiding,
    complete_images,
    completion_figure,
    hiding_figure,
    images_figure,
    position_figure,
    position_similarity,
    save_figure,
    score_images,
    to_levels,
)
from regard.train import Run, open_run
from regard.train.runs.images import ImageRun

VISION = ("vit-cifar10", "vit-fashion-mnist")
COMPLETION = "grid-completion"
SHOWN, HIDDEN = 10, 1000  # images with their maps, and images behind the curves
LIGHT = 96  # dots per inch of the pictures with photographs, which PNG packs badly
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)


def write(docs: Path, runs: list[str]) -> None:
    """Draw the pictures into `pictures/`, and write what the curves say beside them."""
    folder = docs / "pictures"
    path = folder / "figures.json"
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in VISION if not runs else ():
        facts[name] = vision(folder, name)
        path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        print(name, flush=True)
    for run in runs or [f"zoo:{name}" for name in zoo.names() if name == COMPLETION]:
        opened = open_run(run)
        if isinstance(opened, ImageRun):
            assert opened.recipe is not None
            name = opened.recipe.name
            maps(folder, name, name, opened, opened.held_out(SHOWN))
        else:
            facts[COMPLETION] = completion(folder, opened)
            path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        print(run, flush=True)


def vision(folder: Path, name: str) -> dict[str, Any]:
    """Maps over the first held-out images, the positions, and the hiding curves of one classifier."""
    run = zoo.load(name)
    assert isinstance(run, ImageRun)
    held = run.held_out()
    maps(folder, name, f"zoo:{name}", run, held.take(torch.arange(SHOWN)))
    drawn = position_figure(position_similarity(run.model), f"zoo:{name}, positions")
    save_figure(drawn, folder / f"positions-{name}.png")
    check = hiding(run, held.take(torch.arange(HIDDEN)))
    curves(folder, name, check)
    return check.as_dict()


def maps(folder: Path, name: str, title: str, run: ImageRun, shown: Pictures) -> None:
    """The class token's attention, mean of all heads and layers, and rollout, over each image."""
    look = run.look_at(shown.images, labels=shown.labels, steps=1)  # of the gradient, which is not drawn here
    look = replace(look, maps={way: look.maps[way] for way in ("attention", "rollout")})
    drawn = images_figure(look, f"{title}, the first {SHOWN} held-out images")
    path = folder / f"look-{name}.png"
    drawn.savefig(path, dpi=LIGHT)
    even = [min(255, 2 * ((value + 1) // 2)) for value in range(256)]  # nobody sees it, and a third is saved
    Image.open(path).convert("RGB").point(even * 3).save(path, optimize=True)


def hiding(run: ImageRun, images: Pictures) -> HidingCheck:
    """Accuracy while patches go: those attended most, random ones, those attended least."""
    inputs = run.normalise(images.images)
    return check_by_hiding(
        run.model,
        inputs,
        images.labels,
        score_images(run.model, inputs, method="attention"),
        generator=torch.Generator().manual_seed(0),
        shares=SHARES,
        repeats=1,
    )


def curves(folder: Path, name: str, check: HidingCheck) -> None:
    """The figure of the hiding check."""
    drawn = hiding_figure(check, f"zoo:{name}, held-out images")
    drawn.axes[0].get_legend().set_loc("lower left")  # the curves leave no room at the top
    save_figure(drawn, folder / f"hiding-{name}.png")


def completion(folder: Path, run: Run) -> dict[str, Any]:
    """The first held-out images, their lower half drawn from the model."""
    assert isinstance(run.model, GridCompletion)
    images = to_levels(run.held_out(SHOWN).images, run.model.config.levels)
    found = complete_images(run.model, images, generator=torch.Generator().manual_seed(0))
    save_figure(completion_figure(found), folder / f"{COMPLETION}.png")
    return {"images": SHOWN, "known": found.known, "levels": found.levels, "same": found.same}
