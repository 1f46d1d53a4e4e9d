"""`regard grade` and `regard exercise`: student code held against the definition, and skeletons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import AsJson, print_json

if TYPE_CHECKING:
    from regard.grade.classes import Row

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TASK] PATH",
        help="A task (see --list, or a file with one's own), then a .py, .ipynb or folder.",
    ),
]


def grade(  # noqa: PLR0913, PLR0917 - the options of a command
    given: Words = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="A line a student.")] = None,
    html: Annotated[bool, typer.Option("--html", help="A page a student, in --out.")] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where a class's results are kept.")
    ] = Path("grades"),
    seed: Annotated[int, typer.Option("--seed", help="Other random inputs for another seed.")] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Submissions at a time; one a core.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print the tasks.")] = False,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Run student code without a sandbox.")] = False,
    as_json: AsJson = False,
) -> None:
    """Grade a solution, or a folder of them: right, or which known mistake it is, with the smallest example.

    Student code runs in a sandbox. Without TASK, every task that the file has something for is graded.
    A folder has a file or a folder for each student; a second call goes on where the first was left.
    Exit code 1: something is wrong.

    Example: regard grade attention-head solution.py
    """
    from regard.grade import TASKS, get_task

    if listed:
        tasks = [get_task(name) for name in TASKS]
        rows = [
            {"task": one.name, "title": one.title, "points": one.points, "mistakes": len(one.mistakes)}
            for one in tasks
        ]
        print_json({"tasks": rows}) if as_json else print(
            "\n".join(f"{one['task']:26}{one['title']}" for one in rows)
        )
        return
    if not given or len(given) > 2:
        raise ValueError("name a solution: regard grade [TASK] solution.py|solution.ipynb|FOLDER")
    task, path = given[0] if len(given) == 2 else None, Path(given[-1])
    if not path.exists():
        raise ValueError(
            f"{path} is not there" + ("; a task and a solution are wanted" if given[-1] in TASKS else "")
        )
    if path.is_dir():
        _class(path, task, Outcome(csv, html, out), (seed, workers, unsafe), as_json)
        return
    from regard.grade.grading import grade_all

    found = None if task is None else [get_task(task)]
    reports = grade_all(path, found, seed=seed, unsafe=unsafe)
    if as_json:
        print_json({"file": str(path), "reports": [report.as_dict() for report in reports]})
    else:
        print("\n\n".join(map(str, reports)))
    if not all(report.right for report in reports):
        raise typer.Exit(1)


class Outcome:
    """Where the results of a class go."""

    def __init__(self, csv: Path | None, html: bool, out: Path) -> None:
        self.csv, self.html, self.out = csv, html, out

    def write(self, rows: list[Row]) -> None:
        """The files that were asked for."""
        from regard import files
        from regard.grade.classes import as_csv
        from regard.grade.pages import class_page, student_page

        if self.csv is not None:
            files.write(self.csv, as_csv(rows).encode())
        if self.html:
            for row in rows:
                files.write(self.out / f"{row['student']}.html", student_page(row).encode())
            files.write(self.out / "index.html", class_page(rows).encode())


def _class(
    folder: Path, task: str | None, outcome: Outcome, how: tuple[int, int | None, bool], as_json: bool
) -> None:
    from regard.errors import visible
    from regard.grade import get_task
    from regard.grade.classes import grade_class

    seed, workers, unsafe = how

    def tell(row: Row) -> None:
        typer.echo(f"{visible(str(row['student']))}: {row['points']} of {row['most']}", err=True)

    tasks = None if task is None else [get_task(task)]
    try:
        rows = grade_class(folder, outcome.out, tasks, seed=seed, workers=workers, unsafe=unsafe, tell=tell)
    except KeyboardInterrupt as stop:
        typer.echo(str(stop), err=True)
        raise
    outcome.write(rows)
    if as_json:
        print_json({"folder": str(folder), "students": rows})
    else:
        print(
            "\n".join(f"{visible(str(row['student'])):30}{row['points']:>4} of {row['most']}" for row in rows)
        )


def exercise(
    name: Annotated[str, typer.Argument(metavar="TASK", help="See regard grade --list.")],
    as_json: AsJson = False,
) -> None:
    """Print the skeleton of a task: its text, its signatures, and nothing solved.

    Example: regard exercise attention-head > solution.py
    """
    from regard.grade import exercise as skeleton

    text = skeleton(name)
    print_json({"task": name, "skeleton": text}) if as_json else print(text, end="")
