"""`regard studio`: patterns, costs, models and attention in a browser."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import AsJson, print_json

VARIABLE = "REGARD_STUDIO_TOKEN"
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help=f"Holds what visitors must know; or put it into {VARIABLE}. Where others can reach the page and "
        "there is neither, a token is made up and printed.",
    ),
]
Token = Annotated[str | None, typer.Option("--token", hidden=True)]
Runs = Annotated[
    list[Path] | None, typer.Option("--run", metavar="FOLDER", help="A run to show; may be given often.")
]
Listed = Annotated[
    Path | None,
    typer.Option(
        "--runs",
        metavar="FOLDER",
        help="Whose runs, finished or not, can be watched and opened; else the folder runs, if there is one.",
    ),
]
USUAL = Path("runs")


def studio(
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 7860,
    token_file: TokenFile = None,
    token: Token = None,
    run: Runs = None,
    runs: Listed = None,
    as_json: AsJson = False,
) -> None:
    """Open the studio, a local web page; it needs no network and lasts until Ctrl-C.

    Example: regard studio --run runs/digits-vit
    """
    from regard.studio import serve

    if token is not None:
        raise ValueError(
            "everybody on this machine can read a token on the command line: put it into a file and give "
            f"--token-file FILE, or into the variable {VARIABLE}"
        )

    def say(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            print(f"The studio is at {address} (Ctrl-C ends it)")
        sys.stdout.flush()  # whoever waits for the address may read a pipe

    listed = USUAL if runs is None and USUAL.is_dir() else runs
    serve(host, port, _token(token_file, host), [] if run is None else run, say, listed)


def _token(file: Path | None, host: str) -> str | None:
    """What visitors must know: from the file, from the variable, or made up where strangers could come."""
    from regard.studio.guard import loopback

    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ValueError(f"--token-file {file} cannot be read: {why}") from error
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    return None if loopback(host) else secrets.token_urlsafe(16)
