"""`--start`: a run that begins with the weights of another model."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

from regard.cli.main import main
from regard.data import Augment, Images
from regard.data.sets import EMBEDDED, load
from regard.models import ViT
from regard.train import Start, TaskSetting, open_run, read_recipe, train
from regard.train.beginning import Begin, head_of, take, with_start
from tests.train import small

QUICK = ["--set", "model.depth=1", "--set", "model.width=8", "--set", "steps=4", "--device", "cpu"]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first") / "run"
    train(small.images(steps=2), folder, device="cpu", quiet=True)
    return folder


def digits_with(classes: tuple[str, ...]) -> Images:
    """The first digits alone, under other names."""
    found = load("digits")
    parts = (
        part.take((part.labels < len(classes)).nonzero().flatten()) for part in (found.train, found.test)
    )
    return replace(found, name="named", classes=classes, train=next(parts), test=next(parts))


def on(data, classes, start, **changes):
    recipe = small.images(steps=2, **changes)
    model = replace(recipe.task.model, classes=classes)
    augment = Augment(classes=classes, mean=(0.3,), std=(0.4,))
    return with_start(
        replace(recipe, task=replace(recipe.task, data=data, model=model, augment=augment)), str(start)
    )


def test_everything_fits_and_is_taken(first, tmp_path, capsys):
    recipe = with_start(small.images(steps=2), str(first))
    train(recipe, tmp_path / "run", device="cpu")
    count = len(open_run(first).model.state_dict())
    assert f"{count} of {count} tensors taken; nothing is new" in capsys.readouterr().out
    assert read_recipe(tmp_path / "run").before == Start(model=str(first))
    kept = json.loads((tmp_path / "run" / "start" / "start.json").read_text(encoding="utf-8"))
    assert (len(kept["taken"]), kept["new"], kept["model"]) == (count, [], str(first))


@pytest.mark.parametrize("classes", [("a", "b", "c"), tuple("abcdefghij")])
def test_a_head_of_other_classes_is_new(classes, first, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(EMBEDDED, "named", lambda: digits_with(classes))
    train(on("named", len(classes), first), tmp_path / "run", device="cpu")
    assert "new: head.weight, head.bias" in capsys.readouterr().out


def test_the_weights_are_those_of_the_start(first):
    source, model = open_run(first).model, ViT(small.images().task.model)
    task = small.images().task
    built = task.build(TaskSetting(torch.device("cpu"), 0))
    found = take(Begin("it", source), model, built)
    assert all(torch.equal(source.state_dict()[name], model.state_dict()[name]) for name in found["taken"])
    assert head_of(model, 10) == {"head.weight", "head.bias"}
    assert head_of(model, 11) == set()


def test_where_nothing_fits_it_is_refused_and_nothing_is_left(first, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for start in ("zoo:play-gpt", str(first)):
        assert main(["train", "digits-vit", *QUICK, "--start", start, "--out", "run"]) == 2
        err = capsys.readouterr().err
        assert "of which nothing fits this ViT: " in err
        assert err.count("\n") == 1
        assert not (tmp_path / "run").exists()
    for start, says in (
        ("nowhere", "--start must be a run's folder"),
        ("zoo:nothing", "the zoo has no model"),
    ):
        assert main(["train", "digits-vit", *QUICK, "--start", start, "--out", "run"]) == 2
        assert says in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


def test_it_goes_on_bit_for_bit_without_its_start(first, tmp_path):
    start = tmp_path / "start"
    shutil.copytree(first, start)
    recipe = with_start(small.images(steps=10), str(start))
    whole, other = tmp_path / "whole", tmp_path / "other"
    for folder in (whole, other):
        train(recipe, folder, device="cpu", quiet=True)
    for path in sorted((other / "checkpoints").iterdir())[1:]:
        shutil.rmtree(path)
    shutil.rmtree(start)  # what was taken is in the checkpoint
    train(recipe, other, device="cpu", quiet=True, resume=True)
    a, b = (open_run(folder).model.state_dict() for folder in (whole, other))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_the_tokenizer_comes_along(tmp_path, capsys):
    train(small.language(steps=2), tmp_path / "first", device="cpu", quiet=True)
    recipe = with_start(small.language(steps=6), str(tmp_path / "first"))
    train(recipe, tmp_path / "run", device="cpu")
    assert "nothing is new" in capsys.readouterr().out
    assert (tmp_path / "run" / "start" / "tokenizer.json").exists()
    train(recipe.but(steps=8), tmp_path / "run", device="cpu", quiet=True, resume=True)
    assert open_run(tmp_path / "run").evaluate()["loss"] > 0


@pytest.mark.parametrize("model", ["", None, 3])
def test_a_start_has_a_name(model):
    with pytest.raises(ValueError, match="model must be a run's folder"):
        Start(model=model)
