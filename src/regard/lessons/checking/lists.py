"""Answers that are lists of numbers: the shape of a tensor, or a matrix."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from operator import eq
from typing import ClassVar

from regard.lessons.checking.brackets import bare, cut, outer
from regard.lessons.checking.diagnosis import explained
from regard.lessons.checking.evaluate import exact
from regard.lessons.checking.exercise import Question
from regard.lessons.checking.expression import Written, parse_plain, quoted
from regard.lessons.checking.letters import Letters
from regard.lessons.checking.nodes import Num, Op
from regard.lessons.checking.verdict import Finding

MOST = 64  # entries
WORDS = re.compile(
    r"^\s*(?:(?:np|numpy|torch|tf)\s*\.\s*)?(?:Size|shape|array|tensor|matrix|Matrix)\s*(?=[\[(])"
)
BATCH = {"1", "b", "B", "n", "N"}


@dataclass(frozen=True, kw_only=True)
class ListQuestion(Question):
    """A question whose answer is a list; a kind says how a text is cut into entries."""

    def rows(self, text: str) -> list[list[str]]:
        """The entries of a plain text, row by row."""
        raise NotImplementedError

    def read(self, text: str, written: str, letters: Letters | None = None) -> Written:
        """A plain text as a list of rows of numbers."""
        rows = self.rows(bare(WORDS.sub("", text).strip()))
        if not 0 < sum(map(len, rows)) <= MOST:
            raise ValueError(f"from 1 to {MOST} numbers are asked for: {quoted(written)}")
        return Written(_listed([[_number(entry, written) for entry in row] for row in rows]))

    def find(self, answer: Written) -> Finding:
        """Whether all numbers are right, and if not, which one is not or what was mistaken."""
        if answer.node == self._node(self.formula):
            return Finding(True, "right")
        for formula, remark in self.accepted.items():
            if answer.node == self._node(formula):
                return Finding(True, f"right: {remark}")
        mistake = next((says for one, says in self.mistakes.items() if answer.node == self._node(one)), "")
        more = (explained(mistake),) if mistake else ()
        return Finding(False, f"wrong: {self._difference(answer)}", more, mistake)

    def _node(self, formula: str) -> object:
        return self.read(formula, formula).node

    def _difference(self, answer: Written) -> str:
        given = _values(answer)
        # Of the right answers, the one that it comes closest to: channels may stand first or last.
        right = [_values(self.read(one, one)) for one in (self.formula, *self.accepted)]
        true = max(right, key=lambda rows: sum(map(eq, _flat(rows), _flat(given))))
        if [len(row) for row in given] != [len(row) for row in true]:
            return f"{self.size(true)} is asked for, this is {self.size(given)}"
        if sorted(map(str, _flat(given))) == sorted(map(str, _flat(true))):
            return "the numbers are right, and their order is not"
        for i, (row, wanted) in enumerate(zip(given, true, strict=True)):
            for j, (one, other) in enumerate(zip(row, wanted, strict=True)):
                if one != other:
                    return f"{self.place(i, j)} is not {one}"
        raise AssertionError

    def size(self, rows: list[list[Fraction]]) -> str:
        """What a list of these rows is called."""
        raise NotImplementedError

    def place(self, row: int, col: int) -> str:
        """What an entry is called."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ShapeExercise(ListQuestion):
    """A question for the sides of a tensor: (32, 126, 126), 32×126×126 or 32 x 126 x 126."""

    kind: ClassVar[str] = "shape"

    def rows(self, text: str) -> list[list[str]]:
        """One row: the sides; a batch in front is left out."""
        text = bare(re.sub(r"^\s*(?:mathbb)?R\s*\^\s*", "", text))
        if re.fullmatch(r"[\d\s,x×*()\[\]]+", text):
            text = re.sub(r"[()\[\]]", "", text)  # 32 x (3x5x5)
        parts = cut(text, r"\s*(?:[,*x×X@;]|\bby\b)\s*") if re.search("[,*xX@;]|by", text) else text.split()
        parts = [part.strip() for part in parts if part.strip()]
        sides = cut(self.formula.strip("()"), ",")
        if len(parts) == len(sides) + 1 and parts[0] in BATCH:
            parts = parts[1:]
        return [parts]

    def size(self, rows: list[list[Fraction]]) -> str:
        """How many sides there are."""
        return f"a shape of {len(rows[0])} sides" if len(rows[0]) != 1 else "one number"

    def place(self, row: int, col: int) -> str:
        """Which side it is."""
        return f"side {col + 1}"


@dataclass(frozen=True, kw_only=True)
class MatrixExercise(ListQuestion):
    r"""A question for a matrix: [[3,4],[6,7]], 3 4; 6 7, or \begin{pmatrix}3&4\\6&7\end{pmatrix}."""

    kind: ClassVar[str] = "matrix"

    def read(self, text: str, written: str, letters: Letters | None = None) -> Written:
        """A plain text as rows of numbers; a number in front of a matrix multiplies all of them."""
        scaled = re.fullmatch(r"([^\[\];&]*[^\s\[\];&*,])\s*\*?\s*(\[.*\])", text.strip(), re.DOTALL)
        if scaled is None or WORDS.match(text):
            return super().read(text, written)
        factor = _number(scaled[1], written).value
        rows = _values(super().read(scaled[2], written))
        return Written(_listed([[Num(factor * entry) for entry in row] for row in rows]))

    def rows(self, text: str) -> list[list[str]]:
        """The rows, parted by ; or by brackets of their own."""
        if re.search(r"[;&]|\n", outer(text)) and not re.search(r"[\])]\s*,?\s*[\[(]", text):
            rows = re.split(r"[;\n]", text)
        else:
            parts = [part.strip() for part in cut(re.sub(r"\]\s*\[", "],[", text), ",")]
            bracketed = len(parts) > 1 and all(
                part[:1] in ("[", "(") and bare(part) != part for part in parts
            )
            spaced = len(parts) > 1 and all(re.fullmatch(r"\S+(?:\s+\S+)+", part) for part in parts)
            rows = [bare(part) for part in parts] if bracketed or spaced else [text]
        cells = [
            cut(row, r"[,&]") if re.search("[,&]", outer(row)) else row.split() for row in rows if row.strip()
        ]
        return [[cell.strip() for cell in row] for row in cells]

    def size(self, rows: list[list[Fraction]]) -> str:
        """Rows × columns."""
        lengths = {len(row) for row in rows}
        return f"a {len(rows)}×{lengths.pop()} matrix" if len(lengths) == 1 else "no matrix"

    def place(self, row: int, col: int) -> str:
        """Which entry it is."""
        return f"row {row + 1}, column {col + 1}"


def _number(text: str, written: str) -> Num:
    found = parse_plain(text, (), written)
    try:
        return Num(exact(found.node, {}))
    except ArithmeticError:
        raise ValueError(f"{text!r} is no number: {quoted(written)}") from None


def _listed(rows: list[list[Num]]) -> Op:
    return Op("list", tuple(Op("list", tuple(row)) for row in rows))


def _values(answer: Written) -> list[list[Fraction]]:
    assert isinstance(answer.node, Op)
    return [[entry.value for entry in row.args] for row in answer.node.args]  # type: ignore[union-attr]


def _flat(rows: list[list[Fraction]]) -> list[Fraction]:
    return [entry for row in rows for entry in row]
