"""What one pattern costs at one length, as one frozen result that commands print and pages show."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from regard.paper.formulas import PlainFormula, write
from regard.pattern.formulas import is_quick

if TYPE_CHECKING:
    from regard.pattern.base import Pattern


@dataclass(frozen=True)
class Summary:
    """The exact cost of a pattern at n queries and m keys, beside that of looking at everything.

    `formula` is for the pattern as it is, `letters` for any numbers in its place (single values only).
    """

    pattern: str
    n: int
    m: int
    pairs: int
    keys_kept: int | None
    formula: PlainFormula | None
    letters: PlainFormula | None
    no_formula: str | None

    @property
    def dense(self) -> int:
        """All n·m pairs."""
        return self.n * self.m

    @property
    def share(self) -> float | None:
        """Allowed pairs as a part of all pairs (None where there are none at all)."""
        return self.pairs / self.dense if self.dense else None

    @property
    def saving(self) -> float | None:
        """How many times fewer pairs than n·m (None where nothing is seen)."""
        return self.dense / self.pairs if self.pairs else None

    def as_dict(self) -> dict[str, object]:
        """The counts as plain values, the formulas as text."""
        both = {"formula": self.formula, "letters": self.letters}
        written = {name: None if formula is None else str(formula) for name, formula in both.items()}
        return asdict(self) | {"dense": self.dense, "share": self.share, "saving": self.saving} | written


def summarise(pattern: Pattern, n: int, m: int | None = None, *, formula: bool | None = None) -> Summary:
    """Count a pattern at one length; a formula that takes seconds comes only if asked for (False: none does).

    >>> from regard.pattern import Strided
    >>> found = summarise(Strided(back=3), 16)
    >>> found.pairs, found.dense, found.keys_kept, str(found.formula)
    (58, 256, 4, '4n − 6 for n > 3, n(n+1)/2 otherwise')
    """
    n, m = pattern.resolve(n, m)
    written, letters, why = None, None, None
    if n != m:
        why = "formulas are for as many queries as keys"
    elif formula is None and not is_quick(pattern):
        why = "not worked out here: formula() takes the time"
    elif formula is not False:
        try:
            written = write(pattern.formula())
            letters = write(pattern.formula(symbolic=True)) if [pattern] == pattern.atoms() else None
        except ValueError as error:
            why = str(error)
    return Summary(str(pattern), n, m, pattern.pairs(n, m), pattern.keys_kept(), written, letters, why)
