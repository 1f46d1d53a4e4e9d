"""Models and tasks of one's own in the loop, processes that find them, and runs that must not be believed."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image

from regard.cli.main import main
from regard.data import load
from regard.models.files import read_tensors
from regard.pattern import Atom
from regard.train import list_runs, open_run, train
from regard.train.finding import find_recipe
from tests.owning import fresh, wrote
from tests.train import small

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "own-task.md"


def trained(folder, model="small"):
    train(wrote(folder, model), folder / "run", device="cpu", quiet=True)
    return folder / "run"


def forget(monkeypatch, folder):
    """As a new process of another user: nothing of a folder is loaded, or known, or vouched for."""
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]
    for name in [name for name in Atom.registry if name.startswith("own_")]:
        del Atom.registry[name]
    monkeypatch.setattr("regard.trust._VOUCHED", set())
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "another"))
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(folder)])


def weights(folder):
    return read_tensors(folder / "model" / "model.safetensors")[0]


def test_a_fresh_process_elsewhere_goes_on_bit_for_bit(own_place):
    recipe = find_recipe(wrote(own_place))
    whole, other, away = own_place / "whole", own_place / "other", own_place / "away"
    away.mkdir()
    for folder in (whole, other):
        train(recipe, folder, device="cpu", quiet=True)
    shutil.rmtree(max((other / "checkpoints").iterdir()))  # as if it had been killed after step 4
    shutil.rmtree(other / "model")
    (other / "summary.json").unlink()
    torch.manual_seed(99)  # dropout of a stranger's draws from torch's own generator
    done = fresh(away, "train", "--resume", "--out", str(other), "--device", "cpu")
    assert "going on after step 4" in done.stdout, done.stderr
    a, b = weights(whole), weights(other)
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_it_is_used_and_says_what_it_cannot(own_place, capsys):
    run, picture = trained(own_place), own_place / "digit.png"
    Image.fromarray(load("digits").test.images[0, 0].numpy()).save(picture)
    opened = open_run(run)
    assert opened.predict([str(picture)])[0].label in opened.classes
    assert opened.evaluate()["accuracy"] == opened.report().scores["accuracy"]
    assert opened.look([str(picture)]).images is not None
    for words, says in (
        (["export", "run", "out"], "is a Sequential, which transformers has not"),
        (["cost", "run"], "holds a model of one's own, own_nets:small: it has no price"),
        (["cost", "own_recipe.py"], "it has no price"),
        (["generate", "run", "--prompt", "x"], "which writes no text"),
    ):
        assert main(words) == 2
        err = capsys.readouterr().err
        assert says in err
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("needy", "must need no arguments but generator"),
        ("number", "must give an nn.Module, it gave int"),
        ("wrong_size", r"must give logits \(2, 10\) for two pictures, got \(2, 7\)"),
        ("weightless", "without weights that can be trained"),
    ],
)
def test_a_model_that_does_not_fit_leaves_nothing(model, says, own_place):
    with pytest.raises(ValueError, match=says):
        trained(own_place, model)
    assert not (own_place / "run").exists()


def test_someone_elses_run_runs_nothing_unasked(own_place, monkeypatch, capsys):
    trained(own_place)
    ran, nets = own_place / "ran", own_place / "own_nets.py"
    evil = f"open({str(ran)!r}, 'w').close()\n"
    nets.write_text(evil + nets.read_text(encoding="utf-8"), encoding="utf-8")
    forget(monkeypatch, own_place)
    for words in (
        ["eval", "run"],
        ["predict", "run", "x.png"],
        ["look", "run"],
        ["generate", "run", "--prompt", "x"],
        ["export", "run", "out"],
        ["train", "--resume", "--out", "run"],
        ["train", "run/recipe.json", "--out", "new"],
        ["train", "--from", "run", "--out", "new"],
        ["train", "digits-vit", "--start", "run", "--out", "new"],
        ["recipe", "run/recipe.json"],
        ["cost", "run/recipe.json"],
    ):
        assert main(words) == 2, words  # from within their folder
        err = capsys.readouterr().err
        assert f"own_nets:small from {own_place}; if you trust it, say --trust" in err, words
        assert err.count("\n") == 1, words
        assert not ran.exists(), words
    assert main(["runs", "."]) == 0
    assert list_runs(own_place)[0].recipe == "mine"
    assert not ran.exists()
    assert main(["eval", "run", "--trust"]) == 0
    assert ran.exists()
    assert main(["eval", "run"]) == 0  # the word was given


def test_a_module_that_is_gone_is_one_line(own_place, monkeypatch, capsys):
    trained(own_place)
    forget(monkeypatch, own_place)
    (own_place / "own_nets.py").unlink()
    assert main(["train", "--resume", "--out", "run"]) == 2
    err = capsys.readouterr().err
    assert f"own_nets:small, but there is no module own_nets here or installed; it was in {own_place}" in err
    assert err.count("\n") == 1


def test_a_pattern_of_ones_own_goes_through_a_run(own_place, monkeypatch, capsys):
    wrote(own_place)
    pattern, away = "own_nets:Around(2) | global(1)", own_place / "away"
    away.mkdir()
    words = ["train", "digits-vit", "--out", "run", "--device", "cpu"]
    for setting in ("model.depth=1", "model.width=8", "steps=2", f"model.pattern={pattern}"):
        words += ["--set", setting]
    assert main(words) == 0
    data = json.loads((own_place / "run" / "recipe.json").read_text(encoding="utf-8"))
    assert data["task"]["model"]["pattern"] == {"pattern": pattern}
    done = fresh(away, "train", "--resume", "--out", "../run", "--set", "steps=3", "--device", "cpu")
    assert "going on after step 2" in done.stdout, done.stderr
    assert str(open_run(own_place / "run").model.config.pattern) == pattern
    forget(monkeypatch, own_place)
    capsys.readouterr()
    assert main(["eval", "run"]) == 2
    assert "own_nets:Around" in capsys.readouterr().err


def test_the_tutorials_task_is_one_short_file_that_runs(own_place, capsys):
    page = TUTORIAL.read_text(encoding="utf-8")
    (source,) = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(source.splitlines()) <= 60
    (own_place / "sums.py").write_text(source, encoding="utf-8")
    assert main(["train", "sums.py", "--json", "--device", "cpu"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["loss"] < 1
    words = ["train", "--resume", "--out", "runs/sums", "--json", "--set", "steps=70", "--device", "cpu"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 70
    assert main(["eval", "runs/sums"]) == 0
    assert "loss" in capsys.readouterr().out
    assert main(["predict", "runs/sums", "x.png"]) == 2
    assert "this model is for sums" in capsys.readouterr().err
    assert main(["train", "sums.py", "--set", "noise=0.1", "--set", "steps=2", "--out", "noisy"]) == 0
    assert json.loads(Path("noisy/recipe.json").read_text(encoding="utf-8"))["task"]["part"] == "sums:Sums"


def test_a_model_is_set_by_its_name(own_place, capsys):
    wrote(own_place)
    quick = ["--set", "steps=2", "--device", "cpu", "--json"]
    assert main(["train", "digits-vit", "--set", "model=own_nets:Wide", "--out", "wide", *quick]) == 0
    data = json.loads(Path("wide/recipe.json").read_text(encoding="utf-8"))
    assert data["task"]["model"] == {"part": "own_nets:Wide", "width": 12}
    words = ["train", "--from", "wide", "--set", "model.width=12", "--set", "steps=3", "--out", "more"]
    assert main([*words, "--device", "cpu"]) == 0
    capsys.readouterr()
    assert main(["train", "digits-vit", "--set", "model=own_nets:Wied", *quick]) == 2
    assert "own_nets has no 'Wied'; did you mean 'Wide'?" in capsys.readouterr().err


def test_what_has_no_name_is_not_trained(own_place):
    recipe = find_recipe(wrote(own_place))
    nameless = replace(recipe, task=replace(recipe.task, model=lambda: torch.nn.Linear(1, 1)))
    with pytest.raises(ValueError, match="only a class or a function at the top of a module has a name"):
        train(nameless, own_place / "run", device="cpu", quiet=True)
    assert not (own_place / "run").exists()
    with pytest.raises(ValueError, match="for a model of one's own, write a task"):
        replace(small.masked().task, model=recipe.task.model)
    for task in (small.language().task, small.texts().task):
        with pytest.raises(ValueError, match="or a function or class outside of regard that makes a model"):
            replace(task, model=3)


def test_what_a_script_defined_is_told_so(own_place, capsys):
    run = trained(own_place)
    for path in (run / "recipe.json", run / "model" / "config.json"):
        path.write_text(path.read_text(encoding="utf-8").replace("own_nets:", "__main__:"), encoding="utf-8")
    assert main(["train", "--resume", "--out", "run", "--trust"]) == 2
    assert "which only the script or notebook that trained it knows" in capsys.readouterr().err


def test_the_users_word_serves_prices_and_starts_too(own_place, monkeypatch, capsys):
    trained(own_place)
    forget(monkeypatch, own_place)
    assert main(["cost", "run/recipe.json", "--trust"]) == 2
    assert "it has no price" in capsys.readouterr().err
    forget(monkeypatch, own_place)
    words = ["train", "own_recipe.py", "--start", "run", "--set", "steps=2", "--device", "cpu"]
    assert main([*words, "--trust", "--out", "second"]) == 0
    assert "tensors taken; nothing is new" in capsys.readouterr().out
    assert main([*words, "--from", "run", "--out", "third"]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_the_function_of_a_data_set_is_code_too(own_place, monkeypatch):
    """A run that names one imports it only where this user has run it."""
    (own_place / "own_set.py").write_text(
        "from regard.data import load\n\n\ndef digits():\n    print('run')\n    return load('digits')\n"
    )
    monkeypatch.syspath_prepend(str(own_place))
    recipe = small.images()
    run = own_place / "run"
    train(replace(recipe, task=replace(recipe.task, data="own_set:digits")), run, device="cpu", quiet=True)
    assert open_run(run).evaluate()
    forget(monkeypatch, own_place)
    with pytest.raises(
        ValueError, match="would import and run code that you have not run before: own_set:digits"
    ):
        open_run(run).evaluate()
    assert "own_set" not in sys.modules
    assert open_run(run, trust=True).evaluate()
