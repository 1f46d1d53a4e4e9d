"""A lesson as a file: Markdown, LaTeX or a notebook, with its pictures beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from regard.lessons.lesson import Lesson
from regard.lessons.parts import Picture
from regard.lessons.render.latex import latex
from regard.lessons.render.markdown import markdown
from regard.lessons.render.notebook import executed, notebook
from regard.paper.figures import save_figure

FORMATS = ("md", "tex", "ipynb")


def written(lesson: Lesson, kind: str, folder: Path | None = None) -> str:
    """The lesson's text in one of FORMATS; with a folder, its pictures are written there and linked.

    Of `lesson.sheet()` it is the questions alone.

    >>> from regard.lessons import get
    >>> written(get("rnn-recurrences"), "md").split("\\n")[0]
    '# Reading a recurrence off a diagram'
    """
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    if kind == "ipynb":
        from nbformat import writes

        return str(writes(executed(notebook(lesson)))) + "\n"
    answer = lesson.run()
    if kind == "md":
        return markdown(answer, pictures(lesson, folder, "svg"))
    return latex(answer, pictures(lesson, folder, "pdf"))


def pictures(lesson: Lesson, folder: Path | None, kind: str) -> Callable[[Picture], str | None]:
    """A function that draws a picture into the folder and gives its file name."""

    def draw(picture: Picture) -> str | None:
        if folder is None:
            return None
        name = f"{lesson.name}-{picture.name}.{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        save_figure(picture.draw(), folder / name)
        return name

    return draw
