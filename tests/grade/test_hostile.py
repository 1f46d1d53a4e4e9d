"""Submissions that mean harm: nothing outside changes, the run goes on, and each is reported."""

import json
import socket
from pathlib import Path

import pytest

import regard
from regard.grade import get_task
from regard.grade.grading import grade_all
from regard.grade.sandbox import Limits, NoIsolation, Sandbox
from tests.grade.hostile import FILES

GOOD = "def count_autoregressive(n): return n * (n + 1) // 2\n"


@pytest.fixture(scope="module")
def strict():
    with Sandbox(Limits(call=1.5, whole=5.0, memory=1 << 29)) as found:
        try:
            found.guest([""]).close()
        except NoIsolation as error:
            pytest.skip(str(error))
        yield found


@pytest.fixture(scope="module")
def listening():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.05)
        yield server


def state(folder: Path) -> list[tuple[str, int, bytes]]:
    return [
        (one.name, one.stat().st_mode, one.read_bytes() if one.is_file() else b"")
        for one in [folder, *sorted(folder.rglob("*"))]
    ]


def test_there_are_thirty_of_them():
    assert len(FILES) >= 30


@pytest.mark.parametrize("name", FILES)
def test_nothing_outside_changes_and_it_is_reported(name, strict, listening, tmp_path):
    (tmp_path / "precious").write_text("precious")
    before = state(tmp_path)
    given = f"OUTSIDE, PORT, PACKAGE = {str(tmp_path)!r}, {listening.getsockname()[1]}, {str(Path(regard.__file__).parent)!r}\n"
    (report,) = grade_all(given + FILES[name], [get_task("counting")], sandbox=strict)
    assert state(tmp_path) == before
    with pytest.raises(TimeoutError):
        listening.accept()
    assert not report.right
    assert report.points < report.most
    assert report.says
    assert len(str(report)) < 5000
    (after,) = grade_all(GOOD, [get_task("counting")], sandbox=strict)  # the run goes on
    assert after.parts[0].points == 1


def test_a_definition_before_the_harm_still_counts(strict):
    (report,) = grade_all(GOOD + "exit()\n", [get_task("counting")], sandbox=strict)
    assert report.parts[0].points == 1
    assert "SystemExit" in " ".join(report.notes)


def test_what_happened_is_named(strict):
    def said(name: str) -> str:
        given = f"OUTSIDE, PORT, PACKAGE = '/', 1, {str(Path(regard.__file__).parent)!r}\n"
        (report,) = grade_all(given + FILES[name], [get_task("counting")], sandbox=strict)
        return str(report)

    assert "longer than" in said("endless loop")
    assert "exit code" in said("os._exit")
    assert "holds the answers" in said("imports the answers")
    assert "printed" in said("prints a gigabyte")
    assert "PermissionError" in said("fork bomb")
    assert "Memory" in said("fills the memory")


def test_no_command_of_a_terminal_reaches_it(strict):
    escape = "\\x1b[2Jshown\\x9b31m\\r\\nsecond"
    said = f'class E(Exception): pass\nE.__name__ = "\\x1b[1m"\nerror = E("{escape}")\n'
    for source in ("raise error\n", "def count_autoregressive(n): raise error\n"):
        (report,) = grade_all(said + source, [get_task("counting")], sandbox=strict)
        assert "shown" in str(report)
        assert all(one.isprintable() for one in str(report).split("\n"))
        assert not {"\x1b", "\x9b", "\r"} & set(json.dumps(report.as_dict(), ensure_ascii=False))
        assert "\\u001b" not in json.dumps(report.as_dict())


def test_without_isolation_it_is_refused(monkeypatch):
    monkeypatch.setattr("sys.platform", "plan9")
    with pytest.raises(NoIsolation, match="plan9"):
        grade_all(GOOD, [get_task("counting")])
