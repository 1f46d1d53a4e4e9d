"""`regard predict RUN INPUT…`: what a model takes an image or a text for."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from regard.cli.options import AsJson


def predict(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's folder, or zoo:NAME.", show_default=False)
    ],
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Image files, or texts.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Say what each input is, and how likely that is.

    Example: regard predict runs/verdicts-encoder "Not one dull minute."
    """
    from regard.train import predict as ask
    from regard.zoo import open_run

    found = ask(open_run(run), inputs)
    if as_json:
        print(json.dumps([one.as_dict() for one in found], ensure_ascii=False))
        return
    for one in found:
        shown = one.input if len(one.input) <= 60 else f"{one.input[:57]}..."
        print(f"{one.label} {one.probability:.1%}  {shown}" + (f"  ({one.notice})" if one.notice else ""))
