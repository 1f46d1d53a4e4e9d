"""`regard train RECIPE`: one loop for every recipe, to go on with whenever it was stopped."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import AsJson, print_json

if TYPE_CHECKING:
    from regard.train import Recipe

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Where the data sets are.", show_default=False),
]
Device = Annotated[
    str | None, typer.Option("--device", help="cpu or cuda; the GPU if there is one.", show_default=False)
]


def train(  # noqa: PLR0913, PLR0917 - each is one option
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="Its name; see --list.", show_default=False)
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change any field, such as model.depth=8."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="The run's folder; runs/RECIPE.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in FOLDER.")] = False,
    minutes: Annotated[float | None, typer.Option(help="Train for so long.", show_default=False)] = None,
    overfit: Annotated[
        int | None, typer.Option(metavar="N", help="Train on N examples until known by heart.")
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="The BERT to start from: a folder, or a hub name.", show_default=False
        ),
    ] = None,
    data_dir: DataDir = None,
    device: Device = None,
    listed: Annotated[bool, typer.Option("--list", help="Print the recipes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model by a recipe; what was stopped goes on with --resume, exactly as if it had not been.

    Example: regard train digits-vit --set model.depth=3 --out runs/first
    """
    from regard import recipes
    from regard.train import override, read_recipe
    from regard.train import train as run

    if listed:
        found = {name: recipes.about(name) for name in recipes.names()}
        print_json(found) if as_json else print("\n".join(f"{a:32}{b}" for a, b in found.items()))
        return
    changed = [*(settings or []), *([] if minutes is None else [f"minutes={minutes}"])]
    if recipe is None:
        if not resume or out is None:
            raise ValueError(f"name a RECIPE, or --resume with --out; recipes: {', '.join(recipes.names())}")
        value = read_recipe(out)
    else:
        value = recipes.get(recipe)
    value = override(value, changed)
    if backbone is not None:
        value = on_backbone(value, backbone)
    if overfit is not None:
        value = replace(value, overfit=overfit)
    folder = Path("runs") / value.name if out is None else out
    result = run(value, folder, device=device, resume=resume, data_dir=data_dir, quiet=as_json)
    if as_json and os.environ.get("RANK", "0") == "0":
        print_json(result.as_dict())


def on_backbone(recipe: Recipe, backbone: str) -> Recipe:
    """The recipe, begun with that BERT in place of what it would begin with."""
    if "start" not in {field.name for field in fields(recipe.task)}:
        raise ValueError(f"--backbone is for recipes that classify texts, {recipe.name} does not")
    folder = Path(backbone).expanduser()
    start = str(folder.resolve()) if folder.exists() else backbone  # so that it is found from elsewhere too
    return replace(recipe, before=None, task=replace(recipe.task, start=start))
