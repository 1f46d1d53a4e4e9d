import json

import pytest

from regard.cli.lesson import lesson
from regard.cli.main import main
from regard.lessons import NAMES


def test_without_a_name_all_are_listed(capsys):
    lesson(None)
    out = capsys.readouterr().out
    assert all(name in out for name in NAMES)
    lesson(None, as_json=True)
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["lessons"]] == list(NAMES)


def test_in_the_terminal(capsys):
    lesson("rnn-recurrences")
    out = capsys.readouterr().out
    assert "Reading a recurrence off a diagram" in out
    assert "✓" in out
    assert "Your turn" in out
    assert 'regard check rnn-recurrences "state = …"' in out
    assert "in x_1 … x_4)" in " ".join(out.split())
    assert "1 check, every check holds" in out
    assert "sum of the odd positions" in " ".join(out.split())  # not cut off
    assert "x[t]" not in out


def test_a_sheet_of_questions_has_no_solutions(capsys, tmp_path):
    lesson("rnn-recurrences", questions=True)
    out = capsys.readouterr().out
    assert "Write h_4 of h_t" in out
    assert "Proof" not in out
    assert "check holds" not in out
    for kind in ("md", "tex"):
        lesson("counting-attention", questions=True, out=tmp_path / f"sheet.{kind}")
        text = (tmp_path / f"sheet.{kind}").read_text(encoding="utf-8")
        assert "windowed attention, with windows of w tokens" in text
        assert "frac" not in text
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".md", ".tex"]  # no pictures
    capsys.readouterr()
    lesson("counting-attention", questions=True, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["parts"], len(found["exercises"])) == ([], 3)


def test_for_machines(capsys):
    lesson("rnn-recurrences", as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is True
    assert {part["kind"] for part in found["parts"]} >= {"prose", "formula", "check", "table", "picture"}


def test_files(tmp_path, capsys):
    out = tmp_path / "deep" / "lesson.tex"
    lesson("rnn-recurrences", out=out)
    assert out.read_text(encoding="utf-8").startswith("\\documentclass")
    assert (out.parent / "rnn-recurrences-unrolled.pdf").exists()
    lesson("rnn-recurrences", kind="md")
    assert "# Reading a recurrence off a diagram" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "heds"}, "did you mean 'heads'?"),
        ({"name": "heads", "kind": "pdf"}, "format must be one of md, tex, ipynb, got 'pdf'"),
        ({"name": None, "kind": "md"}, "need the NAME of a lesson"),
        ({"name": None, "questions": True}, "need the NAME of a lesson"),
        ({"name": "heads", "kind": "md", "as_json": True}, "exclude each other"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        lesson(**arguments)


def test_the_file_name_says_the_format(tmp_path):
    with pytest.raises(ValueError, match=r"out must end in \.md, \.tex, \.ipynb"):
        lesson("heads", out=tmp_path / "a.pdf")


def test_it_is_a_verb_of_the_command(capsys):
    assert main(["lesson", "--json"]) == 0
    assert "counting-attention" in capsys.readouterr().out
