"""Tasks that ask for modules: making one, calling it as the sheet says, reading what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from regard.grade.sandbox import StudentError
from regard.grade.student import Student
from regard.grade.task import Case, Mistake, Tried, Trouble, Views
from regard.grade.wire import Handle

STUCK = Mistake("gradient-stopped", "the right values, but no gradient reaches some of its weights")
NOTHING = Mistake("nothing-learned", "values without a single parameter: nothing in it can learn")
MIXED = Mistake("batch-mixed", "values of one example that depend on the others of the batch")
RANDOM = Mistake("not-deterministic", "other values at every call, in evaluation mode, too")


def tried_case(student: Student, case: Case, act: Callable[[], Views]) -> Tried:
    """A case with what came out, or with the error that was raised."""
    try:
        return case, act()
    except StudentError as error:
        return case, Trouble(error.kind, error.text, error.line)


def first_of(value: object) -> object:
    """The output of a module that may give weights beside it."""
    return value[0] if isinstance(value, tuple | list) and value else value


def second_of(value: object) -> object | None:
    """What a module gives beside its output; lists over layers become one tensor."""
    if not isinstance(value, tuple | list) or len(value) < 2:
        return None
    found = value[1]
    if isinstance(found, list | tuple) and found and all(isinstance(one, Tensor) for one in found):
        same = all(one.shape == found[0].shape for one in found)
        return torch.stack(list(found), 1) if same and found[0].ndim == 4 else None
    return found


def properties(
    student: Student,
    made: Handle,
    part: str,
    inputs: tuple[object, ...],
    named: Mapping[str, object] | None = None,
) -> Iterable[Tried]:
    """Gradient reaches every weight, examples do not mix, and evaluation is deterministic."""
    given = dict(named or {})

    def gradient() -> Views:
        lost = student.stuck(made, inputs, given)
        return {"holds": True if not lost else f"none reaches {', '.join(lost[:4])}"}

    def learning() -> Views:
        return {"holds": any(one.learned for one in student.weights(made))}

    def apart() -> Views:
        whole = first_of(student.call(made, *inputs, named=given))
        x = inputs[0]
        assert isinstance(x, Tensor)
        one = first_of(student.call(made, x[:1], *inputs[1:], named=given))
        fits = isinstance(whole, Tensor) and isinstance(one, Tensor) and one.shape == whole[:1].shape
        return {"holds": fits and bool(torch.allclose(one, whole[:1], atol=1e-4, equal_nan=True))}  # type: ignore[arg-type, index]

    def again() -> Views:
        a, b = (first_of(student.guest.call(made, *inputs, seed=seed, named=given)) for seed in (1, 2))
        return {"holds": isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape
                and bool(torch.allclose(a, b, atol=1e-5, equal_nan=True))}  # fmt: skip

    yield tried_case(student, Case(part, "the gradient of every weight", (), STUCK), gradient)
    yield tried_case(student, Case(part, "parameters that can learn", (), NOTHING), learning)
    yield tried_case(student, Case(part, "one example alone and in a batch", (), MIXED), apart)
    yield tried_case(student, Case(part, "the same call twice", (), RANDOM), again)
