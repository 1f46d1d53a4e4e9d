"""`regard recipe NAME > mine.py`: a recipe as a file to begin with, and what its fields mean."""

from __future__ import annotations

from typing import Annotated

import typer

from regard.cli.options import AsJson, Trust, print_json

Name = Annotated[
    str | None,
    typer.Argument(metavar="RECIPE", help="Its name or place; with --explain also a part such as AdamW."),
]


def recipe(
    name: Name = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print every field with type, default and meaning.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="Print the recipes.")] = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Write a recipe as a Python file to begin with; `regard train` takes the file as it is.

    Example: regard recipe vit-cifar10 > my_recipe.py
    """
    from regard import recipes
    from regard.train.recipe_data import KINDS, to_data
    from regard.train.writing import as_python

    if listed:
        found = {one: recipes.about(one) for one in recipes.names()}
        print_json(found) if as_json else print("\n".join(f"{a:32}{b}" for a, b in found.items()))
    elif explain:
        _explain(name if name in KINDS else None, None if name in KINDS else name, trust, as_json)
    elif name is None:
        raise ValueError(f"name a RECIPE; recipes: {', '.join(recipes.names())}")
    else:
        value = recipes.get(name, trust=trust)
        about = recipes.about(name) if name in recipes.names() else f"The recipe {value.name}."
        print_json({"name": name, "recipe": to_data(value)}) if as_json else print(
            as_python(value, about), end=""
        )


def _explain(part: str | None, name: str | None, trust: bool, as_json: bool) -> None:
    """Two lines for each field: how it is set, its type and default, and under them what it means."""
    from regard import recipes
    from regard.train.explaining import explain, explain_kind, find_kind

    if name is None:
        found = [one.as_dict() for one in explain_kind(find_kind(part or "Recipe"))]
    else:
        told = explain(recipes.get(name, trust=trust))
        found = [one.as_dict() | {"of": kind, "value": value} for kind, one, value in told]
    if as_json:
        print_json({"name": name or part or "Recipe", "fields": found})
        return
    for one in found:
        default = "must be given" if one["default"] is None else f"default {one['default']}"
        here = f", here {one['value']}" if "value" in one else ""
        print(f"{one['path']}: {one['type']}, {default}{here}\n    {one['meaning']}")
