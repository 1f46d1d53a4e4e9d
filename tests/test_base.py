"""A base install, without extras, does the work of a first hour: trains, saves, goes on, predicts, counts."""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import regard
from tests.data.own.making import photos, table
from tests.test_architecture import HIDDEN, allowed_modules
from tests.test_wheel import ROOT, ask, call, wheel  # noqa: F401 - a fixture is found by its name

SMALL = ["--set", "steps=3", "--set", "model.depth=1", "--set", "model.width=16", "--device", "cpu"]
# One command a line, in this order; the digits are scikit-learn's, so the recipe is the embedded play's.
HOUR = [
    ["train", "play-gpt", "--out", "run", "--set", "save_every=2", *SMALL],
    ["train", "--resume", "--out", "run", "--set", "steps=5", "--device", "cpu"],
    ["eval", "run", "--device", "cpu"],
    ["generate", "run", "--prompt", "PORTIA:", "--tokens", "4"],
    ["runs", "."],
    ["predict", "zoo:sentiment", "I expected little, and got a wonderful film."],
    ["predict", "zoo:vit-cifar10", "picture.png"],
    ["generate", "zoo:dialogue", "--prompt", "ROMEO:", "--tokens", "4"],
    ["draw", "strided(3)", "--out", "strided.svg"],
    ["count", "strided(3)", "-n", "64k", "--formula"],
    ["cost", "gpt2", "--tokens", "1024", "--tree"],
    ["lesson", "counting-attention", "--questions"],
]
# Three jobs from nothing: one command trains on a reader's own data, one shows what came of it.
QUICK = ["--set", "steps=20", "--set", "batch=8", "--set", "compile=none", "--device", "cpu"]
JOBS = [
    ["train", "vit-cifar10-cpu", "--data", "photos", *QUICK],
    ["look", "runs/vit-cifar10-cpu-photos"],
    ["predict", "runs/vit-cifar10-cpu-photos", "photos/cat/1.png"],
    ["train", "shakespeare-char-cpu", "--data", "book.txt", *QUICK],
    ["generate", "runs/shakespeare-char-cpu-book", "--prompt", "It was", "--tokens", "20"],
    ["train", "sentiment-imdb-cpu", "--data", "reviews.csv", "--text", "review", "--label", "stars", *QUICK],
    ["predict", "runs/sentiment-imdb-cpu-reviews", "this is text 7"],
]
# In an install without matplotlib, this is one line that says what to do.
PLOT = ["draw", "strided(3)", "--out", "strided.png"]
RUN = """
import json
from regard.cli.main import main
for words in json.loads(sys.argv[2]):
    assert main(words) == 0, words
assert main(json.loads(sys.argv[3])) == 2
assert "sklearn" not in sys.modules and "matplotlib" not in sys.modules
"""


def dependencies() -> list[str]:
    """The distributions that an install without extras asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]]


@pytest.fixture
def folder(tmp_path):
    from PIL import Image

    Image.new("RGB", (32, 32), (200, 120, 40)).save(tmp_path / "picture.png")
    photos(tmp_path / "photos", count=20)
    (tmp_path / "book.txt").write_text("It was the best of times, it was the worst of times.\n" * 100)
    table(tmp_path / "reviews.csv", header="review,stars", count=60)
    return tmp_path


def came_of(folder: Path, said: str) -> None:
    """The three jobs have given a heat map, a sample and a prediction."""
    page = (folder / "look" / "look.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") > 10  # held-out pictures and their maps
    assert "2 classes, pictures as 8×8, in colour" in said
    assert re.search(r"^It was.{10,}", said, re.MULTILINE)
    assert re.search(r"^(good|bad)\b.*\d %", said, re.MULTILINE)
    assert re.search(r"^(cat|dog)\b.*\d %", said, re.MULTILINE)


def walk(folder: Path, brought: set[str], hour: list[list[str]]) -> subprocess.CompletedProcess[str]:
    """The commands in one fresh process, in which only what these distributions bring can be found."""
    command = [
        sys.executable,
        "-c",
        HIDDEN + RUN,
        ",".join(sorted(brought)),
        json.dumps(hour),
        json.dumps(PLOT),
    ]
    here = {
        **os.environ,
        "REGARD_CACHE": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(regard.__file__).parents[1]),
    }  # not an installed one
    return subprocess.run(command, cwd=folder, env=here, capture_output=True, text=True, check=False)


def test_what_is_declared_is_enough(folder):
    done = walk(folder, allowed_modules(*dependencies()), HOUR + JOBS)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    came_of(folder, done.stdout)
    assert "note: no PNG files: matplotlib is not installed" in done.stderr
    assert "going on after step 3" in done.stdout
    assert "positive" in done.stdout
    assert (folder / "strided.svg").read_text(encoding="utf-8").startswith("<svg")
    assert re.search(
        r"^error: matplotlib is not installed: pip install .*\[plot\]\"$", done.stderr, re.MULTILINE
    )


def test_the_test_can_fail(folder):
    done = walk(folder, allowed_modules(*dependencies()) - {"numpy"}, HOUR[:1])
    assert done.returncode != 0
    assert "umpy" in done.stderr


@pytest.mark.install
def test_the_wheel_in_a_new_environment(wheel, folder):  # noqa: F811
    venv.create(folder / "new", with_pip=True)
    python = folder / "new" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    call(
        python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", "torch", wheel, cwd=folder
    )
    said = "".join(call(python, "-m", "regard", *words, cwd=folder) for words in HOUR + JOBS)
    assert "going on after step 3" in said
    came_of(folder, said)
    refused = [python, "-m", "regard", *PLOT]
    done = ask(*refused, cwd=folder)
    assert done.returncode == 2
    assert done.stderr == 'error: matplotlib is not installed: pip install "regard[plot]"\n'
    call(
        python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", "regard[plot]", cwd=folder
    )
    call(*refused, cwd=folder)
