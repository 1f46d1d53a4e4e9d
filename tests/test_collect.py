"""Run folders become the result files that the site reads, in the format of those that are there."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from regard.pattern import Causal, Strided
from regard.recipes import get
from regard.train import load_run, override, train
from tests.train.small import images, language, texts

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def collect():
    spec = importlib.util.spec_from_file_location("collect", ROOT / "benchmarks" / "collect.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def two_seeds(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("runs") / str(seed) for seed in (1, 0)]
    for folder, seed in zip(folders, (1, 0), strict=True):
        train(images(seed=seed), folder, device="cpu", quiet=True)
        load_run(folder).evaluate(test=True)
    return folders


def test_seeds_are_merged_in_the_format_of_the_files_that_are_there(collect, two_seeds, tmp_path, capsys):
    collect.main([*map(str, two_seeds), "--out", str(tmp_path)])
    path = tmp_path / "small-images.json"
    assert capsys.readouterr().out == f"{path}\n"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [run["seed"] for run in found["runs"]] == [0, 1]
    assert found["note"].startswith("model chosen on the held-out 10 % of the training part; test part")
    for name in ("vit-cifar10", "vit-fashion-mnist"):
        stored = json.loads((collect.RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        assert set(stored) <= set(found)
        assert set(stored["runs"][0]) <= set(found["runs"][0])
    run = found["runs"][0]
    assert run["steps"] == 24
    assert [point["step"] for point in run["validation_trace"]] == [8, 16, 24]
    seconds = [point["seconds"] for point in run["validation_trace"]]
    assert 0 < seconds[0] < seconds[1] < seconds[2] <= run["seconds"]["training"]
    assert run["validation"]["accuracy"] == max(point["accuracy"] for point in run["validation_trace"])


def test_tokens_and_texts_have_their_own_units(collect, tmp_path):
    train(language(), tmp_path / "language", device="cpu", quiet=True)
    with pytest.raises(ValueError, match="play has no test part"):
        load_run(tmp_path / "language").evaluate(test=True)
    (tmp_path / "language" / "test.json").write_text('{"loss": 1.0}')  # what versions of old wrote
    _, found = collect.collect([tmp_path / "language"])
    summary = json.loads((tmp_path / "language" / "summary.json").read_text(encoding="utf-8"))
    run = found["runs"][0]
    assert run["tokens_per_second"] == 16 * summary["examples_per_second"]
    assert "test" not in run
    train(texts(), tmp_path / "texts", device="cpu", quiet=True)
    _, found = collect.collect([tmp_path / "texts"])
    assert found["runs"][0]["texts_per_second"] > 0
    assert 2 < found["tokens_per_text"] <= found["model"]["config"]["context"]


def test_changes_are_written_as_they_were_set(collect):
    own = get("shakespeare-char")
    assert collect._changes(own) == []
    pattern = Strided(64) & Causal()
    changed = replace(own, task=replace(own.task, model=replace(own.task.model, pattern=pattern)))
    assert collect._changes(changed) == ["task.model.pattern=strided(64) & causal"]
    assert collect._changes(own.but(ema=0.5, tf32=False)) == ["tf32=False", "ema=0.5"]
    several = replace(own.task.model, pattern=(Strided(64), Causal()))
    (line,) = collect._changes(replace(own, task=replace(own.task, model=several)))
    assert override(own, [line]).task.model == several


def test_different_runs_are_not_merged(collect, two_seeds, tmp_path):
    train(images(batch=8, steps=2, validate_every=2), tmp_path / "other", device="cpu", quiet=True)
    with pytest.raises(ValueError, match=r"another run than .*: batch, steps, validate_every differ"):
        collect.collect([two_seeds[0], tmp_path / "other"])
    (tmp_path / "other" / "summary.json").unlink()
    with pytest.raises(ValueError, match=r"other is no finished run: summary\.json: No such file"):
        collect.collect([tmp_path / "other"])
