"""One page a student: what is right, which mistake it is, and the smallest example, expected beside found."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from regard.grade.classes import Row, mistakes_of, reports_of, unnamed
from regard.grade.report import matrix
from regard.paper.ink import HEAT
from regard.paper.pages import Section, card, page, row, table
from regard.paper.svg import drawing, element, words

CELL = 34


def student_page(one: Row) -> str:
    """The page of one student."""
    sections = [Section(f"{report['title']}: {report['points']} of {report['most']} points", _task(report))
                for report in reports_of(one)]  # fmt: skip
    fault = f"<p>{escape(_sentence(one['fault']))}</p>" if one.get("fault") else ""
    return page(str(one["student"]), sections, under=f"{one['points']} of {one['most']} points", first=fault,
                contents=len(sections) > 1)  # fmt: skip


def class_page(rows: Sequence[Row]) -> str:
    """The page of the class, in which each name leads to the student's own."""
    body = [
        [
            str(one["student"]),
            f"{one['points']} of {one['most']}",
            "; ".join(filter(None, [_names(one), *unnamed(one), str(one["fault"])])),
        ]
        for one in rows
    ]
    found = table(["student", "points", "what is wrong"], body, "words-last")
    for one in rows:
        name = str(one["student"])
        cell, link = f">{escape(name)}</th>", f'><a href="{quote(name)}.html">{escape(name)}</a></th>'
        found = found.replace(cell, link, 1)
    return page("Grades", [Section("Students", found)])


def _names(one: Row) -> str:
    return ", ".join(name for report in reports_of(one) for name in mistakes_of(report))


def _sentence(text: object) -> str:
    """A text with a capital in front."""
    return f"{str(text)[:1].upper()}{str(text)[1:]}"


def _task(report: dict[str, object]) -> str:
    parts = report.get("parts")
    lines = [[str(part["name"]), f"{part['points']} of {part['most']}", str(part["why"])]
             for part in (parts if isinstance(parts, list) else [])]  # fmt: skip
    head = ["part", "points", "why"] if any(line[2] for line in lines) else ["part", "points"]
    body = [line[: len(head)] for line in lines]
    out = [f"<p>{escape(_sentence(report['says']))}</p>", table(head, body, "words-last")]
    example = report.get("example")
    if isinstance(example, dict):
        shown = example["view"] != "holds"
        what = f", {example['view']}" if shown else ""
        says = f"Smallest example: {example['call']}{what}: {example['says']}"
        out.append(f"<p>{escape(says)}</p>")
        grids = [card(name, _grid(example.get(name), example)) for name in ("expected", "found")]
        out += [row(grids)] if shown else []
    found = report.get("mistakes")
    lessons = [str(one["lesson"]) for one in (found if isinstance(found, list) else []) if one.get("lesson")]
    out += [f"<p>More: <code>regard lesson {escape(name)}</code></p>" for name in dict.fromkeys(lessons)]
    notes = report.get("notes")
    out += [
        f'<p class="quiet">{escape(str(note))}</p>' for note in (notes if isinstance(notes, list) else [])
    ]
    return "\n".join(out)


def _grid(value: object, example: dict[str, object]) -> str:
    """A small matrix as coloured cells with their numbers; anything else as text."""
    grid = matrix(value)
    if grid is None:
        return f'<pre style="white-space:pre-wrap">{escape(_plainly(value)[:1000])}</pre>'
    both = [one for name in ("found", "expected") if (one := matrix(example.get(name))) is not None]
    finite = [float(x) for one in both for x in one.flatten() if abs(float(x)) < 1e30]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    parts = []
    for i, line in enumerate(grid.tolist()):
        for j, number in enumerate(line):
            share = 0.0 if high == low else min(1.0, max(0.0, (number - low) / (high - low)))
            x, y = j * CELL, i * CELL
            colour = "#{:02x}{:02x}{:02x}".format(*_colour(share))
            parts.append(element("rect", x=x, y=y, width=CELL - 1, height=CELL - 1, fill=colour))
            ink = "#ffffff" if share < 0.6 else "#1a1f2b"
            text = f"{number:.2f}".rstrip("0").rstrip(".")
            parts.append(
                words(x + CELL / 2, y + CELL / 2 + 4, text, fill=ink, font_size=10, text_anchor="middle")
            )
    rows, cols = grid.shape
    wide = f"max-width:{cols * CELL}px"  # a cell is as large in every picture
    return drawing(parts, (0, 0, cols * CELL, rows * CELL), "a matrix", style=wide)


def _plainly(value: object) -> str:
    """A value as text, whole numbers without a point."""
    if isinstance(value, list):
        return f"[{', '.join(map(_plainly, value))}]"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _colour(share: float) -> tuple[int, ...]:
    at = share * (len(HEAT) - 1)
    low = min(int(at), len(HEAT) - 2)
    return tuple(round(a + (b - a) * (at - low)) for a, b in zip(HEAT[low], HEAT[low + 1], strict=True))
