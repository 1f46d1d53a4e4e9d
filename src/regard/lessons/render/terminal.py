"""A lesson for the terminal, as things that rich prints."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

from regard.lessons.checking.exercise import Question
from regard.lessons.lesson import Answer
from regard.lessons.parts import Block, Check, Formula, Part, Picture, Prose, Table
from regard.paper.tables import listed


def terminal(answer: Answer) -> Group:
    """The whole lesson, in reading order."""
    lesson = answer.lesson
    question = Panel(Text(lesson.question), title=f"[bold]{lesson.title}[/]", title_align="left")
    shown: list[RenderableType] = [question]
    for part in answer.parts:
        shown += [_shown(part), Text()]
    shown += exercises(lesson.exercises, lesson.name)
    verdict = "every check holds" if answer.holds else "A CHECK FAILS"
    count = f"{len(answer.checks)} check{'s' if len(answer.checks) > 1 else ''}"
    if answer.checks:
        shown.append(Text(f"{count}, {verdict}; {answer.seconds:.1f} s", style="dim"))
    return Group(*shown)


def exercises(found: tuple[Question, ...], name: str) -> list[RenderableType]:
    """The questions, each with its domain and letters, and how to answer: plainly, in LaTeX, from a file."""
    if not found:
        return []
    questions = RichTable.grid(padding=(0, 2, 0, 0))
    for exercise in found:
        letters = f"; in {', '.join(_short(exercise.letters))}" if exercise.letters else ""
        asks = Text.assemble(f"{exercise.asks} ", (f"({exercise.domain.says}{letters})", "dim"))
        questions.add_row(Text(f"  {exercise.name}", style="bold"), asks)
    out: list[RenderableType] = [Text("Your turn", style="bold"), questions]
    first = found[0].name
    for answer in (f'"{first} = …"', rf"'{first} = \frac{{…}}{{…}}'", "answers.tex"):
        out.append(Text(f"  regard check {name} {answer}", style="cyan"))
    return [*out, Text()]


def _short(letters: tuple[str, ...]) -> list[str]:
    """Letters with numbers in a row as their first and last."""
    out: dict[str, list[str]] = {}
    for letter in letters:
        base = letter.rstrip("0123456789").rstrip("_")
        number = letter[len(base) :].lstrip("_")
        out.setdefault(base, []).append(f"{base}_{number}" if number else letter)
    return [", ".join(row) if len(row) < 3 else f"{row[0]} … {row[-1]}" for row in out.values()]


def _shown(part: Part) -> RenderableType:
    if isinstance(part, Prose):
        return Markdown(part.text)
    if isinstance(part, Formula):
        return Group(
            Text(part.says), Padding(Text(part.plain(), no_wrap=True, overflow="ellipsis"), (0, 0, 0, 4))
        )
    if isinstance(part, Check):
        mark = ("✓ ", "bold green") if part.holds else ("✗ ", "bold red")
        claim, seen = (text.replace("`", "") for text in (part.claim, part.seen))
        return Group(Text.assemble(mark, claim), Text(f"  {seen}", style="dim"))
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Block):
        block = Padding(Text(part.text, no_wrap=True, overflow="ellipsis"), (0, 0, 0, 4))
        return Group(Text(part.says), block) if part.says else block
    assert isinstance(part, Picture)
    return Text(f"[picture] {part.alt}; --format md --out FILE writes it", style="dim italic")


def _table(part: Table) -> RenderableType:
    out = listed(part.head, part.rows, left=[i for i in range(len(part.head)) if part.left(i)], wrap=True)
    return Group(Text(part.says), out) if part.says else out
