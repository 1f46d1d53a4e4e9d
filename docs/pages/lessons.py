"""Lesson pages with formulas that browsers draw by themselves, and the notebooks, run top to bottom."""

from __future__ import annotations

import time
from pathlib import Path

from nbformat import write as write_notebook

from regard.bench.machine import this_machine
from regard.lessons import NAMES, get
from regard.lessons.render.markdown import markdown
from regard.lessons.render.notebook import executed, notebook
from regard.lessons.writing import pictures


def write(docs: Path, names: list[str]) -> None:
    """Run the lessons and write their pages and notebooks."""
    for name in names or NAMES:
        start = time.perf_counter()
        page(docs, name)
        middle = time.perf_counter()
        found = executed(notebook(get(name)))
        with (docs / "notebooks" / f"{name}.ipynb").open("w", encoding="utf-8") as file:
            write_notebook(found, file)
        print(
            f"{name}: page {middle - start:.1f} s, notebook {time.perf_counter() - middle:.1f} s", flush=True
        )
    (docs / "lessons" / "index.md").write_text(index(), encoding="utf-8")


def page(docs: Path, name: str) -> None:
    """One lesson, run now."""
    lesson = get(name)
    answer = lesson.run()
    if not answer.holds:
        raise ValueError(f"a check of lesson {name} failed")
    drawn = pictures(lesson, docs / "lessons" / "pictures", "svg")

    def link(picture: object) -> str | None:
        file = drawn(picture)  # type: ignore[arg-type]
        return None if file is None else f"pictures/{file}"

    machine = this_machine()
    where = f"{machine.processor}, {machine.cores} cores, torch {machine.torch}, {machine.date}"
    foot = (
        f"---\n\n[Notebook](../notebooks/{name}.ipynb), run top to bottom · in the terminal: "
        f"`regard lesson {name}` · numbers above were computed and timed on {where}.\n"
    )
    text = markdown(answer, link, mathml=True)
    (docs / "lessons").mkdir(exist_ok=True)
    (docs / "lessons" / f"{name}.md").write_text(f"{text}\n{foot}", encoding="utf-8")


def index() -> str:
    """The list of lessons."""
    lines = [
        "# Lessons",
        "Each lesson asks a theory question, derives the answer, has the package produce the formula, checks "
        "it by "
        "running code, draws it, and asks back. Everything on these pages was computed; nothing was typed "
        "in.",
        "",
    ]
    for name in NAMES:
        lesson = get(name)
        lines.append(f"- [{lesson.title}]({name}.md) — {lesson.question}")
    lines += [
        "",
        "In the terminal:",
        "",
        "```console",
        "$ regard lesson",
        '$ regard check counting-attention "n*(n+1)/2"',
        "```",
    ]
    return "\n".join(lines) + "\n"
