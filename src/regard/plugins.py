"""Recipes and data sets that other installed packages bring, by entry points.

[project.entry-points."regard.recipes"]
vit-birds = "birds.recipes:vit"        # a function that returns a Recipe

[project.entry-points."regard.data"]
birds = "birds.data:load"              # a function that returns Images, Reviews or a Corpus
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

RECIPES, DATA = "regard.recipes", "regard.data"


def plugins(group: str) -> dict[str, EntryPoint]:
    """What others bring under a group, by name; nothing is imported to know it."""
    return {one.name: one for one in sorted(entry_points(group=group), key=lambda one: (one.name, one.value))}


def owner(found: EntryPoint) -> str:
    """Who brings it, and what it is."""
    owner = found.dist.name if found.dist is not None else "another package"
    return f"of {owner}: {found.value}"
