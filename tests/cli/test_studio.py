import pytest
import typer
from typer.testing import CliRunner

from regard.cli.studio import studio

pytest.importorskip("uvicorn", reason="the studio is not installed: pip install 'regard[studio]'")


def call(*words):
    app = typer.Typer()
    app.command()(studio)
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def told(monkeypatch):
    """What the studio would be started with."""
    found = {}

    def serve(host, port, token, runs, say, listed):
        found.update(host=host, port=port, token=token, runs=runs, listed=listed)
        say("http://127.0.0.1:1/")

    monkeypatch.setattr("regard.studio.serve", serve)
    monkeypatch.delenv("REGARD_STUDIO_TOKEN", raising=False)
    return found


def test_a_stranger_needs_a_token(told):
    call()
    assert told["token"] is None
    tokens = []
    for _ in range(2):
        call("--host", "0.0.0.0")
        tokens.append(told["token"])
    assert tokens[0] != tokens[1]  # made up, and no two alike
    assert min(map(len, tokens)) >= 20


def test_a_token_comes_from_a_file_or_the_environment(told, monkeypatch, tmp_path):
    done = call("--token", "correct horse battery")
    assert str(done.exception) == (
        "everybody on this machine can read a token on the command line: put it into a file and give "
        "--token-file FILE, or into the variable REGARD_STUDIO_TOKEN"
    )
    assert told == {}
    (tmp_path / "secret").write_text("correct horse battery\n")
    call("--token-file", tmp_path / "secret")
    assert told["token"] == "correct horse battery"
    monkeypatch.setenv("REGARD_STUDIO_TOKEN", "another horse entirely")
    call("--host", "0.0.0.0")
    assert told["token"] == "another horse entirely"
    done = call("--token-file", tmp_path / "none")
    assert "none cannot be read: No such file or directory" in str(done.exception)


def test_a_token_must_be_long(monkeypatch):
    monkeypatch.setenv("REGARD_STUDIO_TOKEN", "short")
    assert "at least 12 plain characters" in str(call("--host", "0.0.0.0").exception)


def test_a_run_that_is_none(tmp_path):
    done = call("--port", "0", "--run", tmp_path)
    assert "holds no run" in str(done.exception)


def test_a_port_that_is_taken():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = call("--port", taken.getsockname()[1])
    assert "cannot be used" in str(done.exception)


def test_the_address_is_said(told):
    assert (
        call("--port", "1", "--run", "a", "--run", "b", "--json").output
        == '{"address": "http://127.0.0.1:1/"}\n'
    )
    assert [str(run) for run in told["runs"]] == ["a", "b"]
    assert "The studio is at http://127.0.0.1:1/" in call("--port", "1").output
