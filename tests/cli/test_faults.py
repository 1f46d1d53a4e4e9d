"""One clear line for each fault that a new user meets, exit code 2, and JSON where it was asked for."""

import errno
import json
import os

import pytest

from regard.cli.faults import told
from regard.cli.main import main

FAULTS = [
    (["eval", "zoo:dialogue"], "dialogue has no recipe that tells what text was held out"),
    (["cost", "gpt2", "--tokens", "4096"], "end at 1,024, got --tokens 4,096; --set context=4096 prices one"),
    (
        ["cost", "gpt2", "--set", "depth"],
        "--set must be FIELD=VALUE such as depth=6, got 'depth' without a value",
    ),
    (
        ["cost", "--sweep", "n=1k:4k", "--curve", "causal"],
        "a sweep compares curves: give --curve twice or more",
    ),
    (["draw", "strided(3"], "expected ')': a bracket is not closed, at the end of 'strided(3'"),
    (
        ["draw", "causal", "--out", "folder.svg"],
        "folder.svg cannot be used: it is a folder, and a file is wanted",
    ),
    (
        ["draw", "causal", "--out", "no/such/one.svg"],
        "No such file or directory; the folder no/such is not there",
    ),
    (["train", "play-gpt", "--out", "file"], "file cannot be used: it is there already, and is no folder"),
    (["predict", "zoo:sentiment", "folder.svg"], "folder.svg cannot be read: Is a directory"),
    (["cost", "file"], "file is no JSON"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "file").write_text("text")


@pytest.mark.parametrize(
    ("words", "message"), FAULTS, ids=lambda one: " ".join(one) if isinstance(one, list) else ""
)
def test_one_line_and_json(words, message, capsys):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "[Errno" not in err
    assert err.count("\n") == 1
    assert main([*words, "--json"]) == 2
    again = capsys.readouterr()
    assert json.loads(again.out) == {"error": err.removeprefix("error: ").removesuffix("\n")}
    assert again.err == err


def test_what_the_command_line_itself_refuses_is_json_too(capsys):
    assert main(["count", "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {"error": "Missing argument 'PATTERN'."}
    assert main(["count", "strid(3)", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["error"] == "no pattern is called 'strid'; did you mean 'strided'?"
    assert found["details"][1].strip() == "^"


@pytest.mark.parametrize(
    "number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.ENOTDIR, errno.ENAMETOOLONG]
)
@pytest.mark.parametrize("name", [("plot.svg",), ()])
def test_faults_of_files_say_what_to_do(number, name):
    said = told(OSError(number, os.strerror(number), *name))
    assert "[Errno" not in said
    assert "\n" not in said
    assert said.startswith("plot.svg cannot be used: ") == bool(name)


def test_what_stands_in_the_middle_keeps_its_caret():
    from regard.pattern import parse

    with pytest.raises(ValueError, match="no field") as caught:
        parse("causal & strided(size=3) & full")
    assert told(caught.value).split("\n")[1:] == ["  causal & strided(size=3) & full", "                   ^"]
