"""N-grams with modified Kneser-Ney smoothing, interpolated: what KenLM estimates, in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log2

Gram = tuple[int, ...]


class KneserNey:
    """The chance of each token after the last `order` − 1, learnt from rows that begin with a start token.

    A shorter context counts in how many longer ones a token follows it, not how often (Kneser and Ney 1995);
    counts of one, two and more lose a discount each, which goes to shorter contexts (Chen and Goodman 1998).
    The shortest is no context at all: each of the `vocab` tokens alike. A start token is never predicted.

    >>> model = KneserNey([[0, 1, 2, 1, 2, 3], [0, 1, 3]], vocab=4, order=3)
    >>> round(sum(model.chance((1, 2), token) for token in range(4)), 12)
    1.0
    """

    def __init__(self, rows: Sequence[Sequence[int]], vocab: int, order: int) -> None:
        if order < 1 or vocab < 1:
            raise ValueError(f"order and vocab must be at least 1, got {order=}, {vocab=}")
        self.vocab, self.order = vocab, order
        raw: list[Counter[Gram]] = [Counter() for _ in range(order)]
        begins: list[set[Gram]] = [set() for _ in range(order)]  # the grams with which a row begins
        for row in rows:
            whole = tuple(row)
            for end in range(1, len(whole)):
                for length in range(min(end + 1, order)):
                    raw[length][whole[end - length : end + 1]] += 1
            for length in range(1, min(len(whole), order)):
                begins[length].add(whole[: length + 1])
        self.tables = [
            _table(raw[length] if length == order - 1 else _continued(raw, begins, length))
            for length in range(order)
        ]

    def chance(self, past: Sequence[int], token: int) -> float:
        """The chance of a token after a past, of which the last `order` − 1 tokens count."""
        found = 1 / self.vocab
        for length, (counts, rests) in enumerate(self.tables):
            context = tuple(past[len(past) - length :])
            if len(context) < length or context not in rests:
                break
            kept, rest = counts.get((*context, token), 0.0), rests[context]
            found = kept + rest * found
        return found

    def bits(self, row: Sequence[int]) -> list[float]:
        """What it takes to say each token of a row after its start token."""
        return [-log2(self.chance(row[max(0, i - self.order + 1) : i], row[i])) for i in range(1, len(row))]


def _continued(raw: list[Counter[Gram]], begins: list[set[Gram]], length: int) -> Counter[Gram]:
    """In how many longer contexts each gram occurs; one that begins a row has none, and keeps its count."""
    found = Counter(gram[1:] for gram in raw[length + 1])
    for gram in begins[length]:
        found[gram] = raw[length][gram]
    return found


def _table(counts: Counter[Gram]) -> tuple[dict[Gram, float], dict[Gram, float]]:
    """What is left of each gram's share of its context, and of each context what goes to shorter ones."""
    having = Counter(counts.values())
    discounts = _discounts([having[count] for count in (1, 2, 3, 4)])
    totals: Counter[Gram] = Counter()
    lost: dict[Gram, float] = {}
    for gram, count in counts.items():
        totals[gram[:-1]] += count
        lost[gram[:-1]] = lost.get(gram[:-1], 0.0) + discounts[min(count, 3)]
    kept = {gram: (count - discounts[min(count, 3)]) / totals[gram[:-1]] for gram, count in counts.items()}
    return kept, {context: lost[context] / totals[context] for context in totals}


def _discounts(having: Sequence[int]) -> tuple[float, float, float, float]:
    """What counts of 0, 1, 2, and 3 or more lose, from how many grams have counts of 1 to 4.

    Where too few grams tell, each loses as by absolute discounting, or a half.
    """
    one, two, three, four = having
    if not one or not two:
        return 0.0, 0.5, 0.5, 0.5
    share = one / (one + 2 * two)
    if not three or not four:
        return 0.0, share, share, share
    found = (1 - 2 * share * two / one, 2 - 3 * share * three / two, 3 - 4 * share * four / three)
    first, second, more = (
        min(max(loss, 0.01), most) for loss, most in zip(found, (0.99, 1.99, 2.99), strict=True)
    )
    return 0.0, first, second, more
