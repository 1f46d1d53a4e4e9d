"""A report in Markdown, and as sections of a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from regard.paper import pages
from regard.paper.pages import Section
from regard.paper.pixels import enlarge, png
from regard.paper.quantities import chance, percent
from regard.paper.tables import markdown, plain
from regard.probe.report import EvaluationReport, WrongAnswer

TRIMMED = 300  # characters of a text
MOST_CLASSES = 12  # beyond this a table of all confusions is too wide to read
WORST = "Most confidently wrong"
Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def report_markdown(report: EvaluationReport) -> str:
    """The report as Markdown.

    >>> import torch
    >>> from regard.probe.report import judge
    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> text = report_markdown(judge(logits, torch.tensor([0, 0]), ["bad", "good"], shown=["a | b", "c"]))
    >>> print(text.split("\\n")[0])
    # model on the test part of examples
    """
    out = [f"# {title(report)}", summary(report)]
    for name, note, table in tables(report):
        out += [f"## {name}", note, _markdown(*table)]
    return "\n\n".join(out) + "\n"


def report_sections(report: EvaluationReport) -> list[Section]:
    """The report as sections of a page; pictures stand in place of their names."""
    out = []
    for name, note, table in tables(report):
        body = pages.table(*table, kind="words-last") if table[1] else ""
        if name == WORST and report.pictures is not None:
            body = _grid(report)
        out.append(Section(name, f"<p>{escape(note)}</p>{body}"))
    return out


def title(report: EvaluationReport) -> str:
    """The heading of the report."""
    return f"{report.name} on the {report.part} part of {report.data}"


def summary(report: EvaluationReport) -> str:
    """The figures in one line.

    >>> import torch
    >>> from regard.probe.report import judge
    >>> summary(judge(torch.tensor([[2.0, 0.0]]), torch.tensor([0]), ["bad", "good"], shown=["a"]))
    'Accuracy 100.00 % of 1 examples, loss 0.1269; calibration error 11.9 points.'
    """
    return (
        f"Accuracy {percent(report.accuracy, 2)} of {report.count:,} examples, loss {report.loss:.4f}; "
        f"calibration error {100 * report.calibration_error:.1f} points."
    )


def tables(report: EvaluationReport) -> list[tuple[str, str, Table]]:
    """Every table of the report with its title and a note."""
    out = [_confusions(report), _bins(report)]
    if report.pairs is not None:
        out.append(_pairs(report))
    out.append(_mistakes(report))
    return out


def _confusions(report: EvaluationReport) -> tuple[str, str, Table]:
    if len(report.classes) <= MOST_CLASSES:
        rows = [
            (name, *(f"{count:,}" for count in row), percent(row[i] / sum(row)) if any(row) else "none")
            for i, (name, row) in enumerate(zip(report.classes, report.confusion, strict=True))
        ]
        head = ("label", *(f"answer {name}" for name in report.classes), "right")
        return "Confusions", "Rows are labels, columns are answers.", (head, rows)
    found = [
        (count, report.classes[i], report.classes[j])
        for i, row in enumerate(report.confusion)
        for j, count in enumerate(row)
        if i != j and count
    ]
    found = sorted(found, key=lambda row: -row[0])[:20]
    rows = [(label, answer, f"{count:,}") for count, label, answer in found]
    return "Confusions", "The most frequent ones.", (("label", "answer", "times"), rows)


def _bins(report: EvaluationReport) -> tuple[str, str, Table]:
    rows = [
        (
            f"{100 * one.low:.0f}–{percent(one.high, 0)}",
            f"{one.count:,}",
            *map(percent, (one.confidence, one.accuracy)),
        )
        for one in report.bins
    ]
    note = "How sure the model was, and how often it was right then: the two should be alike."
    return "Calibration", note, (("sure", "examples", "mean probability", "right"), rows)


def _pairs(report: EvaluationReport) -> tuple[str, str, Table]:
    assert report.pairs is not None
    order = sorted(report.pairs.items(), key=lambda item: (item[0] == "all", item[1].sentences))
    rows = [(kind, f"{one.count}", percent(one.sentences), percent(one.pairs)) for kind, one in order]
    note = (
        "Sentences written for this project in pairs of opposite sentiment that differ in a few words, so "
        "that vocabulary does not tell; guessing gets 50 % of sentences and 25 % of pairs."
    )
    return "Negation and contrast", note, (("kind", "pairs", "sentences right", "both right"), rows)


def _mistakes(report: EvaluationReport) -> tuple[str, str, Table]:
    rows = [(one.label, f"{one.answer} {chance(one.probability)}", trimmed(one)) for one in report.mistakes]
    wrong = report.count - sum(row[i] for i, row in enumerate(report.confusion))
    note = f"{len(rows)} of {wrong:,} wrong answers, the surest first." if rows else "No answer was wrong."
    return WORST, note, (("label", "answer", "example"), rows)


def trimmed(mistake: WrongAnswer, most: int = TRIMMED) -> str:
    """What a mistake shows, on one line; of a long text the middle is left out.

    >>> trimmed(WrongAnswer(0, "one two three four five", "a", "b", 0.9), most=13)
    'one t … five'
    """
    text = " ".join(mistake.shown.split())
    if len(text) <= most:
        return text
    half = (most - 3) // 2
    return f"{text[: most - 3 - half].rstrip()} … {text[len(text) - half :].lstrip()}"


def _grid(report: EvaluationReport) -> str:
    assert report.pictures is not None
    figures = [
        pages.figure(
            png(enlarge(picture, 112)), f"{one.label}, taken for {one.answer} ({chance(one.probability)})"
        )
        for one, picture in zip(report.mistakes, report.pictures, strict=True)
    ]
    return pages.row(figures, across=5)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first, *others = ([plain(cell) for cell in row] for row in (head, *rows))
    return markdown(first, others) if rows else ""
