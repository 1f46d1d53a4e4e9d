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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train"], "name a RECIPE, or --resume with --out"),
        (["train", "digit-vit"], "did you mean 'digits-vit'?"),
        (["train", "digits-vit", "--set", "model.dept=2"], "did you mean 'depth'?"),
        (["train", "digits-vit", "--minutes", "0"], "a run must not be empty"),
        (["train", "--resume", "--out", "nowhere"], "nowhere holds no run"),
        (["train", "digits-vit", "--device", "tpu"], "tpu"),
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
