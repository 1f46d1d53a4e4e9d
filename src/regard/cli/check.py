"""`regard check LESSON answer…`: is this formula right, where, and if not, why not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from regard.cli.options import AsJson, print_json

if TYPE_CHECKING:
    from regard.lessons import Verdict

Name = Annotated[
    str, typer.Argument(metavar="LESSON", help="The lesson whose exercises are answered.", show_default=False)
]
Answers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ANSWER…",
        help=(
            "Formulas such as 'n*(n+1)/2', 'strided = \\frac{(2n-t)(t+1)}{2}' or 'O(n^2)', "
            "or a .tex, .md or .txt file with one `name = formula` a line."
        ),
        show_default=False,
    ),
]


def check(name: Name, answers: Answers = None, as_json: AsJson = False) -> None:
    """Check answers to the exercises of a lesson; without answers, list its questions.

    Answers are plain formulas or LaTeX; one goes to the question that it names
    (strided=…), or else to one that has all its letters.
    Exit code 1: an answer is wrong; 2: an answer cannot be read.

    Example: regard check counting-attention "n*(n+1)/2"
    """
    from regard.lessons import get
    from regard.lessons.checking.files import check_all, is_file_name
    from regard.lessons.render.terminal import exercises

    lesson = get(name)
    if not answers:
        if as_json:
            print_json({"lesson": name, "questions": [exercise.as_dict() for exercise in lesson.exercises]})
        else:
            console = Console(highlight=False)
            for line in exercises(lesson.exercises, name):
                console.print(line)
        return
    found = check_all(lesson.exercises, [Path(one) if is_file_name(one) else one for one in answers])
    if as_json:
        verdicts = [verdict.as_dict() for verdict in found.verdicts]
        print_json({"lesson": name, "verdicts": verdicts, "faults": found.faults, "notes": found.notes})
    else:
        _print(found.verdicts)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    for fault in found.faults:
        typer.echo(f"error: {fault}", err=True)
    if found.faults:
        raise typer.Exit(2)
    if not all(verdict.right for verdict in found.verdicts):
        raise typer.Exit(1)


def _print(verdicts: Sequence[Verdict]) -> None:
    console = Console(highlight=False)
    for verdict in verdicts:
        mark = ("✓ ", "bold green") if verdict.right else ("✗ ", "bold red")
        where = (f"  {verdict.where}", "dim") if verdict.where else ""
        shown = " ".join(verdict.answer.split())
        console.print(Text.assemble(mark, (verdict.question, "bold"), f": {shown}", where))
        for line in (verdict.says, *verdict.details):
            console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
