"""`regard check LESSON answer…`: is this formula right, where, and if not, why not."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from regard.cli.options import AsJson, print_json
from regard.lessons import check as judged
from regard.lessons import get
from regard.lessons.render.terminal import exercises

Name = Annotated[
    str, typer.Argument(metavar="LESSON", help="The lesson whose exercises are answered.", show_default=False)
]
Answers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ANSWER…",
        help="Expressions such as 'n*(n+1)/2', 'strided=n(t+1)' or 'O(n^2)'.",
        show_default=False,
    ),
]


def check(name: Name, answers: Answers = None, as_json: AsJson = False) -> None:
    """Check answers to the exercises of a lesson; without answers, list its questions.

    An answer goes to the question that it names (strided=…), or to the first one that has all its letters.

    Example: regard check counting-attention "n*(n+1)/2"
    """
    lesson = get(name)
    console = Console(highlight=False)
    if not answers:
        if as_json:
            print_json({"lesson": name, "questions": [exercise.as_dict() for exercise in lesson.exercises]})
        else:
            for line in exercises(lesson.exercises, name):
                console.print(line)
        return
    verdicts = judged(name, *answers)
    if as_json:
        print_json({"lesson": name, "verdicts": [verdict.as_dict() for verdict in verdicts]})
    else:
        for verdict in verdicts:
            mark = ("✓ ", "bold green") if verdict.right else ("✗ ", "bold red")
            console.print(Text.assemble(mark, (verdict.question, "bold"), f": {verdict.answer}"))
            for line in (verdict.says, *verdict.details):
                console.print(Text(f"  {line}"))
    if not all(verdict.right for verdict in verdicts):
        raise typer.Exit(1)
