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
    shown.append(Text(f"{len(answer.checks)} checks, {verdict}; {answer.seconds:.1f} s", style="dim"))
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
    first = found[0]
    for answer in (
        f'"{first.name}={first.tried}"',
        f"'{first.name} = {first.tried_in_latex}'",
        "answers.tex",
    ):
        out.append(Text(f"  regard check {name} {answer}", style="cyan"))
    return [*out, Text()]


def _short(letters: tuple[str, ...]) -> list[str]:
    """Letters with numbers in a row as their first and last."""
    out: list[str] = []
    for letter in letters:
        base = letter.rstrip("0123456789")
        if (
            out
            and base != letter
            and out[-1].startswith(base)
            and f"{base}{int(letter[len(base) :]) - 1}" in letters
        ):
            out[-1] = f"{out[-1].split(' …')[0]} … {letter}"
        else:
            out.append(letter)
    return out


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
