"""The Lessons room: lessons as they are computed, readings and verdicts of answers, hints, and own code."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence

from regard.lessons import NAMES, get
from regard.lessons.checking.checker import judge, reading
from regard.lessons.checking.exercise import Question
from regard.lessons.checking.expression import LONGEST
from regard.lessons.hints import hints
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Block, Formula, Part, Picture, Prose, Table
from regard.lessons.render.latex import latex
from regard.lessons.render.markdown import markdown
from regard.lessons.render.reading import mathml
from regard.paper.figures import drawn
from regard.studio.api.body import Body
from regard.studio.api.lessons_code import grade, skeleton, tasks
from regard.studio.limits import FieldError

FORMATS = ("md", "tex", "sheet")


def titles(body: Body) -> dict[str, object]:
    """All lessons with their questions, and no answers."""
    found = [get(name) for name in NAMES]
    return {
        "lessons": [
            {"name": one.name, "title": one.title, "question": one.question,
             "exercises": [exercise.as_dict() for exercise in one.exercises]}
            for one in found
        ]
    }  # fmt: skip


def lesson(body: Body) -> Iterator[dict[str, object]]:
    """The parts of a lesson one after another, every number computed now."""
    found = _lesson(body)
    yield {"steps": len(found.steps)}
    for i, step in enumerate(found.steps):
        name = "" if isinstance(step, str) else step.__name__
        parts = Prose(step) if isinstance(step, str) else step()
        shown = [_plain(part) for part in (parts if isinstance(parts, Sequence) else [parts])]
        yield {"step": i, "name": name, "parts": shown}


def read(body: Body) -> dict[str, object]:
    """What an answer is read as, or why it cannot be."""
    exercise, answer = _answer(body)
    try:
        found = reading(exercise, answer)
    except ValueError as error:  # which is no fault while somebody types
        return {"wrong": str(error)}
    return {"mathml": mathml(found), "read": [list(pair) for pair in found.read]}


def check(body: Body) -> dict[str, object]:
    """The verdict on an answer."""
    exercise, answer = _answer(body)
    try:
        return judge(exercise, answer).as_dict()
    except ValueError as error:
        raise FieldError("answer", str(error)) from error


def hint(body: Body) -> dict[str, object]:
    """The first so many hints to an exercise."""
    found = hints(_exercise(_lesson(body), body))
    return {"hints": found[: body.whole("count", 0, 9)], "more": len(found)}


def file(body: Body) -> Iterator[dict[str, object]]:
    """A lesson as a text: Markdown, LaTeX, or a sheet of its questions alone."""
    found, kind = _lesson(body), body.choice("format", FORMATS)
    answer = (found.sheet() if kind == "sheet" else found).run()
    text = markdown(answer, _nowhere) if kind == "md" else latex(answer, _nowhere)
    yield {"name": f"{found.name}{'-questions' if kind == 'sheet' else ''}.{'md' if kind == 'md' else 'tex'}",
           "text": text}  # fmt: skip


def _nowhere(picture: Picture) -> None:
    """There is no file beside the text: a picture is its description."""
    return


def _lesson(body: Body) -> Lesson:
    return get(body.choice("lesson", NAMES))


def _exercise(found: Lesson, body: Body) -> Question:
    name = body.choice("exercise", [one.name for one in found.exercises])
    return next(one for one in found.exercises if one.name == name)


def _answer(body: Body) -> tuple[Question, str]:
    exercise = _exercise(_lesson(body), body)
    answer = body.text("answer", LONGEST).strip()
    if not answer:
        raise FieldError("answer", "write an answer first")
    return exercise, answer


def _plain(part: Part) -> dict[str, object]:
    """A part as the page draws it."""
    kind: dict[str, object] = {"kind": type(part).__name__.lower()}
    if isinstance(part, Prose):
        return kind | {"text": part.text}
    if isinstance(part, Formula):
        return kind | {"says": part.says, "mathml": part.mathml(), "latex": part.latex()}
    if isinstance(part, Table):
        left = [part.left(i) for i in range(len(part.head))]
        return kind | {"says": part.says, "head": list(part.head), "left": left,
                       "rows": [list(row) for row in part.rows]}  # fmt: skip
    if isinstance(part, Block):
        return kind | {"says": part.says, "text": part.text}
    if isinstance(part, Picture):
        return kind | {"name": part.name, "alt": part.alt, "svg": _svg(part)}
    return kind | {"claim": part.claim, "holds": part.holds, "seen": part.seen}


def _svg(picture: Picture) -> str:
    """Without a ground of its own, so that it lies on light paper and on dark."""
    figure = picture.draw()
    figure.patch.set_alpha(0.0)
    for axes in figure.axes:
        axes.patch.set_alpha(0.0)
    text = drawn(figure, "svg").decode()
    return b64encode(re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL).encode()).decode()


__all__ = ["check", "file", "grade", "hint", "lesson", "read", "skeleton", "tasks", "titles"]
