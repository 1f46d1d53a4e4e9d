"""The signs of an answer one after another: numbers, names, words and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from regard.lessons.checking.letters import Letters
from regard.lessons.checking.nodes import CONSTANTS
from regard.lessons.checking.words import COMBINATIONS, FUNCTIONS, GROWTHS, INFIX, SAME, pieces, unknown

DIGITS = 30
RELATIONS = "<>≤≥≠="
STRANGE = {
    "…": "dots leave something out: write the sum in closed form, or as \\sum_{i=1}^{n}",
    "±": "± gives two answers: choose one",
    "∞": "∞ is no number",
    "⊤": "transposes are not read here",
    "=": "'=' has no meaning here",
    "&": "'&' has no meaning here: one formula is asked for",
    ";": "';' has no meaning here: one formula is asked for",
}

NUMBER = re.compile(r"(?:\d+\.(?=\s*(?:[,\]]|$))|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,2}(?![A-Za-z0-9_]))?")
GROUPED = re.compile(r"\d{1,3}(?:([,'\s_])\d{3}(?:\1\d{3})*)(?![\d.])|\d{1,3}(?:\.\d{3}){2,}(?![\d.])")
DECIMAL_COMMA = re.compile(r"(\d+),(\d+)(?![\d,])")
RUN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
SIGN = re.compile(r"\*\*|//|[-+*/^%(),|‖∑∏\[\]<>≤≥≠=]")


@dataclass(frozen=True)
class Token:
    """One sign: its kind (number, name, indexed, word, sign or end), its text, and the value of a number."""

    kind: str
    text: str
    value: Fraction = Fraction(0)


def number_at(text: str, at: int, alone: bool) -> tuple[Fraction, int] | None:
    """The number that stands here and its end; with `alone`, a comma parts no arguments and may group digits.

    >>> number_at("508,032", 0, alone=True)
    (Fraction(508032, 1), 7)
    >>> number_at("508,032", 0, alone=False)
    (Fraction(508, 1), 3)
    """
    grouped = GROUPED.match(text, at) if alone else None
    if grouped is not None:
        found, end = re.sub(r"\D", "", grouped[0]), grouped.end()
    elif alone and (comma := DECIMAL_COMMA.match(text, at)) is not None and len(comma[2]) != 3:
        found, end = f"{comma[1]}.{comma[2]}", comma.end()
    else:
        match = NUMBER.match(text, at)
        if match is None:
            return None
        found, end = match[0], match.end()
    mantissa, _, power = found.lower().partition("e")
    if len(mantissa) > DIGITS or abs(int(power or 0)) > DIGITS:
        raise ValueError(f"a number of more than {DIGITS} digits")
    return Fraction(mantissa) * Fraction(10) ** int(power or 0), end


class Tokens:
    """A text taken apart; `token` is the one that stands next."""

    def __init__(self, text: str, letters: Letters) -> None:
        self.text, self.letters = text, letters
        self.at = 0
        self.bound: list[str] = []  # letters of sums around this place
        self.brackets = 0  # around this place
        self.arguments = 0  # brackets around this place in which a comma parts arguments
        self.waiting: list[Token] = []
        self.token = Token("end", "")
        self.next()

    def next(self) -> None:
        """Go on by one sign."""
        if self.waiting:
            self.token = self.waiting.pop(0)
            return
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        if self.at == len(self.text):
            self.token = Token("end", "")
            return
        found = number_at(self.text, self.at, alone=self.arguments == 0)
        if found is not None:
            begin, self.at = self.at, found[1]
            self.token = Token("number", self.text[begin : self.at], found[0])
            return
        run = RUN.match(self.text, self.at)
        if run is not None:
            self.at = run.end()
            indexed = run[0].endswith("_") and self.text.startswith("[", self.at)
            self.token, *self.waiting = self._words(run[0].rstrip("_") if indexed else run[0], indexed)
            return
        sign = SIGN.match(self.text, self.at)
        if sign is None or (sign[0] in RELATIONS and not self.brackets):
            strange = self.text[self.at]
            raise ValueError(STRANGE.get(strange, f"{strange!r} has no meaning here"))
        self.at = sign.end()
        self.token = Token("sign", {"**": "^", "‖": "|"}.get(sign[0], sign[0]))

    def _words(self, run: str, indexed: bool = False) -> list[Token]:
        """The pieces of a run of letters; of an indexed one, the last names a family: x of x_[i+1]."""
        words = {*FUNCTIONS, *SAME, *INFIX, *GROWTHS, *COMBINATIONS, *self.letters.functions, *CONSTANTS}
        low = run.lower() in {*FUNCTIONS, *SAME, *INFIX}
        families = self.letters.families
        own = {*self.letters.spelled, *self.bound, *(f"{x}_{i}" for x in families for i in self.bound)}
        if indexed:
            own |= families
        alone = (low or run in CONSTANTS) and run not in own
        found = [run] if alone else pieces(run, own, words)
        if found is None:
            raise ValueError(unknown(run, self.letters.own, self.text))
        out = []
        for piece in found:
            if piece.isdigit():
                out.append(Token("number", piece, Fraction(piece)))
            else:
                name = piece in own or (piece in CONSTANTS and piece not in self.letters.functions)
                out.append(Token("name" if name else "word", piece))
        if indexed:
            if not self.bound or found[-1] not in families:
                raise ValueError("a subscript is a number or a word")
            out[-1] = Token("indexed", found[-1])
        return out
