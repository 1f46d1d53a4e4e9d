"""The letters of a question, and the other letters in which an answer may say the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from regard.lessons.checking.nodes import Name, Node, in_order, put


@dataclass(frozen=True)
class Letters:
    """What an answer may use: letters, other spellings of them, and functions of the question's own.

    `aliases` gives for a letter other ones that stand for it, separated by spaces. A spelling listed for two
    letters is the first of them that the answer does not use under its own name. Letters in `alike` may be
    spelled in several ways in one answer. Where nothing speaks against it, n and N are one letter.

    >>> Letters(("n", "k"), {"n": "W T"}).spelled["W"]
    ('n',)
    """

    own: tuple[str, ...]
    aliases: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    alike: Collection[str] = ()

    @cached_property
    def spelled(self) -> dict[str, tuple[str, ...]]:
        """Every spelling with the letters that it may stand for."""
        out: dict[str, tuple[str, ...]] = {}
        for letter in self.own:
            for form in forms(letter):
                out[form] = (letter,)
        for letter, others in ((one, self.aliases[one]) for one in self.own if one in self.aliases):
            for form in (form for other in others.split() for form in forms(other)):
                if form not in self.own_forms:
                    out[form] = (*out.get(form, ()), letter)
        for form, meant in list(out.items()):
            other = form[0].swapcase() + form[1:]
            if other not in self.own_forms:
                out[other] = tuple(dict.fromkeys((*out.get(other, ()), *meant)))
        return out

    @cached_property
    def own_forms(self) -> frozenset[str]:
        """The spellings of the letters under their own names."""
        return frozenset(form for letter in self.own for form in forms(letter))

    @cached_property
    def families(self) -> frozenset[str]:
        """Letters that come with numbers: x of x_1, x_2."""
        return frozenset(m[1] for form in self.spelled if (m := re.fullmatch(r"([A-Za-z]+)_\d+", form)))

    def settled(self, node: Node) -> tuple[Node, tuple[tuple[str, str], ...]]:
        """The tree in the question's own letters, and which letter of the answer was read as which."""
        used = in_order(node)
        table = {name: self.spelled[name][0] for name in used if name in self.own_forms}
        # One that can mean one letter only goes first: in (T+1)(2N−T), N is n, and T is t.
        for name in sorted((one for one in used if one not in table), key=lambda one: len(self.spelled[one])):
            meant = self.spelled[name]
            taken = set(table.values())
            letter = next((one for one in meant if one not in taken), None)
            if letter is None:
                letter = next((one for one in meant if one in self.alike), None)
            if letter is None:
                other = next(other for other, one in table.items() if one == meant[0])
                raise ValueError(f"{other!r} and {name!r} would both be {meant[0]}: use one of them")
            table[name] = letter
        read = tuple((name, letter) for name, letter in table.items() if name not in self.own_forms)
        return put(node, {name: Name(letter) for name, letter in table.items()}), read


def forms(letter: str) -> tuple[str, ...]:
    """x_1 and x1 are one letter.

    >>> forms("x1")
    ('x1', 'x_1')
    """
    bare = letter.replace("_", "")
    if "_" in letter:
        return (letter, bare)
    digits = len(bare.rstrip("0123456789"))
    return (bare, f"{bare[:digits]}_{bare[digits:]}") if digits < len(bare) else (bare,)
