"""What the sets of spans mean that cover segments of keys: each set is looked at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from regard.pattern.residues import State
from regard.pattern.spans import Span, Thinning
from regard.pattern.sweep import Numbering

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern


class States:
    """The states of a pattern that were met, by the sets of spans that are on in them."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern, self.atoms = pattern, pattern.atoms()
        self.spans: Numbering[tuple[Atom, Thinning | None]] = Numbering()
        self.codes: list[int] = []  # as `Edges.segments` lists them
        self.states: list[State] = []  # what they mean
        self.whole = torch.zeros(0, dtype=torch.long)  # per state: 1 if all keys of its segments count
        self.open: list[int] = []  # the states in which residue classes decide

    def bit(self, atom: Atom, span: Span) -> int:
        """The number of a kind of span."""
        return self.spans.number((atom, span.thinning))

    @property
    def thinned(self) -> bool:
        """Whether residues of the query may tell rows with equal spans apart."""
        return any(thinning is not None for _, thinning in self.spans.items)

    def learn(self) -> None:
        """Find out what the states mean that were met for the first time."""
        if len(self.states) == len(self.codes):
            return
        verdicts = []
        for code in self.codes[len(self.states) :]:
            members: dict[Atom, bool | Thinning] = dict.fromkeys(self.atoms, False)
            for atom, thinning in self.spans.on(code):
                members[atom] = True if thinning is None else thinning
            state = State(self.pattern, members)
            verdicts.append(state.verdict())
            if verdicts[-1] is None:
                self.open.append(len(self.states))
            self.states.append(state)
        self.whole = torch.cat([self.whole, torch.tensor([int(verdict is True) for verdict in verdicts])])
