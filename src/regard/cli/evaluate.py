"""`regard eval RUN`: the scores of a run's best model, and a report on what it gets wrong."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import AsJson, DataDir, Device, RunName, Trust, print_json
from regard.cli.own_data import Data, LabelColumn, SkipBad, TextColumn, asked_for

if TYPE_CHECKING:
    from regard.probe import EvaluationReport

ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write a report (.md or .html): confusions, calibration, negation pairs, worst mistakes.",
    ),
]
KINDS = (".md", ".html")


def evaluate(  # noqa: PLR0913, PLR0917 - each is one option
    run: RunName,
    test: Annotated[
        bool, typer.Option("--test", help="Score the test part, for the final figure, and record it.")
    ] = False,
    report: ReportFile = None,
    data: Data = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Score every example of --data: nothing in it was trained on.")
    ] = False,
    text: TextColumn = None,
    label: LabelColumn = None,
    skip_bad: SkipBad = False,
    data_dir: DataDir = None,
    device: Device = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Score the best model of a run on its validation part, or at the very end on the test part.

    With --data, on the same data where they lie now, or on another set of the same classes.

    Example: regard eval runs/digits-vit --test
    """
    if report is not None and report.suffix not in KINDS:
        raise ValueError(f"--report must end in {' or '.join(KINDS)}, got {report}")
    from regard.train import open_run
    from regard.train.devices import chosen_device

    part = "test" if test else "all" if whole else "validation"
    source = asked_for(data, text, label, None, skip_bad)
    opened = open_run(run, device=chosen_device(device), trust=trust)
    found: EvaluationReport | None = None
    if report is None and opened.recipe is not None and not whole:
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always", UserWarning)
            scores = opened.evaluate(test=test, data=source, data_dir=data_dir)
        for one in noticed:
            print(f"note: {one.message}", file=sys.stderr)
    else:
        found = opened.report(test=test, data=source, whole=whole, data_dir=data_dir)
        scores = found.scores
    if report is not None and found is not None:
        write(found, report)
    if as_json:
        print_json(
            {"run": run, "part": part, **scores} | ({} if found is None else {"report": found.as_dict()})
        )
        return
    where = "" if data is None else f" of {data}"
    print(f"{run}, {'all' if whole else f'{part} part'}{where}")
    for name, value in scores.items():
        print(f"  {name:20}{value:.4f}")
    if found is not None and found.pairs is not None:
        pairs = found.pairs["all"]
        print(f"  {'negation pairs':20}{pairs.sentences:.4f} of sentences, {pairs.pairs:.4f} with both right")
    if report is not None:
        print(f"Open {report}")


def write(found: EvaluationReport, path: Path) -> None:
    """The report as Markdown or as a page."""
    from regard import probe

    if path.suffix == ".md":
        text = probe.report_markdown(found)
    else:
        from regard.probe.report_page import summary, title

        text = probe.page(title(found), probe.report_sections(found), under=summary(found))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
