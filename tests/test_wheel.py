"""The wheel builds, installs into a clean environment and runs."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from shlex import split

import pytest

from tests.data.own.making import photos, table

ROOT = Path(__file__).parents[1]
# One command each, and the verb that it says comes next.
JOBS = [
    ["look", "vit-cifar10-cpu", "--data", "photos"],
    ["generate", "shakespeare-char-cpu", "--data", "book.txt"],
    ["predict", "sentiment-imdb-cpu", "--data", "reviews.csv", "--text", "review", "--label", "stars"],
]
QUICK = ["--minutes", "0.03", "--set", "compile=none"]


def ask(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command that finds nothing of this environment."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    words = list(map(str, command))
    return subprocess.run(words, cwd=cwd, env=clean, capture_output=True, text=True, check=False)


def call(*command: object, cwd: Path) -> str:
    done = ask(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (found,) = folder.glob("regard-*.whl")
    return found


def test_it_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"regard/py.typed", "regard/pattern/base.py", "regard/cli/main.py"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"regard"}


def installed(wheel: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The Python of a clean environment with the wheel in it, and where that lies; nothing is fetched."""
    venv.create(tmp_path / "clean", with_pip=False)
    python = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = Path(
        call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    )
    # Dependencies come from this environment: a plain path entry does not follow its editable installs.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet"]
    call(*pip, wheel, cwd=tmp_path)
    return python, site


def test_it_installs_and_runs(wheel, tmp_path):
    python, site = installed(wheel, tmp_path)
    where = call(python, "-c", "import regard.pattern; print(regard.pattern.__file__)", cwd=tmp_path)
    assert Path(where).is_relative_to(site)
    found = json.loads(
        call(python.with_name("regard"), "count", "strided(3)", "-n", "16", "--json", cwd=tmp_path)
    )
    assert found["pairs"] == 58
    assert (
        json.loads(call(python, "-m", "regard", "count", "causal", "-n", "4", "--json", cwd=tmp_path))[
            "pairs"
        ]
        == 10
    )


def test_three_jobs_from_nothing_by_the_installed_command(wheel, tmp_path, monkeypatch):
    python, _ = installed(wheel, tmp_path)
    here = tmp_path / "empty"
    here.mkdir()
    photos(here / "photos", count=20)
    (here / "book.txt").write_text("It was the best of times, it was the worst of times.\n" * 100)
    table(here / "reviews.csv", header="review,stars", count=60)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.chdir(here)
    for verb, recipe, *words in JOBS:
        said = call(python.with_name("regard"), "train", recipe, *words, *QUICK, cwd=here)
        (next_one,) = re.findall(rf"^next: (regard {verb} .+)$", said, re.MULTILINE)
        shown = call(python.with_name("regard"), *split(next_one)[1:], cwd=here)
        assert len(shown) > 20
    assert (here / "look" / "look.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in here.iterdir()} == {"photos", "book.txt", "reviews.csv", "runs", "look"}
