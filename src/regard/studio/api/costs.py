"""The Costs room: a price with its tree, curves against length, formulas, and what ranks exchange.

Counts are whole numbers of any size: they are sent as text, since a number of the page ends at 2⁵³.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from regard.cost import CONVENTIONS, Cost, report
from regard.cost.pricing import LETTERS
from regard.cost.sweep import crossings, lengths_between
from regard.paper.quantities import about
from regard.studio import limits
from regard.studio.api.body import Body
from regard.studio.api.patterns import read
from regard.studio.limits import FieldError
from regard.studio.priced import SIDE, Around, Described, described, names, own_patterns

MEASURES = (
    "flops",
    "parameters",
    "weight_bytes",
    "cache_bytes",
    "moved_bytes",
    "activation_bytes",
    "pairs",
    "depth",
)
CURVES = 4  # of one side: patterns with other letters
SIDES = 2
FIRST = {"n": 16, "image": 4}
RANKS = 1_024
Question = tuple[Described, Around, int | None, tuple[int, int] | None, tuple[str, ...]]


def models(body: Body) -> dict[str, object]:
    """All that can be priced by its name, and how it is counted."""
    return {**names(), "conventions": list(CONVENTIONS)}


def _question(body: Body) -> Question:
    """What to price, around what, for how many tokens or which image, and what must be said of it."""
    found, around = described(body), Around.read(body)
    if found.takes == "image":
        return found, around, None, (body.whole("rows", 1, SIDE, 28), body.whole("cols", 1, SIDE, 28)), ()
    if found.takes == "fixed":
        return found, around, None, None, ()
    n = body.whole("n", 1, limits.TOKENS)
    _fits(body, n)
    longer, notices = found.reaching(n)
    return longer, around, n, None, notices


def _fits(body: Body, n: int) -> None:
    if body.text("pattern", limits.EXPRESSION, "").strip():
        try:
            read(body).resolve(n)
        except ValueError as error:
            raise FieldError("n", str(error)) from error


def price(body: Body) -> dict[str, object]:
    """Every count, the tree of parts, and what of the question made a difference."""
    found, around, n, image, notices = _question(body)
    cost = around.price(found.what, n, image)
    pattern = "; ".join(map(str, own_patterns(found.what)))
    code = ("from regard.cost import price", *found.lines, around.line(n, image))
    return {
        "words": found.words,
        "asked": str(cost.question),
        "takes": found.takes,
        "pattern": pattern or None,
        "vocab": found.open_vocabulary,
        "counts": [
            [field, name, str(value), about(value, in_bytes) if isinstance(value, int) else ""]
            for field, name, value, in_bytes in report.counts(cost)
        ],
        "tree": _part("all", cost),
        "notices": [*cost.notices, *notices],
        "python": _imports(code),
    }


def _part(name: str, cost: Cost) -> dict[str, object]:
    return {
        "name": name,
        "values": [str(getattr(cost, field)) for field in MEASURES],
        "parts": [_part(*one) for one in cost.parts],
    }


def _imports(lines: tuple[str, ...]) -> list[str]:
    """The lines with the imports that they need, first."""
    text = "\n".join(lines)
    needed = {
        "torch.": "import torch",
        "parse(": "from regard.pattern import parse",
        "with_field(": "from regard.train.priceable import with_field",
    }
    return [*(line for word, line in needed.items() if word in text), *lines]


def curves(body: Body) -> dict[str, object]:
    """One count against the length, of one side or two and several patterns of each, and where they cross."""
    count = body.choice("count", MEASURES, "flops")
    sides = [Body(side) for side in body.items("sides", SIDES) if isinstance(side, dict)]
    if not sides:
        raise FieldError("sides", "sides must hold one question at least")
    around, last = Around.read(body), body.whole("last", 64, limits.TOKENS, 65_536)
    kind, series, told = "", [], []
    for i, side in enumerate(sides):
        for text in _patterns(side):
            found = described(Body({**side.fields, "pattern": text}))
            mine = found.takes
            if mine == "fixed" or kind not in ("", mine):
                why = "its size is fixed" if mine == "fixed" else "it reads images"
                told.append([i, f"{found.words} has no curve here: {why}"])
                break
            kind = mine
            series.append((i, text, found))
    end = last if kind == "n" else min(last, SIDE)
    asked = {f"{i} {text}": lru_cache(_curve(found, around, count, kind)) for i, text, found in series}
    lengths = lengths_between(min(FIRST.get(kind, 1), end // 4), end)
    points, whole = {}, {}
    for name, ask in asked.items():
        points[name], why = _points(ask, lengths)
        if not points[name]:
            told.append([int(name[0]), why])
        elif not why:
            whole[name] = ask
    return {
        "x": kind,
        "series": [[i, text, points[f"{i} {text}"]] for i, text, _ in series if points[f"{i} {text}"]],
        "told": told,
        "crossings": [[one.n, one.cheaper, one.dearer] for one in crossings(whole, lengths[0], end)],
    }


def _patterns(side: Body) -> list[str]:
    texts = side.items("patterns", CURVES, [""])
    return [limits.text("pattern", one, limits.EXPRESSION) for one in texts] or [""]


def _curve(found: Described, around: Around, count: str, kind: str) -> Callable[[int], int]:
    def ask(n: int) -> int:
        if kind == "image":
            cost = around.price(found.what, None, (n, n))
        else:
            cost = around.price(found.reaching(n)[0].what, n)
        value = getattr(cost, count)
        assert isinstance(value, int)
        return value

    return ask


def _points(ask: Callable[[int], int], lengths: tuple[int, ...]) -> tuple[list[list[object]], str]:
    """[n, count] where there is one, and why not elsewhere: a pattern of a grid has a length of its own."""
    out: list[list[object]] = []
    why = ""
    for n in lengths:
        try:
            out.append([n, str(ask(n))])
        except ValueError as error:
            why = str(error)
    return out, why


def formula(body: Body) -> dict[str, object]:
    """Every count with chosen sizes left as letters, and which letters there are."""
    found, around, n, image, notices = _question(body)
    cost = around.price(found.what, n, image)
    assert cost.question is not None
    there = {LETTERS.get(name, name): name for name in cost.question.letters()}
    asked = [str(one) for one in body.items("letters", 12, ["n", "B"])]
    chosen = [letter for letter in asked if letter in there]
    rows = report.formulas(cost, tuple(chosen))
    return {
        "letters": [[letter, field] for letter, field in there.items()],
        "chosen": chosen,
        "rows": [list(row) for row in rows],
        "notices": list(notices),
    }


def exchange(body: Body) -> dict[str, object]:
    """What ranks that share each sequence send each other, for each pattern of the layers."""
    found, around, n, image, _ = _question(body)
    if n is None:
        raise FieldError("", f"{found.words} has no sequence that ranks could share")
    ranks = body.whole("ranks", 2, RANKS)
    if ranks > n:
        raise FieldError("ranks", f"{ranks:,} ranks cannot share {n:,} positions")
    cost = around.price(found.what, n, image, ranks)
    assert cost.question is not None
    plans = cost.question.exchanges()
    return {
        "bytes": str(cost.exchanged_bytes),
        "about": about(cost.exchanged_bytes, True) if isinstance(cost.exchanged_bytes, int) else "",
        "layers": [
            {
                "pattern": str(one.plan.pattern),
                "layers": one.layers,
                "deal": one.plan.deal.name,
                "keys": one.plan.keys,
                "bytes": str(one.plan.bytes(one.each)),
                "share_of_ring": one.plan.share_of_ring,
                "imbalance": one.plan.imbalance,
                "most": max(one.plan.received_keys),
            }
            for one in plans
        ],
    }
