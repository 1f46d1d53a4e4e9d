"""The Patterns room: what the browser does not work out itself, which is long lengths, formulas and deals."""

from __future__ import annotations

from regard.paper.formulas import PlainFormula, write
from regard.pattern import Pattern, parse
from regard.pattern.dealing import DEALS
from regard.pattern.formulas import settling
from regard.studio import limits
from regard.studio.api.body import Body
from regard.studio.limits import FieldError

LINES = 6  # of a formula that are shown
TILES = 128  # a side of the overview
RANKS = 16  # of an exchange


def read(body: Body, name: str = "pattern") -> Pattern:
    """The pattern of a text, within what can be counted while somebody waits."""
    text = body.text(name, limits.EXPRESSION)
    try:
        pattern = parse(text)
    except ValueError as error:
        raise FieldError(name, str(error)) from error
    count = len(pattern.atoms())
    if count > limits.VALUES:
        raise FieldError(name, f"a pattern may have at most {limits.VALUES} single values here, got {count}")
    return pattern


def _length(body: Body, pattern: Pattern) -> int:
    n = body.whole("n", 1, limits.LENGTH)
    try:
        return pattern.resolve(n)[0]
    except ValueError as error:
        raise FieldError("n", str(error)) from error


def pairs(body: Body) -> dict[str, object]:
    """The numbers of a pattern at a length, without an overview, which may take much longer."""
    pattern = read(body)
    n = _length(body, pattern)
    return {
        "pairs": pattern.pairs(n),
        "kept": pattern.keys_kept(),
        "most": int(pattern.row_pairs(n).max()),
    }


def count(body: Body) -> dict[str, object]:
    """The numbers of a pattern at a length, and an overview of at most 128×128 tiles."""
    pattern = read(body)
    n = _length(body, pattern)
    size = -(-n // TILES)
    tiles = pattern.tiles(n, size=size)
    return {
        **pairs(body),
        "rows": pattern.row_pairs(n)[::size].tolist(),
        "size": size,
        "full": tiles.full,
        "partial": tiles.partial,
        "tiles": tiles.shape[0] * tiles.shape[1],
        "states": ["".join(map(str, row)) for row in tiles.dense().tolist()],
    }


def formula(body: Body) -> dict[str, object]:
    """The closed form of the number of pairs, in numbers and, for a single value, in letters."""
    pattern = read(body)
    single = pattern.atoms() == [pattern]
    try:
        period, back, first = (1, 0, 0) if single else settling(pattern)
        if period > limits.PERIOD or back + first > 4096:
            why = f"it repeats after {period:,} and settles after {back + first:,} positions"
            return {"none": f"not worked out here: {why}; in Python, formula() takes the time"}
        written = write(pattern.formula())
        out = _lines(written)
        if single and (letters := write(pattern.formula(symbolic=True))) != written:
            out["letters"] = _lines(letters)
    except ValueError as error:
        return {"none": str(error)}
    return out


def _lines(written: PlainFormula) -> dict[str, object]:
    left = len(written.cases) - LINES
    more = [f"… and {left:,} more cases"] if left > 0 else []
    cases = [[value, condition] for value, condition in written.cases[:LINES]]
    return {"cases": cases, "where": [*written.where, *more]}


def exchange(body: Body) -> dict[str, object]:
    """What each of so many ranks holds, receives and computes, and how many keys go from whom to whom."""
    pattern = read(body)
    n = _length(body, pattern)
    ranks = body.whole("ranks", 1, min(n, RANKS))
    plan = pattern.exchange(n, ranks, body.choice("deal", DEALS, "auto"))
    return {
        "deal": plan.deal.name,
        "bounds": list(plan.deal.bounds),
        "holders": list(plan.deal.holders),
        "held": [held.count for held in plan.held],
        "received": list(plan.received_keys),
        "sent": list(plan.sent_keys),
        "between": plan.between.tolist(),
        "pairs": list(plan.pairs),
        "keys": plan.keys,
        "share_of_ring": plan.share_of_ring,
        "imbalance": plan.imbalance,
        "drawn": plan.draw(min(n, TILES)).split("\n"),
    }
