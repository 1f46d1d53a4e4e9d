"""Models of one's own for the text tasks: written, read, judged, gone on with, and refused in one line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.cli.main import main
from regard.importing import import_file
from regard.models import load as load_model
from regard.models.files import read_tensors
from regard.models.own_texts import OwnClassifier, OwnLanguageModel
from regard.train import open_run, train
from tests.owning import READERS, fresh
from tests.train import small


@pytest.fixture
def readers(own_place):
    (own_place / "own_readers.py").write_text(READERS, encoding="utf-8")
    return import_file(own_place / "own_readers.py")


def weights(folder):
    return read_tensors(folder / "model" / "model.safetensors")[0]


def language(model, **more):
    recipe = small.language(steps=4, save_every=2, validate_every=2)
    return replace(recipe, task=replace(recipe.task, model=model, **more))


def texts(model, **more):
    recipe = small.texts(steps=4, save_every=2, validate_every=2)
    return replace(recipe, task=replace(recipe.task, model=model, **more))


@pytest.mark.parametrize("name", ["writer", "tied", "Deep"])
def test_a_language_model_is_trained_gone_on_with_and_writes(name, readers, own_place):
    made_by = getattr(readers, name)
    given = {} if name == "Deep" else {"context": 12}
    whole, other = own_place / "whole", own_place / "other"
    for folder in (whole, other):
        train(language(made_by() if name == "Deep" else made_by, **given), folder, device="cpu", quiet=True)
    shutil.rmtree(max((other / "checkpoints").iterdir()))
    shutil.rmtree(other / "model")
    (other / "summary.json").unlink()
    done = fresh(own_place, "train", "--resume", "--out", str(other), "--device", "cpu")
    assert "going on after step 2" in done.stdout, done.stderr
    a, b = weights(whole), weights(other)
    assert a.keys() == b.keys()
    assert all(torch.equal(a[key], b[key]) for key in a)
    run = open_run(whole)
    assert isinstance(run.model, OwnLanguageModel)
    assert run.model.context == 12
    text = run.generate("ROMEO:", 30, seed=3)  # past the context, which slides
    assert text == run.generate("ROMEO:", 30, seed=3)
    assert run.evaluate()["loss"] > 0
    assert run.look(["To be"]).texts


def test_a_classifier_is_trained_and_explains(readers, own_place, capsys):
    train(texts(readers.judge, context=20), own_place / "run", device="cpu", quiet=True)
    run = open_run(own_place / "run")
    assert isinstance(run.model, OwnClassifier)
    assert run.predict(["a wonderful film"])[0].label in run.classes
    assert run.evaluate()["accuracy"] == run.report().scores["accuracy"]
    alone = run.model(torch.tensor([[5, 6, 7]]))
    padded = torch.tensor([[5, 6, 7, 0, 0]])
    assert torch.allclose(
        run.model(padded, segments=torch.tensor([[0, 0, 0, -1, -1]])), alone, atol=1e-6
    )  # what it calls mask reaches it
    back = load_model(own_place / "run" / "model" / "model.safetensors")
    assert back.made_by.facts == {"vocab": run.model.vocab, "context": 20, "classes": len(run.classes)}
    assert main(["predict", "run", "not one dull minute"]) == 0
    capsys.readouterr()
    for words, says in (
        (["export", "run", "out"], "which transformers has not"),
        (["cost", "run"], "it has no price"),
        (["generate", "run", "--prompt", "x"], "which writes no text"),
    ):
        assert main(words) == 2, words
        err = capsys.readouterr().err
        assert says in err
        assert err.count("\n") == 1


def test_by_name_on_the_command_line_with_data_of_ones_own(readers, own_place, capsys, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(own_place / "cache"))
    Path("book.txt").write_text("It was the best of times, it was the worst of times.\n" * 40)
    words = ["train", "shakespeare-char-cpu", "--data", "book.txt", "--set", "model=own_readers:writer"]
    quick = ["--set", "steps=2", "--set", "compile=none", "--device", "cpu", "--out", "run"]
    assert main([*words, *quick]) == 2
    assert "context must be given for a model of one's own, own_readers:writer" in capsys.readouterr().err
    assert main([*words, "--set", "context=16", *quick]) == 0, capsys.readouterr().err
    task = json.loads(Path("run/recipe.json").read_text(encoding="utf-8"))["task"]
    assert task["context"] == 16
    assert main(["generate", "run", "--prompt", "It was", "--tokens", "20"]) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    ("make", "name", "more", "says"),
    [
        (language, "backward", {"context": 8}, "looks ahead: its logits at position 0 change with"),
        (language, "narrow", {"context": 8}, r"must give logits \(2, 8, \d+\), got \(2, 8, 3\)"),
        (language, "deaf", {"context": 8}, r"does not take tokens \(2, 8\)"),
        (language, "judge", {"context": 8}, "must need no arguments but generator, vocab and context"),
        (language, "writer", {}, "context must be given for a model of one's own"),
        (texts, "writer", {"context": 8}, r"must give logits \(2, 2\), got"),
        (texts, "judge", {}, "context must be given for a model of one's own"),
    ],
)
def test_one_that_does_not_fit_is_one_line_and_leaves_nothing(make, name, more, says, readers, own_place):
    with pytest.raises(ValueError, match=says) as raised:
        train(make(getattr(readers, name), **more), own_place / "run", device="cpu", quiet=True)
    assert "\n" not in str(raised.value)
    assert not (own_place / "run").exists()


def test_a_config_says_its_context_itself():
    for recipe in (small.language(), small.texts()):
        with pytest.raises(ValueError, match="the config says it itself, got context=8"):
            train(replace(recipe, task=replace(recipe.task, context=8)), "run", device="cpu", quiet=True)
        with pytest.raises(ValueError, match="context must be"):
            replace(recipe.task, context=0)
