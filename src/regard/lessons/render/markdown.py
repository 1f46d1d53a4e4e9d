"""A lesson as Markdown: formulas between dollar signs, or as MathML for a page that loads no script."""

from __future__ import annotations

from collections.abc import Callable

from regard.lessons.lesson import Answer
from regard.lessons.parts import Check, Formula, Part, Picture


def markdown(answer: Answer, picture: Callable[[Picture], str | None], mathml: bool = False) -> str:
    """The whole lesson; `picture` gives the link of each picture, or None where there is no file."""
    lesson = answer.lesson
    out = [f"# {lesson.title}", f"*{lesson.question}*"]
    out += [_shown(part, picture, mathml) for part in answer.parts]
    if lesson.exercises:
        out.append("## Your turn")
        out.append(
            "\n".join(
                f"{i}. **{e.name}** — {e.asks} *({e.domain.says})*" for i, e in enumerate(lesson.exercises, 1)
            )
        )
        out.append(f'```text\nregard check {lesson.name} "{lesson.exercises[0].name} = …"\n```')
    return "\n\n".join(out) + "\n"


def _shown(part: Part, picture: Callable[[Picture], str | None], mathml: bool) -> str:
    if isinstance(part, Picture):
        link = picture(part)
        return f"*{part.alt}.*" if link is None else f"![{part.alt}]({link})"
    if isinstance(part, Formula) and mathml:
        return f'{part.says}\n\n<div class="formula">{part.mathml()}</div>'
    if isinstance(part, Check) and mathml:
        kind = "success" if part.holds else "failure"
        return f'!!! {kind} "{part.claim.replace(chr(34), chr(39))}"\n    {part.seen}'
    return part._repr_markdown_()
