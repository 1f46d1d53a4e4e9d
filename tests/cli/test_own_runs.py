"""Runs on data of one's own, by the command line: every verb works, and what is printed can be typed."""

import json
import re
from pathlib import Path
from shlex import split

import pytest

from regard import zoo
from regard.cli.main import main
from regard.studio.models import gather
from regard.train import open_run
from tests.data.own.making import photos, table

BOOK = "Es war einmal ein König, der hatte drei Söhne und einen Löwen.\n" * 60
SHORT = ["--set", "steps=30", "--set", "batch=4", "--set", "model.depth=1", "--set", "model.width=16"]
JOBS = {
    "images": ["vit-cifar10-cpu", "--data", "my photos", "--set", "compile=none"],
    "text": ["shakespeare-char-cpu", "--data", "book.txt"],
    "table": ["sentiment-imdb-cpu", "--data", "reviews.csv", "--text", "review", "--label", "stars"],
    "without attention": ["mlp-fashion-mnist", "--data", "my photos"],
}
VERBS = {"images": "look", "text": "generate", "table": "predict", "without attention": "look"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data of three kinds."""
    folder = tmp_path_factory.mktemp("place")
    photos(folder / "my photos", ("cat", "dog"), count=20)
    (folder / "book.txt").write_text(BOOK, encoding="utf-8")
    table(folder / "reviews.csv", header="review,stars", count=60)
    return folder


@pytest.fixture
def here(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("REGARD_CACHE", str(place / "cache"))
    return place


def ask(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    assert code == 0, (words, err)
    return out


@pytest.fixture(params=JOBS)
def job(request, here, capsys):
    """A job's name, its run, and what training said, which happens once."""
    name = request.param
    run, said = Path(f"the {name} run"), here / f"{name}.log"
    if not run.exists():
        size = SHORT if name != "without attention" else SHORT[:4]
        said.write_text(ask(capsys, "train", *JOBS[name], *size, "--out", str(run), "--device", "cpu"))
    return name, run, said.read_text()


def test_a_short_run_has_a_curve_and_a_best_model(job):
    name, run, said = job
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [row["step"] for row in rows if row["kind"] == "validation"]
    assert len(steps) >= 4
    assert steps == sorted(set(steps))
    assert steps[-1] == 30
    if name != "text":
        assert re.search(r"note: \d+ held out for validation, each worth \d+ % of accuracy", said)
    if name == "images":
        assert "; 2 classes, pictures as 8×8, in colour" in said


def test_what_is_said_at_the_end_works_as_it_stands(job, capsys):
    name, run, said = job
    commands = re.findall(r"^next: regard (.+)$", said, re.MULTILINE)
    assert [split(one)[0] for one in commands] == [VERBS[name], "eval"]
    for command in commands:
        assert split(command)[1] == str(run)
        ask(capsys, *split(command))


def test_every_verb_takes_the_run(job, capsys, here):
    name, run, _ = job
    run, is_text = str(run), name == "text"
    ask(capsys, "eval", run)
    picture = "my photos/cat/3.png"
    given = {"text": "Es war", "table": "this is text 7"}.get(name, picture)
    ask(capsys, "look", run, given, "--out", f"look {name}")
    assert (here / f"look {name}" / "look.html").stat().st_size > 1000
    if is_text:
        assert ask(capsys, "generate", run, "--prompt", "Es war", "--tokens", "5").startswith("Es war")
    else:
        found = json.loads(ask(capsys, "predict", run, given, "--json"))
        assert set(found[0]["probabilities"]) == ({"cat", "dog"} if given == picture else {"good", "bad"})
        ask(capsys, "eval", run, "--report", f"report {name}.html")
    ask(capsys, "cost", run, *(["--tokens", "8"] if name in ("text", "table") else []))
    assert run[:20] in ask(capsys, "runs", ".")
    ask(capsys, "eval", run, "--data", JOBS[name][2], *JOBS[name][3:7] * (name == "table"))


def test_a_run_goes_on(job, capsys):
    _, run, _ = job
    out = ask(capsys, "train", "--resume", "--out", str(run), "--set", "steps=34", "--device", "cpu")
    assert "going on after step 30" in out or "going on after step 34" in out


def test_the_studio_and_the_zoo_take_the_run(job, here, tmp_path):
    name, run, _ = job
    found = gather([run])
    assert found.runs[run.name].kind == {"text": "language", "table": "texts"}.get(name, "images")
    entry = zoo.add(run, name.replace(" ", "-"), folder=tmp_path / "zoo")
    assert f"| data | {JOBS[name][2]} |" in entry.card  # and not where it lies on this machine
    assert str(here) not in entry.card
    assert open_run(run).kind == entry.kind


def test_a_prompt_of_unknown_characters_is_told(here, capsys):
    if not Path("the text run").exists():
        ask(capsys, "train", *JOBS["text"], *SHORT, "--out", "the text run", "--device", "cpu")
    assert main(["generate", "the text run", "--prompt", "Es 日本", "--tokens", "2"]) == 0
    assert "note: 2 of 5 tokens of the prompt are unknown ('日', '本')" in capsys.readouterr().err
    assert main(["generate", "the text run", "--prompt", "日本", "--tokens", "2"]) == 2
    assert "error: all 2 tokens of the prompt are unknown to this model" in capsys.readouterr().err
