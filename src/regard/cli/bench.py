"""`regard bench NAME`: ours beside its peers, checked, timed, and written to a file."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Annotated

import torch
import typer

from regard.cli.benches.harness import HEADER, plot
from regard.cli.options import AsJson, print_json

NAMES = ("attention", "generate", "linear", "models", "recurrence")


def bench(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(NAMES)}.", show_default=False)],
    device: Annotated[
        str, typer.Option(help="cpu or cuda; unset: cuda if there is one.", show_default=False)
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see that it runs.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the plot.")] = Path("benchmarks/results"),
    json: AsJson = False,
) -> None:
    """Time ours beside each peer in one run; nothing that fails its check is timed.

    Example: regard bench attention --device cpu --quick
    """
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device not in ("cpu", "cuda") or (device == "cuda" and not torch.cuda.is_available()):
        raise ValueError(f"device must be cpu, or cuda where there is one, got {device!r}")
    if not json:
        print(HEADER)
    with redirect_stdout(
        sys.stderr if json else sys.stdout
    ):  # rows appear as they come; machines read stdout
        report = import_module(f"regard.cli.benches.{name}").run(device, quick)
    path = report.save(out)
    if report.series:
        plot(
            report,
            path.with_suffix(".svg"),
            f"{name} on {report.machine.accelerator or report.machine.processor}",
        )
    if json:
        print_json(report.as_dict())
    else:
        print(f"written to {path}")
