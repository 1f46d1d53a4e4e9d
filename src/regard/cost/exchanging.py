"""What the ranks that share a sequence send each other: keys and values there, and their gradients back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from regard.errors import check_int
from regard.layers.attention import check_heads
from regard.layers.letters import Number, is_letter
from regard.pattern import Exchange, Pattern
from regard.pattern.dealing import MOST_RANKS, dealt
from regard.pattern.exchange_formula import exchange_formula

if TYPE_CHECKING:
    from regard.cost.setting import Setting  # which holds this


@dataclass(frozen=True)
class OverRanks:
    """So many ranks, and the patterns of all layers that share a sequence and so its dealing.

    `tokens` are those of the question that a formula is asked of: the formula is for the same dealing.
    """

    ranks: int
    patterns: tuple[Pattern, ...] = ()
    tokens: int | None = None

    def of(self, what: object) -> OverRanks:
        """The same with the patterns of a config."""
        given = getattr(what, "patterns", getattr(what, "pattern", ()))
        every: Iterable[Pattern] = (given,) if isinstance(given, Pattern) else given
        return replace(self, patterns=tuple(dict.fromkeys(every)))

    def sharing(self, pattern: Pattern) -> tuple[Pattern, ...]:
        """The patterns that are dealt out together with this one."""
        return self.patterns if pattern in self.patterns else (pattern,)

    def plan(self, pattern: Pattern, n: int) -> Exchange:
        """What is exchanged in a layer of this pattern."""
        return _plan(self.sharing(pattern), pattern, n, self.ranks)

    def keys(self, pattern: Pattern, n: Number) -> tuple[Number, str]:
        """How many keys are sent in such a layer, and where that holds if it is a formula."""
        if not is_letter(n):
            return self.plan(pattern, n).keys, ""
        every = self.sharing(pattern)
        deal = "auto" if self.tokens is None else dealt(every, self.tokens, self.ranks).name
        found = exchange_formula(every, every.index(pattern), self.ranks, deal)
        return found.keys(n), f"what {pattern} exchanges is exact for {found.where}"


def over(ranks: int) -> OverRanks | None:
    """So many ranks, None for a single one."""
    check_int("ranks", ranks, 1, MOST_RANKS)
    return None if ranks == 1 else OverRanks(ranks)


@lru_cache(maxsize=64)
def _plan(every: tuple[Pattern, ...], pattern: Pattern, n: int, ranks: int) -> Exchange:
    return pattern.exchange(n, ranks, dealt(every, n, ranks))


def key_bytes(s: Setting, groups: Number, width: Number) -> Number:
    """The bytes of a key and its value in all rows of the batch."""
    return s.batch * groups * width * s.each


def sent(s: Setting, pattern: Pattern, n: Number, groups: Number, width: Number) -> tuple[Number, str]:
    """The bytes that a layer sends, keys and values `width` together, and where that holds.

    >>> from regard.cost.setting import Setting
    >>> from regard.pattern import Strided
    >>> sent(Setting(over=over(8), each=2), Strided(back=256), 1 << 20, 1, 128)
    (458752, '')
    """
    if s.over is None:
        return 0, ""
    if s.decode:
        raise ValueError("ranks are for whole sequences: what decoding sends depends on where tokens lie")
    if s.letters:
        raise ValueError(f"letters of a pattern cannot stay open on ranks, got {', '.join(s.letters)}")
    keys, where = s.over.keys(pattern, n)
    labels = 0 if s.segments is None else s.batch * s.segments.element_size()
    return keys * (key_bytes(s, groups, width) * (2 if s.training else 1) + labels), where


@dataclass(frozen=True)
class LayerExchange:
    """The plan of all layers of one pattern, how many they are, and the bytes of a key with its value."""

    layers: int
    plan: Exchange
    each: int

    def as_dict(self) -> dict[str, object]:
        """The plan in numbers, without its lists of positions."""
        return {"layers": self.layers, **self.plan.as_dict(self.each, runs=False)}

    def __str__(self) -> str:
        layers = "1 layer" if self.layers == 1 else f"{self.layers} layers"
        return f"{layers}: {self.plan.told(self.each)}"


def layer_exchanges(what: object, s: Setting) -> list[LayerExchange]:
    """The plans of a config's layers; none where a single rank has it all, or where sizes are letters."""
    width, heads = getattr(what, "width", None), getattr(what, "heads", None)
    if s.over is None or not hasattr(what, "patterns") or not isinstance(s.tokens, int):
        return []
    if not isinstance(width, int) or not isinstance(heads, int):
        return []
    G, D = check_heads(width, heads, getattr(what, "kv_heads", None), getattr(what, "head_width", None), None)
    each, n, found = key_bytes(s, G, 2 * D), s.tokens, s.over.of(what)
    if not isinstance(each, int):
        return []
    counts = Counter(what.patterns)
    return [LayerExchange(count, found.plan(pattern, n), each) for pattern, count in counts.items()]
