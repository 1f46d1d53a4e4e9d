"""The page's files: small, typed, and nothing but what is in the package."""

import gzip
import re
import subprocess

import pytest

from regard.studio.app import FOLDERS, ROOT, Page
from tests.studio.conftest import node_module

FILES = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
SCRIPTS = [path for path in FILES if path.suffix == ".js"]


IMPORTED = r"""(?:from|import) ?["'](\.[^"']+)["']"""


def opened(room):
    """The files that the browser reads to show a room: the page's own, the room's, and what they import."""
    found, left = set(), [path for path in FILES if path.parent.name == "page" or path.stem == room]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += [(path.parent / one).resolve() for one in re.findall(IMPORTED, path.read_text("utf-8"))]
    return found


def test_the_page_is_small():
    """With any one room it is below 400 kB as it lies; all rooms together are, as they travel, below half."""
    rooms = [path.stem for path in FILES if path.suffix == ".css" and path.parent.name == "rooms"]
    assert len(rooms) >= 8
    sizes = {room: sum(len(path.read_bytes()) for path in opened(room)) for room in rooms}
    assert max(sizes.values()) < 250_000, sizes
    assert sum(len(gzip.compress(path.read_bytes())) for path in FILES) < 200_000


def test_every_file_is_served_and_compressed():
    page = Page()
    for path in FILES:
        data, small, _, _ = page.get(f"/{path.relative_to(ROOT).as_posix()}")
        assert gzip.decompress(small) == data == path.read_bytes()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_short_and_import_what_exists(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("// @ts-check\n/**")
    assert len(text.splitlines()) <= 400
    assert not re.search(
        r"innerHTML|insertAdjacentHTML|document\.write|\beval\(|https?://(?!www\.w3\.org)", text
    )
    for target in re.findall(r"""(?:from|import\() ?["'](\.[^"']+)["']""", text):
        assert (path.parent / target).resolve() in FILES, target


def test_types_hold():
    found = node_module(".bin/tsc")
    done = subprocess.run(
        [str(found), "-p", str(ROOT / "studio" / "tsconfig.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""


def test_a_room_leaves_no_style_behind(visit):
    """Rooms call classes alike: what one has loaded is off in the next, and on again when one is back."""
    seen = visit().room("vision").room("sentiment")
    seen.page.wait_for_function("() => document.styleSheets.length === 3")  # they are loaded behind the room
    sheets = "() => [...document.styleSheets].map(one => [one.href.split('/').pop(), one.media.mediaText])"
    assert dict(seen.page.evaluate(sheets)) | {} == {
        "studio.css": "", "vision.css": "not all", "sentiment.css": "all",
    }  # fmt: skip
    seen.room("vision")
    assert dict(seen.page.evaluate(sheets))["vision.css"] == "all"


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString?x", "nonsense?x=1"])
def test_no_room_of_that_name_is_the_first_room(visit, name):
    seen = visit()
    seen.page.goto(f"{seen.address}#{name}")
    seen.page.wait_for_selector("main[data-ready=patterns]")
    seen.clean()
