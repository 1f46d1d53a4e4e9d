import json

import pytest

from regard.cli.main import main
from regard.grade import TASKS, get_task
from tests.grade.conftest import lendable, lent, sandbox  # noqa: F401 - fixtures

pytestmark = pytest.mark.usefixtures("sandbox")
WRONG = "def count_autoregressive(n): return n * n\ndef count_strided(n, t): return n * (t + 1)\n"


def test_a_file_names_its_mistakes(tmp_path, capsys):
    path = tmp_path / "solution.py"
    path.write_text(WRONG)
    assert main(["grade", str(path)]) == 1
    out = capsys.readouterr().out
    assert "n²" in out
    assert "regard lesson counting-attention" in out
    assert main(["grade", "counting", str(path), "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    assert {one["name"] for one in report["mistakes"]} == {"count-square", "border-ignored"}


@pytest.mark.usefixtures("lent")
@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("def count_autoregressive(n:\n    return n", "SyntaxError: '(' was never closed"),
        (
            "import not_there\ndef other(): pass",
            "line 1 raises ModuleNotFoundError: No module named 'not_there'",
        ),
    ],
)
def test_the_headline_is_the_cause(source, cause, tmp_path, capsys):
    path = tmp_path / "solution.py"
    path.write_text(source)
    assert main(["grade", "counting", str(path), "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    assert cause in report["says"].split(";")[0]
    assert "nothing in the file is called count_autoregressive" in report["says"]
    assert not report["notes"]


@pytest.mark.usefixtures("lent")
@pytest.mark.parametrize("task", TASKS)
def test_a_skeleton_is_python_has_the_names_and_solves_nothing(task, capsys, tmp_path):
    assert main(["exercise", task]) == 0
    path = tmp_path / "solution.py"
    path.write_text(capsys.readouterr().out)
    assert main(["grade", task, str(path), "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    assert report["points"] == 0
    assert report["most"] == get_task(task).points
    assert [one["name"] for one in report["mistakes"]] == ["not-done"]
    assert not report["notes"]


@pytest.mark.usefixtures("lent")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "name a solution"),
        (["nowhere.py"], "is not there"),
        (["attention-head"], "a task and a solution"),
        (["atention-head", "x.py"], "attention-head"),
        (["x.txt"], ".ipynb"),
        (["x.py"], "no task is solved"),
    ],
)
def test_what_cannot_be_graded_is_one_line(given, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text("y = 1")
    (tmp_path / "x.txt").write_text("y = 1")
    assert main(["grade", *given]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_the_tasks_are_listed(capsys):
    assert main(["grade", "--list"]) == 0
    assert capsys.readouterr().out.count("\n") == len(TASKS)
    assert main(["grade", "--list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tasks"]) == len(TASKS)
