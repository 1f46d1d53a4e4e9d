"""`regard train RECIPE`: one loop for every recipe, to go on with whenever it was stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import AsJson, DataDir, Device, RecipeName, Trust, print_json
from regard.cli.own_data import Data, LabelColumn, Size, SkipBad, TextColumn, asked_for, data_for

if TYPE_CHECKING:
    from regard.train import Recipe


def train(  # noqa: PLR0913, PLR0917 - each is one option
    recipe: RecipeName = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change any field, such as model.depth=8."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="The run's folder; runs/RECIPE.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in FOLDER; '--resume auto' may begin it.")
    ] = False,
    resume_auto: Annotated[bool, typer.Option("--resume-auto", hidden=True)] = False,
    origin: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="RUN:STEP", help="Begin a new run with a checkpoint of another, and any --set."
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Begin with the weights of a run, zoo:NAME or a model's folder."),
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Train for so long.")] = None,
    overfit: Annotated[
        int | None, typer.Option(metavar="N", help="Train on N examples until known by heart.")
    ] = None,
    backbone: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The BERT to start from: a folder, or a hub name.")
    ] = None,
    data: Data = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    size: Size = None,
    skip_bad: SkipBad = False,
    data_dir: DataDir = None,
    device: Device = None,
    trust: Trust = False,
    listed: Annotated[bool, typer.Option("--list", help="Print the recipes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model by a recipe; what was stopped goes on with --resume, exactly as if it had not been.

    With --resume, steps, epochs or minutes may grow and keep and save_every change; --from is for all else.

    Example: regard train digits-vit --set model.depth=3 --out runs/first
    """
    from regard import recipes
    from regard.train import override
    from regard.train import train as run
    from regard.train.beginning import with_start

    if listed:
        found = {name: recipes.about(name) for name in recipes.names()}
        print_json(found) if as_json else print("\n".join(f"{a:32}{b}" for a, b in found.items()))
        return
    changed = [*(settings or []), *([] if minutes is None else [f"minutes={minutes}"])]
    value = override(recipe_of(recipe, out if resume or resume_auto else None, origin, trust), changed)
    if (source := asked_for(data, text, label, size, skip_bad)) is not None:
        going_on = resume or resume_auto
        value = data_for(value, source, changed, out, going_on=going_on, data_dir=data_dir)
    if start is not None:
        if origin is not None:
            raise ValueError("--start takes weights and --from a whole checkpoint: give one of them")
        value = with_start(value, start, trust=trust)
    if backbone is not None:
        value = on_backbone(value, backbone)
    if overfit is not None:
        value = value.but(overfit=overfit)
    folder = Path("runs") / value.name if out is None else out
    how: bool | str = "auto" if resume_auto else resume
    result = run(value, folder, device=device, resume=how, origin=origin, data_dir=data_dir, quiet=as_json)
    if as_json and os.environ.get("RANK", "0") == "0":
        print_json(result.as_dict())


def auto_as_one(words: Sequence[str]) -> list[str]:
    """`--resume auto` as one word: `--resume` alone takes none, so that RECIPE may follow it.

    >>> auto_as_one(["digits-vit", "--resume", "auto"]), auto_as_one(["--resume", "digits-vit"])
    (['digits-vit', '--resume-auto'], ['--resume', 'digits-vit'])
    """
    out: list[str] = []
    for word in words:
        if word == "--resume=auto" or (word == "auto" and out[-1:] == ["--resume"]):
            out = [*(out[:-1] if word == "auto" else out), "--resume-auto"]
        else:
            out.append(word)
    return out


def recipe_of(name: str | None, resumed: Path | None, origin: str | None, trust: bool = False) -> Recipe:
    """The recipe of this name or place, or else of the run that goes on or that a new one begins with."""
    from regard import recipes
    from regard.train import read_recipe
    from regard.train.branch import located

    if name is not None:
        return recipes.get(name, trust=trust)
    if origin is not None:
        return read_recipe(located(origin)[0], trust=trust)
    if resumed is None:
        raise ValueError(f"name a RECIPE, or --resume with --out; recipes: {', '.join(recipes.names())}")
    return read_recipe(resumed, trust=trust)


def on_backbone(recipe: Recipe, backbone: str) -> Recipe:
    """The recipe, begun with that BERT in place of what it would begin with."""
    if "start" not in {field.name for field in fields(recipe.task)}:
        raise ValueError(f"--backbone is for recipes that classify texts, {recipe.name} does not")
    folder = Path(backbone).expanduser()
    start = str(folder.resolve()) if folder.exists() else backbone  # so that it is found from elsewhere too
    return replace(recipe, before=None, task=replace(recipe.task, start=start))
