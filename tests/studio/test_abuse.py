"""What a careless or hostile visitor may send: a limit, a message, and a server that stays up."""

import json
import signal
import subprocess
import sys
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from regard.pattern import parse
from regard.studio import limits
from regard.studio.worker import told
from tests.studio.conftest import COMMAND


@pytest.fixture(autouse=True)
def stays_up(studio):
    yield
    assert studio.process.poll() is None
    assert studio.get("/")[0] == 200


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"pattern": "causal" + " | causal" * 1200, "n": 9}, "pattern",
         "may have at most 1,000 characters here, got 10,806"),
        ({"pattern": "~" * 900 + "full", "n": 9}, "pattern", "more than 100 levels"),
        ({"pattern": " | ".join(f"strided({i})" for i in range(20)), "n": 9}, "pattern",
         "at most 8 single values here, got 20"),
        ({"pattern": "causal", "n": 99999999}, "n",
         "n must be a whole number from 1 to 65,536, got 99,999,999"),
        ({"pattern": "causal", "n": -1}, "n", "n must be a whole number from 1 to 65,536"),
        ({"pattern": "causal", "n": "nine"}, "n", "n must be a whole number"),
        ({"pattern": "causal", "n": True}, "n", "n must be a whole number"),
        ({"pattern": "causal"}, "n", "n is missing"),
        ({"pattern": "strided(99999999999999999999)", "n": 9}, "pattern", "back must be at most"),
        ({"pattern": "__import__('os').system('true')", "n": 9}, "pattern",
         "no pattern is called '__import__'"),
        ({"pattern": "axial(3, 4)", "n": 13}, "n", "covers 12 positions"),
        ({"pattern": ["causal"], "n": 9}, "pattern", "pattern must be a text, got list"),
    ],
)  # fmt: skip
def test_wrong_fields_are_named(studio, fields, field, message):
    status, said = studio.ask("patterns/count", **fields)
    assert (status, said["error"]["field"]) == (422, field)
    assert message in said["error"]["message"]
    assert "\n" not in said["error"]["message"]


@pytest.mark.parametrize("body", [b"[1]", b"{", b"\xff", b"null", b"[" * 50_000])
def test_a_question_is_an_object(studio, body):
    assert studio.post("api/patterns/count", body)[0] == 400


def test_what_is_too_long_is_cut_off(studio):
    for size in (limits.BODY + 1, 40_000_000):
        try:
            assert studio.post("api/patterns/count", bytes(size))[0] == 413
        except urllib.error.URLError as error:  # the door was shut before all was said
            assert isinstance(error.reason, ConnectionError)  # noqa: PT017


@pytest.mark.parametrize(
    "path",
    [
        "studio/server.py", "studio/page/../server.py", "studio/page/%2e%2e/server.py",
        "studio/page//etc/passwd", "etc/passwd",
        "studio/page/rooms/..%2f..%2fserver.py", "docs", "openapi.json",
        "api/patterns/count", "api/", "api/patterns/__init__",
        "paper/ink.py", "studio/door.html",
    ],
)  # fmt: skip
def test_paths_lead_nowhere(studio, path):
    status, said = studio.get(path)
    assert status >= 400, said[:200]
    assert "import" not in said


def test_what_is_told_names_no_folder():
    assert (
        told(ValueError("/home/me/runs/a b/x.png and C:\\runs\\y.png are damaged"))
        == "a b/x.png and y.png are damaged"
    )
    assert told(ValueError("1/2 of n/m at http://x/y")) == "1/2 of n/m at http://x/y"
    assert told(ValueError("")) == "ValueError"


def test_foreign_names_are_not_answered(studio):
    assert studio.get("/", Host="evil.example")[0] == 403
    assert studio.get("/", Host="localhost")[0] == 200


def test_pages_of_another_origin_send_nothing(studio):
    for path in ("api/patterns/count", "api/shell/models", "login"):
        status, said = studio.post(path, b"{}", origin="http://evil.example")
        assert (status, said) == (403, "this studio takes nothing from pages of another origin")


def test_sixteen_visitors_at_once(studio):
    def ask(i):
        return studio.ask("patterns/count", pattern="strided(9)", n=40 + i)[1]["pairs"]

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(16))) == [parse("strided(9)").pairs(40 + i) for i in range(16)]


@pytest.mark.parametrize("one", [signal.SIGTERM, signal.SIGINT])
def test_it_leaves_no_process_behind(one):
    command = [sys.executable, "-c", COMMAND, "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    json.loads(process.stdout.readline())
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("this system does not say which processes a process started")
    end = time.monotonic() + 30
    while not (found := children.read_text().split()) and time.monotonic() < end:
        time.sleep(0.05)
    assert found
    process.send_signal(one)
    assert process.wait(20) == 128 + one
    process.stdout.close()
    assert [pid for pid in found if Path(f"/proc/{pid}").exists()] == []


def test_the_page_is_there_before_anything_is_loaded(studio):
    """Start to page in less than 3 s of CPU, the worker not counted: it loads behind the page."""
    code = "import resource, sys, regard.studio.app, regard.studio.server, uvicorn\n"
    code += "regard.studio.app.Page().get('/')\nassert 'torch' not in sys.modules\n"
    code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_utime)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 3
