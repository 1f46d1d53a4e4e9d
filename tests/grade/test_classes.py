"""A class: a row a student, in parallel or not, resumed, and the same for the same seed."""

import csv
import html
import io
import json
import os
import signal
import subprocess
import sys

import pytest

from regard.cli.main import main
from regard.grade import get_task
from regard.grade.classes import as_csv, grade_class, reports_of, submissions
from regard.grade.grading import grade_all
from regard.grade.pages import class_page, student_page
from regard.grade.sources import pieces

RIGHT = "def scalar_rnn(x, w_x, w_h):\n    h, out = 0, []\n    for v in x:\n        h = w_x * v + w_h * h\n        out.append(h)\n    return out\n"
TURNED = RIGHT.replace("return out", "return out[::-1]")


@pytest.fixture
def handed_in(tmp_path, sandbox):
    folder = tmp_path / "handed in"
    folder.mkdir()
    (folder / "ada.py").write_text(RIGHT)
    (folder / "=bob.py").write_text(TURNED)
    (folder / "cy").mkdir()
    (folder / "cy" / "sheet.ipynb").write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": "%time\n" + RIGHT, "outputs": []}]})
    )
    (folder / "dan").mkdir()
    (folder / "eve.py").write_bytes(b"\xff\xfe")
    (folder / "link.py").symlink_to(folder / "ada.py")
    (folder / "cy" / "away.py").symlink_to("/etc/passwd")
    (folder / "nowhere.py").symlink_to("not there")
    (folder / "outside").symlink_to(tmp_path)
    return folder


def test_who_handed_in_what(handed_in):
    assert [one.student for one in submissions(handed_in)] == ["=bob", "ada", "cy", "dan", "eve",
                                                                    "link", "nowhere", "outside"]  # fmt: skip


@pytest.mark.usefixtures("lent")
def test_a_row_a_student_whatever_the_workers(handed_in, tmp_path):
    tasks = [get_task("scalar-rnn")]
    rows = grade_class(handed_in, tmp_path / "one", tasks, workers=1)
    assert {row["student"]: row["points"] for row in rows} == {
        "=bob": 0,
        "ada": 3,
        "cy": 3,
        "dan": 0,
        "eve": 0,
        "link": 0,
        "nowhere": 0,
        "outside": 0,
    }
    assert all(row["most"] == 3 for row in rows)
    faults = {str(row["student"]): str(row["fault"]) for row in rows}
    assert "UTF-8" in faults["eve"]
    assert faults["cy"].startswith("away.py is a link, which is not followed")  # and her notebook counts
    assert all("not followed" in faults[name] for name in ("link", "nowhere", "outside"))
    assert grade_class(handed_in, tmp_path / "two", tasks, workers=2) == rows
    assert grade_class(handed_in, tmp_path / "three", None, workers=2)[1]["points"] == 3


@pytest.mark.usefixtures("lent")
def test_it_goes_on_where_it_was_left(handed_in, tmp_path):
    told: list[object] = []
    tasks = [get_task("scalar-rnn")]
    first = grade_class(handed_in, tmp_path / "out", tasks, tell=lambda row: told.append(row["student"]))
    assert len(told) == 8
    (handed_in / "ada.py").write_text(TURNED)
    (tmp_path / "out" / "cy.json").write_text("{half a file")
    again = grade_class(handed_in, tmp_path / "out", tasks, tell=lambda row: told.append(row["student"]))
    assert sorted(map(str, told[8:])) == ["ada", "cy"]
    assert [row["points"] for row in again] == [0, 0, 3, 0, 0, 0, 0, 0]
    assert [row["points"] for row in first] == [0, 3, 3, 0, 0, 0, 0, 0]


def test_a_task_of_one_s_own_that_has_changed_is_graded_anew(tmp_path, monkeypatch):
    """The results that are kept belong to the text of the task."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.py").write_text(RIGHT)
    own, graded = tmp_path / "own_task.py", []
    text = """
from regard.grade.functions import Functions, function_task

TASK = function_task(name="own", title="Own", skeleton="", parts={}, mistakes=(),
                     functions=Functions(definitions={}, cases=lambda generator: [], spellings={}))
