"""`regard studio`: patterns, costs, models and attention in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import AsJson, print_json

Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="SECRET",
        help="What visitors must know; required where others can reach the page.",
        envvar="REGARD_STUDIO_TOKEN",
        show_default=False,
    ),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option("--run", metavar="FOLDER", help="A run to show; may be given often.", show_default=False),
]


def studio(
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 7860,
    token: Token = None,
    run: Runs = None,
    as_json: AsJson = False,
) -> None:
    """Open the studio, a local web page; it needs no network and lasts until Ctrl-C.

    Example: regard studio --run runs/digits-vit
    """
    from regard.studio import serve

    def say(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            print(f"The studio is at {address} (Ctrl-C ends it)")
        sys.stdout.flush()  # whoever waits for the address may read a pipe

    serve(host, port, token, [] if run is None else run, say)
