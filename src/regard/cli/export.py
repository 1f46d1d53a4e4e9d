"""`regard export RUN --to huggingface FOLDER`: a run as a folder that transformers, vLLM and TGI load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import AsJson, RunName, Trust, print_json

FORMS = ("huggingface",)


def export(
    run: RunName,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write.")],
    to: Annotated[str, typer.Option(help=f"One of: {', '.join(FORMS)}.")] = "huggingface",
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Write weights, config and tokenizer in the form that other programs serve.

    Example: regard export runs/shakespeare-char --to huggingface served/
    """
    if to not in FORMS:
        raise ValueError(f"--to must be one of {', '.join(FORMS)}, got {to!r}")
    from regard.train import open_run
    from regard.train.export import export_huggingface

    found = open_run(run, trust=trust)
    written = export_huggingface(found, folder)
    kind = None if found.tokenizer is None else found.tokenizer.kind
    note = "" if written or kind is None else f"; no tokenizer: transformers has none that reads by {kind}"
    if as_json:
        print_json({"run": run, "folder": str(folder), "to": to, "tokenizer": written})
    else:
        print(f"written to {folder}{note}")
