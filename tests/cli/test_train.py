import json

import pytest

from regard.cli.main import main

QUICK = ["--set", "model.depth=1", "--set", "model.width=8", "--set", "steps=3", "--device", "cpu"]


def test_it_trains_and_goes_on(tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main(["train", "digits-vit", "--out", out, "--json", *QUICK]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["steps"], found["recipe"]) == (3, "digits-vit")
    assert main(["train", "digits-vit", "--out", out, *QUICK]) == 2
    assert "add --resume to go on" in capsys.readouterr().err
    assert main(["train", "--resume", "--out", out, "--device", "cpu"]) == 0
    assert "going on after step 3" in capsys.readouterr().out


def test_it_begins_or_goes_on_by_itself_and_a_new_one_begins_with_it(tmp_path, capsys):
    out, other = str(tmp_path / "run"), str(tmp_path / "other")
    for said in ("digits-vit: ", "going on after step 3"):
        assert main(["train", "digits-vit", "--resume", "auto", "--out", out, *QUICK]) == 0
        assert said in capsys.readouterr().out
    assert main(["train", "--resume", "digits-vit", "--out", out, *QUICK]) == 0  # no word of its own
    capsys.readouterr()
    assert main(["train", "--resume", "--out", out, "--set", "batch=32", "--device", "cpu"]) == 2
    assert "another recipe: batch differs" in capsys.readouterr().err
    words = ["train", "--from", f"{out}:3", "--set", "steps=5", "--set", "batch=32", "--out", other]
    assert main([*words, "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train"], "name a RECIPE, or --resume with --out"),
        (["train", "digit-vit"], "did you mean 'digits-vit'?"),
        (["train", "digits-vit", "--set", "model.dept=2"], "did you mean 'depth'?"),
        (["train", "digits-vit", "--minutes", "0"], "a run must not be empty"),
        (["train", "--resume", "--out", "nowhere"], "nowhere holds no run"),
        (["train", "digits-vit", "--device", "tpu"], "tpu"),
        (["train", "--from", "nowhere:3", "--out", "new"], "--from must name a run with a checkpoint"),
        (["train", "digits-vit", "--resume", "--from", "a:3"], "give one of them"),
    ],
)
def test_errors_are_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_recipes_are_listed(capsys):
    assert main(["train", "--list", "--json"]) == 0
    assert "digits-vit" in json.loads(capsys.readouterr().out)
