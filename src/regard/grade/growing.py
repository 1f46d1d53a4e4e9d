"""How the cost of a function grows: the numbers that its operations read and write, at two lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from regard.grade.functions import apart
from regard.grade.modules import tried_case
from regard.grade.student import Student
from regard.grade.task import Case, Mistake, Tried, Views

SHORT, LONG = 16, 64
MOST = 7.0  # times more work at four times the length; a square makes it up to 16

QUADRATIC = Mistake(
    "quadratic", "the right thing with work that grows as T²: sums over all pairs are taken one by one",
    lesson="linear-attention",
)  # fmt: skip


def linear_work(
    student: Student,
    names: tuple[str, str],
    parts: tuple[str, str],
    inputs: Callable[[int], tuple[object, ...]],
    call: str,
) -> Iterator[Tried]:
    """Whether four times the length is about four times the work, and the long one right.

    `names`: the function as the task and as the student calls it; `parts`: of the work, and of the values.
    """
    (symbol, name), (part, whole) = names, parts

    def act() -> Views:
        short, long = (
            student.work(name, *args, named=named)
            for args, named in (apart(inputs(n)) for n in (SHORT, LONG))
        )
        grows = long / max(short, 1)
        many = (
            f"{LONG // SHORT} times the length is {grows:.1f} times the work ({short:,} and {long:,} numbers)"
        )
        return {"holds": True if grows <= MOST else many}

    def value() -> Views:
        args, named = apart(inputs(LONG))
        return {"result": student.call(name, *args, named=named)}

    yield tried_case(student, Case(part, call, (), QUADRATIC), act)
    yield tried_case(student, Case(whole, f"{symbol} at this length", (symbol, *inputs(LONG))), value)
