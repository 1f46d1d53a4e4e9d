"""The queue that compares patterns: what ends is kept, what fails is told, no run is made twice."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from regard.pattern import parse
from regard.train import override

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "cheaper.py"
SMALL = (
    *("task.model.heads=6", "task.model.width=24", "task.model.depth=1", "task.model.context=16"),
    *("task.data=play", "task.sample=2", "batch=2", "steps=2", "validate_every=none"),
)


@pytest.fixture(scope="module")
def cheaper():
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        spec = importlib.util.spec_from_file_location("cheaper", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(SCRIPT.parent))


def queue(place: Path, *more: str) -> dict:
    command = [sys.executable, str(SCRIPT), "train", str(place), "--out", str(place / "out")]
    command += ["--work", str(place / "work"), "--beside", "2", "--minutes", "8", "--drain", "0"]
    command += [word for one in SMALL for word in ("--set", one)]
    done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((place / "out" / "cheaper.json").read_text("utf-8"))


def test_a_queue_from_training_to_tables(cheaper, tmp_path):
    names = ["dilated-heads", "dialogue-nanogpt", "strided-32"]
    found = queue(tmp_path, "--groups", "a", "--first", *names)
    assert found["failed"] == []
    runs = {run["variant"]: run for run in found["runs"]}
    assert sorted(runs) == sorted(names)
    for run in runs.values():
        assert run["steps"] == 2
        assert run["validation"]["loss"] > 0
        assert run["date"]
    assert "timing" not in runs["dialogue-nanogpt"]
    for name in ("dilated-heads", "strided-32"):
        assert runs[name]["timing"]["quiet"] is True
        assert runs[name]["timing"]["tokens_per_second"] > 0
    assert (
        "decoding_ms_batch_64" in runs["strided-32"]["timing"]
    )  # heads of their own have no cache to decode
    said = runs["dialogue-nanogpt"]["bits"]
    assert 0 < said["on"] < 21
    assert 0 < said["alone"] < 21

    cheaper.table(tmp_path / "out", tmp_path / "results")
    record = json.loads(
        (tmp_path / "results" / "runs" / "shakespeare-char-strided-32.json").read_text("utf-8")
    )
    assert record["command"] == "regard train shakespeare-char --set 'task.model.pattern=strided(32)'"
    assert record["runs"][0]["validation"] == runs["strided-32"]["validation"]
    stored = json.loads((cheaper.RESULTS / "runs" / "shakespeare-char-strided.json").read_text("utf-8"))
    assert set(stored["runs"][0]) <= set(record["runs"][0])
    known = cheaper.on_record(tmp_path / "results")
    assert {run["variant"] for run in known} == set(names)
    cheaper.table(tmp_path / "out", tmp_path / "results")  # again: nothing twice
    assert len(cheaper.on_record(tmp_path / "results")) == len(known)


def test_records_of_before_are_kept(cheaper, tmp_path):
    def run(seed: int, loss: float) -> dict:
        facts = dict.fromkeys((*cheaper.KEPT, "parameters", "model"), 0)
        return facts | {"seed": seed, "validation": {"loss": loss}, "set": ["task.model.mixer=A('b')"]}

    for runs in ([run(1, 1.5)], [run(0, 1.4), run(2, 1.6)], [run(2, 1.7)], [run(2, 1.7)]):
        found = json.loads(cheaper.recorded(runs, tmp_path / "runs" / "one.json").read_text("utf-8"))
    assert [(one["seed"], one["validation"]["loss"]) for one in found["runs"]] == [
        (0, 1.4),
        (1, 1.5),
        (2, 1.7),
    ]
    assert found["command"] == "regard train shakespeare-char --set \"task.model.mixer=A('b')\""


def test_a_run_that_fails_is_told_and_the_others_go_on(tmp_path):
    first = ("--groups", "a", "--first", "linear", "windowed")
    found = queue(tmp_path, *first, "--set", "task.model.pattern=windowed(4)")
    assert [run["variant"] for run in found["runs"]] == ["windowed"]
    assert {one["run"] for one in found["failed"]} == {"linear-0-256", "linear-0-256-plain"}
    assert "pattern must be Causal() or Full()" in found["failed"][0]["error"]


def test_what_is_wanted_next(cheaper, tmp_path):
    def run(variant: str, seed: int, loss: float, **more: object) -> dict:
        return {"variant": variant, "seed": seed, "context": 256, "validation": {"loss": loss}, **more}

    timing = {"timing": {"tokens_per_second": 1.0}}
    given = SimpleNamespace(
        groups="abc", first=["causal", "linear"], work=tmp_path, out=tmp_path, minutes=1.0
    )
    waits = cheaper.Queue(given, [run("causal", 0, 1.4), run("strided-64", 0, 1.5, **timing)])
    wanted = [str(job) for job in waits.jobs()]
    assert wanted[:2] == ["causal-1-256", "linear-0-256"]  # causal is known and was never timed
    assert wanted[2:] == ["causal-1-256", "strided-64-1-256", "causal-2-256", "strided-64-2-256",
                          "causal-0-1024", "strided-64-0-1024"]  # fmt: skip
    waits.ended = [run(name, 0, 1.3 + 0.01 * i, **timing) for i, name in enumerate(cheaper.COMPARED) if i]
    # By the mean of what is known (strided-64: 1.5 and 1.32), and causal whatever it has.
    assert waits.closest() == ["causal", "strided-32", "strided-128", "windowed"]
    waits.begun = {cheaper.Job("causal", 1), cheaper.Job("linear", 0)}
    assert str(next(waits.jobs())) == "strided-32-1-256"


@pytest.mark.parametrize("name", ["causal", "strided-64", "sinks", "mixed", "linear-decay", "dilated-heads"])
def test_variants_are_what_they_are_called(cheaper, name):
    runs = sys.modules["cheaper_runs"]
    recipe = runs.recipe_of(runs.Job(name, 3, 1024), [])
    assert (recipe.seed, recipe.batch, recipe.steps) == (3, 32, 2000)
    again = override(runs.recipes.get("shakespeare-char"), runs.own_changes(runs.Job(name, 3, 1024)))
    if name == "dilated-heads":
        assert recipe.task.context == 1024
        one = runs.cache_bytes(recipe.task.model)
        wide = runs.cache_bytes(runs.replace(again.task.model, pattern=parse("dilated(64, 4)")))
        assert one < wide
    else:
        assert recipe.but(seed=0) == again
