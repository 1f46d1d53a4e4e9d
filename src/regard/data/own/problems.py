"""What is wrong with data, by file and line, and the error that tells all of it in one line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from regard.errors import visible
from regard.values import Json

SHOWN = 3  # problems that an error names; `regard data` lists them all


@dataclass(frozen=True)
class DataProblem:
    """A file, or one line of it, that cannot be used, and why.

    >>> print(DataProblem("reviews.csv", "the label is missing", line=7))
    reviews.csv, line 7: the label is missing
    """

    file: str
    what: str
    line: int | None = None

    def __str__(self) -> str:
        at = "" if self.line is None else f", line {self.line:,}"
        return f"{visible(self.file)}{at}: {visible(' '.join(self.what.split()))}"

    def as_dict(self) -> Json:
        """File, line and reason, as JSON."""
        return asdict(self)


class BadData(ValueError):  # noqa: N818 - it says what the data are
    """Data that cannot be used as they are; `problems` holds every file and line at fault."""

    def __init__(self, name: str, problems: Iterable[DataProblem], *, skipped: bool = False) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - SHOWN
        shown = "; ".join(map(str, self.problems[:SHOWN])) + (f"; and {more:,} more" if more > 0 else "")
        count = len(self.problems)
        advice = "mend this, or leave it out with --skip-bad (skip_bad=True); regard data lists everything"
        if skipped:
            advice = "without these nothing is left; regard data lists everything"
        super().__init__(
            f"{visible(name)} has {count:,} {'problem' if count == 1 else 'problems'}: {shown} — {advice}"
        )