"""

    def noted(submission, *rest):
        graded.append(submission.student)
        return {"student": submission.student, "points": 0, "most": 0, "reports": [], "fault": ""}

    monkeypatch.setattr("regard.grade.classes._graded", noted)
    for source in (text, text, text + "# another rule"):
        own.write_text(source)
        grade_class(tmp_path / "in", tmp_path / "out", [get_task(str(own))])
    assert graded == ["ada", "ada"]


@pytest.mark.usefixtures("lent")
def test_tables_and_pages(handed_in, tmp_path):
    rows = grade_class(handed_in, tmp_path / "out", [get_task("scalar-rnn")])
    lines = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert lines[0]["student"] == "'=bob"  # no formula for a spreadsheet
    assert lines[0]["mistakes"] == "scalar-rnn: states-reversed"
    page = student_page(rows[0])
    assert "<svg" in page
    assert "from the last to the first" in page
    assert "=bob" in class_page(rows)
    assert next(reports_of(rows[0]))["file"] == "=bob.py"


@pytest.mark.usefixtures("lent")
def test_whoever_has_no_points_is_told_why(tmp_path, sandbox):
    """In the table and on the page of the class, too."""
    folder = tmp_path / "handed in"
    folder.mkdir()
    for name, source in {"empty": "", "left": "import os\nos._exit(3)", "torn": "def scalar_rnn(x:"}.items():
        (folder / f"{name}.py").write_text(source)
    rows = grade_class(folder, tmp_path / "out", [get_task("scalar-rnn")])
    whys = {line["student"]: line["why"] for line in csv.DictReader(io.StringIO(as_csv(rows)))}
    assert whys["empty"] == "scalar-rnn: nothing in the file is called scalar_rnn"
    assert "exit code 3" in whys["left"]
    assert "SyntaxError" in whys["torn"]
    assert all(html.escape(why) in class_page(rows) for why in whys.values())


def test_a_notebook_keeps_its_cells_and_their_numbers(tmp_path, sandbox):
    codes = ["import math\nfiles = !ls\nw = %time 1 + 1\nq = %sql select", RIGHT + "files == [] and q", "y = (", "\nfiles[7]",
             "def f():\n    return 1\nbreak"]  # fmt: skip
    path = tmp_path / "sheet.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": code} for code in codes]}))
    assert pieces(path)[0].split("\n")[1:] == ["files = []", "w = 1 + 1", "q = None"]
    (report,) = grade_all(path, [get_task("scalar-rnn")], sandbox=sandbox)
    assert report.right
    assert report.notes == (
        "line 1 of code cell 3 raises SyntaxError: '(' was never closed",
        "line 2 of code cell 4 raises IndexError: list index out of range",
        "line 3 of code cell 5 raises SyntaxError: 'break' outside loop",
    )
    path.write_text(
        json.dumps(
            {
                "cells": [
                    {"cell_type": "code", "source": code} for code in ("", "def scalar_rnn(*a):\n    1/0")
                ]
            }
        )
    )
    (report,) = grade_all(path, [get_task("scalar-rnn")], sandbox=sandbox)
    assert report.says == "it raises ZeroDivisionError: division by zero (line 2 of code cell 2)"


def test_a_stop_says_how_far_it_came(tmp_path, sandbox):
    """Ctrl-C in a terminal reaches all processes of the command; no kept row may suffer from it."""
    folder = tmp_path / "handed in"
    folder.mkdir()
    for name in ("ada", "bob", "cy", "dan"):
        (folder / f"{name}.py").write_text("import time\ntime.sleep(1.5)\n" + RIGHT)
    start = (  # a shell's background jobs, as this test may be one, are started deaf to SIGINT
        "import signal, sys; from regard.cli.main import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main(sys.argv[1:]))"
    )
    given = ["grade", "scalar-rnn", str(folder), "--out", str(tmp_path / "out"), "--workers", "1"]
    call = [sys.executable, "-c", start, *given]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "ada: 3 of 3\n"
        os.killpg(running.pid, signal.SIGINT)
        said = running.stderr.read()
    assert running.returncode == 130
    kept = sorted(json.loads(path.read_text())["points"] for path in (tmp_path / "out").glob("*.json"))
    assert set(kept) == {3}
    assert 1 <= len(kept) < 4
    assert said.endswith(
        f"stopped: {len(kept)} of 4 are done and kept in {tmp_path / 'out'}; the same call goes on from there\n"
    )


def test_without_a_task_what_the_file_defines_itself_is_graded(sandbox):
    model = "class DialogueGPT(nn.Module):\n    def forward(self, x, mask=None):\n        return AttentionHead(1, 1, 1)(x)\n"
    source = (
        "from torch import nn\nfrom torch.nn import Transformer\nclass AttentionHead(nn.Module): pass\n"
        + model
    )
    reports = grade_all(source, sandbox=sandbox)
    assert [report.task for report in reports] == ["attention-head", "dialogue-gpt"]
    assert (
        reports[0]
        .notes[0]
        .startswith("AttentionHead is graded because the file defines it, though its DialogueGPT uses")
    )
    assert not any("graded because" in note for note in reports[1].notes)
    with_it = grade_all(source + "    def generate(self, x, n): return x\n", sandbox=sandbox)
    assert {report.task for report in with_it} == {"attention-head", "dialogue-gpt", "generate"}


def test_a_file_in_another_encoding_is_told_how_to_be_saved(tmp_path):
    path = tmp_path / "old.py"
    path.write_bytes("x = 1\n# für".encode("latin-1"))
    with pytest.raises(ValueError, match="line 2: no UTF-8 text; save it once more with the encoding UTF-8"):
        pieces(path)


def test_from_the_command_line(handed_in, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["grade", "scalar-rnn", str(handed_in), "--csv", "grades.csv", "--html", "--out", "out"]
    assert main(given) == 0
    assert "ada" in capsys.readouterr().out
    assert (tmp_path / "grades.csv").read_text().count("\n") == 9
    assert (tmp_path / "out" / "index.html").exists()
    assert (tmp_path / "out" / "ada.html").exists()
    assert main([*given, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["students"]) == 8
