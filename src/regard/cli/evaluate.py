"""`regard eval RUN`: the scores of a run's best model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import AsJson, print_json
from regard.cli.train import DataDir, Device


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    test: Annotated[
        bool, typer.Option("--test", help="Score the test part, for the final figure, and record it.")
    ] = False,
    data_dir: DataDir = None,
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Score the best model of a run on its validation part, or at the very end on the test part.

    Example: regard eval runs/digits-vit --test
    """
    from regard.train import evaluate as score

    scores = score(run, test=test, data_dir=data_dir, device=device)
    if as_json:
        print_json({"run": str(run), "part": "test" if test else "validation", **scores})
        return
    print(f"{run}, {'test' if test else 'validation'} part")
    for name, value in scores.items():
        print(f"  {name:20}{value:.4f}")
