"""`regard bench NAME`: ours beside its peers, checked, timed, and written to a file."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from regard.cli.benches.harness import HEADER, plot
from regard.cli.options import AsJson, print_json
from regard.cli.train import DataDir

NAMES = ("attention", "endless", "generate", "linear", "models", "recurrence", "sentiment")
WITH_DATA = ("sentiment",)  # the others need none
IN_PARTS = ("generate",)  # written after each part


def bench(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(NAMES)}.", show_default=False)],
    device: Annotated[
        str, typer.Option(help="cpu or cuda; unset: cuda if there is one.", show_default=False)
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see that it runs.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the plot.")] = Path("benchmarks/results"),
    only: Annotated[
        str, typer.Option(help="For generate: some parts, as in one,xl.", show_default=False)
    ] = "",
    data_dir: DataDir = None,
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
    if data_dir is not None and name not in WITH_DATA:
        raise ValueError(f"data-dir is for {', '.join(WITH_DATA)}, got it for {name}")
    if only and name not in IN_PARTS:
        raise ValueError(f"only is for {', '.join(IN_PARTS)}, got it for {name}")
    module = import_module(f"regard.cli.benches.{name}")
    more: dict[str, Any] = {"data_dir": data_dir} if name in WITH_DATA else {}
    if name in IN_PARTS:
        more = {"folder": out, "only": only.split(",") if only else []}
    if not json:
        print(getattr(module, "HEADER", HEADER))
    with redirect_stdout(
        sys.stderr if json else sys.stdout
    ):  # rows appear as they come; machines read stdout
        report = module.run(device, quick, **more)
    path = report.save(out)
    if report.series:
        getattr(module, "plot", plot)(
            report,
            path.with_suffix(".svg"),
            f"{name} on {report.machine.accelerator or report.machine.processor}",
        )
    if json:
        print_json(report.as_dict())
    else:
        print(f"written to {path}")
