"""One table of names per family serves both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regard.models.weights import listed


class Arrangement(Protocol):
    """How one of our weights is made of some of theirs, and the other way round."""

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Ours."""
        ...

    def split(self, whole: Tensor) -> Sequence[Tensor]:
        """Theirs."""
        ...


@dataclass(frozen=True)
class Same:
    """One weight is the other."""

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Ours."""
        return parts[0]

    def split(self, whole: Tensor) -> Sequence[Tensor]:
        """Theirs."""
        return [whole]


@dataclass(frozen=True)
class Transposed:
    """They keep it as (in, out)."""

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Ours."""
        return parts[0].T

    def split(self, whole: Tensor) -> Sequence[Tensor]:
        """Theirs."""
        return [whole.T]


@dataclass(frozen=True)
class Stacked:
    """Theirs lie one below the other in ours, with so many rows each."""

    rows: tuple[int, ...]

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Ours."""
        found = tuple(len(part) for part in parts)
        if found != self.rows:
            raise ValueError(f"have {found} rows instead of {self.rows}")
        return torch.cat(list(parts))

    def split(self, whole: Tensor) -> Sequence[Tensor]:
        """Theirs."""
        return whole.split(self.rows)


@dataclass(frozen=True)
class ByHead:
    """Queries, keys and values of one head follow each other in theirs, those of all heads in ours.

    >>> ByHead(heads=2).join([torch.arange(6)]).tolist()
    [0, 3, 1, 4, 2, 5]
    """

    heads: int

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Ours."""
        return parts[0].unflatten(0, (self.heads, 3, -1)).transpose(0, 1).flatten(0, 2)

    def split(self, whole: Tensor) -> Sequence[Tensor]:
        """Theirs."""
        return [whole.unflatten(0, (3, self.heads, -1)).transpose(0, 1).flatten(0, 2)]


@dataclass(frozen=True)
class Batched:
    """Theirs has a first axis of one more."""

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Ours."""
        return parts[0].squeeze(0)

    def split(self, whole: Tensor) -> Sequence[Tensor]:
        """Theirs."""
        return [whole[None]]


@dataclass(frozen=True)
class WeightMatch:
    """One of our weights, and the ones of theirs that it is made of."""

    ours: str
    theirs: tuple[str, ...]
    arranged: Arrangement = Same()


def match(ours: str, theirs: str) -> WeightMatch:
    """A weight that has another name only."""
    return WeightMatch(ours, (theirs,))


def pairs(
    ours: str, *theirs: str, arranged: Arrangement | None = None, bias: bool = True
) -> list[WeightMatch]:
    """The rows for the weight of a layer and for its bias where it has one."""
    how = Same() if arranged is None else arranged
    flat = Same() if isinstance(how, Transposed) else how
    rows = [WeightMatch(f"{ours}.weight", tuple(f"{name}.weight" for name in theirs), how)]
    if bias:
        rows.append(WeightMatch(f"{ours}.bias", tuple(f"{name}.bias" for name in theirs), flat))
    return rows


def read_rows(rows: Iterable[WeightMatch], theirs: dict[str, Tensor], source: str) -> dict[str, Tensor]:
    """Our weights from theirs, which are used up; a ValueError names what is missing or left over."""
    ours, missing, faults = {}, [], []
    for row in rows:
        if absent := [name for name in row.theirs if name not in theirs]:
            missing += absent
            continue
        found = [theirs.pop(name) for name in row.theirs]
        try:
            ours[row.ours] = row.arranged.join(found)
        except (RuntimeError, ValueError) as error:
            shapes = ", ".join(str(tuple(one.shape)) for one in found)
            why = f" ({error})" if isinstance(error, ValueError) else ""
            faults.append(f"{', '.join(row.theirs)} of shapes {shapes} do not go together{why}")
    if theirs:
        faults.insert(0, f"left over {listed(sorted(theirs))}")
    if missing:
        faults.insert(0, f"missing {listed(missing)}")
    if faults:
        raise ValueError(f"the weights do not fit {source}: {'; '.join(faults[:3])}")
    return ours


def write_rows(rows: Iterable[WeightMatch], ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their weights from ours."""
    theirs: dict[str, Tensor] = {}
    for row in rows:
        theirs |= dict(zip(row.theirs, row.arranged.split(ours[row.ours]), strict=True))
    return theirs
