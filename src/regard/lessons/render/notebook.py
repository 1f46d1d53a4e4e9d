"""A lesson as a notebook: each step is shown as the function that it is, and called."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.errors import need
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Part

if TYPE_CHECKING:
    from nbformat import NotebookNode


def notebook(lesson: Lesson) -> NotebookNode:
    """The lesson as an nbformat notebook, not yet run (needs the extra `lessons`)."""
    need("nbformat", "lessons")
    from nbformat import v4

    steps = [step for step in lesson.steps if callable(step)]
    cells = [v4.new_markdown_cell(f"# {lesson.title}\n\n*{lesson.question}*")]
    if steps:
        module = inspect.getmodule(steps[0])
        assert module is not None
        cells.append(v4.new_code_cell(setup(inspect.getsource(module), [step.__name__ for step in steps])))
    for step in lesson.steps:
        if isinstance(step, str):
            cells.append(v4.new_markdown_cell(step))
        else:
            source = textwrap.dedent(inspect.getsource(step)).rstrip()
            cells.append(v4.new_code_cell(f"{source}\n\n\nshow({step.__name__}())"))
    if lesson.exercises:
        questions = "\n".join(f"- **{e.name}**: {e.asks} *({e.domain.says})*" for e in lesson.exercises)
        cells.append(
            v4.new_markdown_cell(f"## Your turn\n\n{questions}\n\nThe try below is wrong; make it right.")
        )
        first = lesson.exercises[0]
        tried = json.dumps(f"{first.name}={first.tried}", ensure_ascii=False)
        cells.append(
            v4.new_code_cell(
                f'from regard.lessons import check\n\nprint(*check("{lesson.name}", {tried}), sep="\\n")'
            )
        )
    for i, cell in enumerate(cells):
        cell.id = f"{lesson.name}-{i}"[:64]  # nbformat draws random ones, and files would differ every time
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def executed(found: NotebookNode, seconds: int = 120) -> NotebookNode:
    """The notebook after running it top to bottom; a cell that fails raises."""
    need("nbclient", "lessons")
    need("ipykernel", "lessons")
    from nbclient import NotebookClient

    quiet = ["--log-level=ERROR"]  # a kernel warns on the terminal that it is not encrypted
    NotebookClient(found, timeout=seconds, kernel_name="python3", extra_arguments=quiet).execute()
    for cell in found.cells:
        cell.metadata.pop("execution", None)  # times of day, which change with every run
    return found


def setup(source: str, steps: Sequence[str]) -> str:
    """What the steps need: the imports, constants and helpers of the lesson's file."""
    kept = ["from regard.lessons.render.notebook import show"]
    for node in ast.parse(source).body:
        name = getattr(node, "name", None)
        doc = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        own = isinstance(node, ast.ImportFrom) and str(node.module).startswith(
            ("regard.lessons.lesson", "regard.lessons.checking", "regard.lessons.exercises")
        )
        target = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "LESSON"
        if doc or future or own or target or name in steps:
            continue
        text = ast.get_source_segment(source, node)
        assert text is not None
        kept.append(("\n\n" if name else "") + text)
    # Annotations of figures are only for type checkers.
    return "from __future__ import annotations\n\n" + "\n".join(kept)


def show(parts: Part | Sequence[Part]) -> None:
    """Display the parts that a step gave, below its cell."""
    from IPython.display import display

    for part in parts if isinstance(parts, Sequence) else [parts]:
        display(part)
