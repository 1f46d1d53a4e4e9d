import pytest
import typer
from typer.testing import CliRunner

from regard.cli.studio import studio

pytest.importorskip("gradio", reason="the studio is not installed: pip install 'regard[studio]'")


def call(*words):
    app = typer.Typer()
    app.command()(studio)
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_stranger_needs_a_token():
    done = call("--host", "0.0.0.0")
    assert isinstance(done.exception, ValueError)
    assert "a token is required" in str(done.exception)
    done = call("--host", "0.0.0.0", "--token", "short")
    assert "at least 12 plain characters" in str(done.exception)


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


def test_the_address_is_said(monkeypatch, capsys):
    told = {}

    def serve(host, port, token, runs, say):
        told.update(host=host, port=port, token=token, runs=runs)
        say("http://127.0.0.1:1/")

    monkeypatch.setattr("regard.studio.serve", serve)
    assert (
        call("--port", "1", "--run", "a", "--run", "b", "--json").output
        == '{"address": "http://127.0.0.1:1/"}\n'
    )
    assert [str(run) for run in told["runs"]] == ["a", "b"]
    assert "The studio is at http://127.0.0.1:1/" in call("--port", "1").output
