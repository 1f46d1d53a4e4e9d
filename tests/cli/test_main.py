import json
import resource
import subprocess
import sys

import pytest

import regard
from regard.cli.main import app, main

VERBS = [command.name or command.callback.__name__ for command in app.registered_commands]


def test_the_verbs():
    assert {"draw", "count", "tour"} <= set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_an_example(verb, capsys):
    assert main([verb, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"Example: regard {verb}" in out
    assert "--json" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count"], "Missing argument 'PATTERN'"),
        (["nonsense"], "No such command 'nonsense'"),
        (["count", "causal", "--nonsense"], "No such option: --nonsense"),
        (["count", "causal", "-n"], "requires an argument"),
        (["count", "causal", "-n", "many"], "n must be a whole number such as 4096, 64k or 1M, got n='many'"),
        (["count", "causal", "-n", "4", "-m", "3"], "n ≤ m is needed, got n=4, m=3"),
        (["count", "documents((2, 3))", "-n", "6"], "covers 5 positions, got n=6"),
        (["draw", "causal", "--out", "picture.gif"], "out must end in .svg or .png, got out='picture.gif'"),
        (["draw", "causal", "--out", "no/such/folder/picture.svg"], "No such file or directory"),
    ],
)
def test_errors_are_one_line_with_exit_code_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_fault_in_a_pattern_is_shown_with_its_caret(capsys):
    assert main(["count", "causal & strid(3)"]) == 2
    first, shown, caret, names, end = capsys.readouterr().err.split("\n")
    assert first == "error: no pattern is called 'strid'; did you mean 'strided'?"
    assert shown == "  causal & strid(3)"
    assert caret == "           ^"
    assert names.startswith("patterns: axial, ")
    assert end == ""


def test_without_a_verb_there_is_help(capsys):
    assert main([]) == 0
    assert "Usage: regard" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == regard.__version__


LIGHT = """
import contextlib, io, json, os, sys
import regard
before = set(sys.modules)
from regard.cli.main import main

def call(*words, **environment):
    os.environ |= environment
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        with contextlib.suppress(SystemExit):
            main(words)
    for name in environment:
        del os.environ[name]
    return shown.getvalue()

HEAVY = {"torch", "numpy", "sympy", "matplotlib", "transformers", "uvicorn", "tokenizers", "PIL"}
assert not HEAVY & before
for words in json.loads(sys.argv[1]):
    shown = call(*words)
    assert shown, words
    assert not HEAVY & set(sys.modules), (words, HEAVY & set(sys.modules))
for typed, found in (
    ("regard tr", "train"),
    ("regard train --res", "--resume"),
    ("regard predict zoo:verd", "zoo:verdicts-encoder"),
    ("regard eval runs/one --device m", "mps"),
):
    typed = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    assert found in call(_REGARD_COMPLETE="complete_bash", **typed).split(), typed
    assert not HEAVY & set(sys.modules), typed
assert "58" in call("count", "strided(3)")
assert "torch" in sys.modules  # so it would have been seen
"""


def test_help_version_slips_and_completion_come_without_torch():
    words = [["--help"], ["--version"], [], ["trian"], *([verb, "--help"] for verb in VERBS)]
    command = [sys.executable, "-c", LIGHT, json.dumps(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.alone
def test_help_takes_little_time():
    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "regard", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.4


def test_as_a_module_and_without_a_traceback():
    command = [sys.executable, "-m", "regard", "count", "strided(-1)", "-n", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: back must be at least 0, got back=-1\n")
    assert "Traceback" not in done.stderr


def test_a_reader_that_stops_early_is_no_error():
    command = f"{sys.executable} -m regard draw causal -n 90 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("#...")
    assert done.stderr == ""
