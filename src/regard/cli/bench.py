"""`regard bench NAME`: ours beside its peers, checked, timed, and written to a file."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from regard import bench as benchmarks
from regard.cli.options import AsJson, DataDir, print_json


def bench(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(benchmarks.NAMES)}.")],
    device: Annotated[
        str, typer.Option(help="cpu or cuda; unset: cuda if there is one.", show_default=False)
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see that it runs.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the plot.")] = Path("benchmarks/results"),
    only: Annotated[
        str, typer.Option(help="Of generate and hub: some parts, as in one,xl.", show_default=False)
    ] = "",
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Time ours beside each peer in one run; nothing that fails its check is timed.

    Example: regard bench attention --device cpu --quick
    """
    parts = only.split(",") if only else []
    with redirect_stdout(sys.stderr if json else sys.stdout):  # rows come as they are; machines read stdout
        report, path = benchmarks.run(
            name, out, device=device, quick=quick, only=parts, data_dir=data_dir, titles=not json
        )
    if json:
        print_json(report.as_dict())
    else:
        print(f"written to {path}")
