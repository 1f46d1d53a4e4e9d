"""docs/design.md is true: the picture of the house is fresh, and the walks go where they say."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard.attention import attend
from regard.attention.engine import chosen
from regard.cli.main import main
from regard.data import load
from regard.paper.pixels import png
from regard.pattern import Strided

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "regard"


def walk_of(title: str) -> list[tuple[str, str]]:
    """The files and functions of one table."""
    table = PAGE.split(f"**{title}**")[1].split("\n\n")[1]
    return re.findall(r"^\| \d+ \| `([\w/]+\.py)` \| `(\w+)` \|", table, re.MULTILINE)


def called(act: Callable[[], object]) -> list[tuple[str, str]]:
    """Our functions that a call enters, in order."""
    seen: list[tuple[str, str]] = []

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE)):
            seen.append((str(Path(path).relative_to(SOURCE)), frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return seen


def missing(walk: list[tuple[str, str]], calls: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The first step that does not come after those before it, and all behind it."""
    rest = iter(calls)
    for i, step in enumerate(walk):
        if step not in rest:
            return walk[i:]
    return []


def count():
    assert main(["count", "strided(7) | global(2)", "-n", "1000"]) == 0


def attended():
    query, key, value = (torch.randn(1, 4, 2048, 64) for _ in range(3))
    attend(query, key, value, Strided(back=128))


def trained(folder: Path):
    picture, run = folder / "digit.png", str(folder / "run")
    picture.write_bytes(png(load("digits").test.images[0].permute(1, 2, 0).expand(8, 8, 3).contiguous()))
    settings = ["steps=2", "validate_every=2", "compile=none"]
    assert main(["train", "digits-vit", "--out", run, *(w for s in settings for w in ("--set", s))]) == 0
    assert main(["predict", run, str(picture)]) == 0


@pytest.mark.parametrize("title", ["Count", "Attend", "Train, then predict"])
def test_a_walk_goes_where_it_says(title, tmp_path):
    act = {"Count": count, "Attend": attended}.get(title, lambda: trained(tmp_path))
    walk = walk_of(title)
    assert len(walk) >= 5
    chosen.cache_clear()  # what an earlier test asked is not chosen again
    assert missing(walk, called(act)) == []


def test_a_walk_that_goes_elsewhere_would_be_found():
    walk = walk_of("Count")
    assert missing(walk, walk) == []
    assert missing(walk, walk[::-1])
    assert missing([*walk, ("pattern/text.py", "no_such")], walk) == [("pattern/text.py", "no_such")]
