"""The judge: is what was observed what the definition gives, for some reading of the student's weights?

If not, which known mistake gives exactly that? Single mistakes are tried first, then pairs. A mistake is
named only if every value agrees with it, and at least one differs from the definition.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import combinations

from regard.grade.comparing import difference, same
from regard.grade.report import NamedMistake, PartScore, Report, SmallestExample
from regard.grade.sandbox import GuestLost, StudentError
from regard.grade.student import Student
from regard.grade.task import Assignment, Candidate, Choices, Mistake, Observed, Tried, Trouble, Views

PATIENCE = 2.5  # seconds of computing, not of waiting, in which a mistake is looked for
PATIENCE_BY_PART = 1.0  # and then part by part
CLOSE_READINGS = 8  # of the student's weights, with which mistakes are tried first, and pairs of them


def judge(task: Assignment, student: Student) -> Report:
    """The report on the student's solution of one task."""
    try:
        observed = task.observe(student)
    except StudentError as error:
        missing = error.kind == "NotFound"
        crash, trouble = _crash(error), Trouble(error.kind, error.text, error.line)
        says = error.text if missing else f"it is {crash[0].says}" if crash else f"it raises {trouble}"
        return failed(task, says, crash)
    except GuestLost as lost:
        return failed(task, str(lost))
    return Judge(task, observed).report()


def failed(task: Assignment, says: str, mistakes: tuple[NamedMistake, ...] = ()) -> Report:
    """No points, for one reason."""
    parts = tuple(PartScore(part.name, 0, part.points) for part in task.parts)
    return Report(task.name, task.title, False, says, parts, mistakes)


def _crash(error: StudentError | Trouble) -> tuple[NamedMistake, ...]:
    """Errors that have a name of their own."""
    if error.kind == "NotImplementedError":
        return (NamedMistake("not-done", "the skeleton, which is not filled in yet", ""),)
    if error.kind == "TimeUp":
        return (NamedMistake("endless", "something that does not end in time", ""),)
    return ()


class Judge:
    """One observation held against the definition and its mistakes."""

    def __init__(self, task: Assignment, observed: Observed) -> None:
        self.task, self.observed = task, observed
        self.readings = [one for one in observed.candidates if not one.last] or [Candidate()]
        self.until = time.thread_time() + PATIENCE

    def report(self) -> Report:
        """Try the definition, then single mistakes, then pairs."""
        for choices in ({}, *self.task.accepts):
            for candidate in self.readings:
                if self.fits(candidate, choices, self.observed.tried):
                    return self._all_equal(candidate)
        values = [tried for tried in self.observed.tried if tried[0].flaw is None]
        for choices in ({}, *self.task.accepts):
            for candidate in self.readings:
                if self.fits(candidate, choices, values):
                    return self._wrong(candidate, self._flaws(candidate), choices)
        usable = [tried for tried in values if not isinstance(tried[1], Trouble)]
        wrong = not any(self.fits(candidate, {}, usable) for candidate in self.readings)
        for candidate, mistakes, choices in self._suspects() if wrong else ():
            if self.fits(candidate, choices, usable):
                flaws = self._flaws(candidate)
                own = () if candidate.flaw is None else (candidate.flaw,)
                return self._wrong(candidate, (*mistakes, *own, *flaws))
        for candidate in self.observed.candidates:
            if candidate.last and self.fits(candidate, {}, values):
                flaws = self._flaws(candidate)
                return self._wrong(candidate, flaws) if flaws else self._all_equal(candidate)
        closest, mistakes = self._by_part(values)
        return self._wrong(closest, (*mistakes, *self._flaws(closest)))

    def _by_part(self, values: Sequence[Tried]) -> tuple[Candidate, tuple[Mistake, ...]]:
        """The mistake of each part that has one of its own, such as one function of several."""
        until = time.thread_time() + PATIENCE_BY_PART
        best: tuple[Candidate, tuple[Mistake, ...]] | None = None
        for candidate in self._ranked()[:CLOSE_READINGS]:
            found = self._parts_of(candidate, values)
            if best is None or len(found) > len(best[1]):
                best = candidate, found
            if time.thread_time() > until:
                break
        assert best is not None
        return best

    def _parts_of(self, candidate: Candidate, values: Sequence[Tried]) -> tuple[Mistake, ...]:
        found = []
        for part in self.task.parts:
            own = [one for one in values if one[0].part == part.name and not isinstance(one[1], Trouble)]
            if self.fits(candidate, {}, own):
                continue
            functions = {
                one[0].inputs[0] for one in own if one[0].inputs and isinstance(one[0].inputs[0], str)
            }
            same_function = [
                one
                for one in values
                if one[0].inputs and isinstance(one[0].inputs[0], str) and one[0].inputs[0] in functions
            ]
            fitting = (
                one
                for one in self.task.mistakes
                if self.fits(candidate, one.choices, own)
                and not self._contradicted(candidate, one, same_function)
            )
            found += [one for one in [next(fitting, None)] if one is not None]
        return tuple(found)

    def _contradicted(self, candidate: Candidate, mistake: Mistake, values: Sequence[Tried]) -> bool:
        """Whether the mistake changes a case that came out otherwise than it says."""
        for one in values:
            if isinstance(one[1], Trouble) or self.right(candidate, mistake.choices, one):
                continue
            with_it, without = (self._predicted(candidate, c, one) for c in (mistake.choices, {}))
            if with_it is None or without is None:
                continue
            if any(
                name not in without or not same(with_it[name], without[name], self.task.tolerance)
                for name in with_it
            ):
                return True
        return False

    def fits(self, candidate: Candidate, choices: Choices, tried: Sequence[Tried]) -> bool:
        """Whether everything that was tried came out as predicted."""
        return bool(tried) and all(self.right(candidate, choices, one) for one in tried)

    def right(self, candidate: Candidate, choices: Choices, one: Tried) -> bool:
        """Whether one case came out as predicted."""
        got = one[1]
        if isinstance(got, Trouble):
            return False
        want = self._predicted(candidate, choices, one)
        return want is not None and all(
            name in want and same(value, want[name], self.task.tolerance) for name, value in got.items()
        )

    def _predicted(self, candidate: Candidate, choices: Choices, one: Tried) -> Views | None:
        try:
            return self.task.predict(candidate, one[0], choices)
        except (RuntimeError, IndexError, ValueError, ZeroDivisionError, TypeError, KeyError, AssertionError):
            return None  # weights read this way do not even fit, or this mistake would raise here

    def _suspects(self) -> Iterator[tuple[Candidate, tuple[Mistake, ...], Choices]]:
        bases = ({}, *self.task.accepts)
        ranked = self._ranked()
        for near in (ranked[:CLOSE_READINGS], ranked[CLOSE_READINGS:]):
            for mistake in self.task.mistakes:
                for base in bases:
                    for candidate in near:
                        yield candidate, (mistake,), {**base, **mistake.choices}
                        if time.thread_time() > self.until:
                            return
        for first, second in combinations(self.task.mistakes, 2):
            if set(first.choices) & set(second.choices):
                continue
            for candidate in ranked[:CLOSE_READINGS]:
                yield candidate, (first, second), {**first.choices, **second.choices}
                if time.thread_time() > self.until:
                    return

    def _ranked(self) -> list[Candidate]:
        """Readings of the weights, those first with which most cases are right."""

        def agrees(candidate: Candidate) -> int:
            return -sum(self.right(candidate, {}, one) for one in self.observed.tried)

        return sorted(self.readings, key=agrees)

    def _flaws(self, candidate: Candidate) -> tuple[Mistake, ...]:
        """Properties that do not hold."""
        return tuple(
            dict.fromkeys(
                one[0].flaw
                for one in self.observed.tried
                if one[0].flaw is not None
                and not isinstance(one[1], Trouble)
                and not self.right(candidate, {}, one)
            )
        )

    def _all_equal(self, candidate: Candidate) -> Report:
        task = self.task
        if candidate.flaw is not None:
            return self._wrong(candidate, (candidate.flaw,))
        parts = tuple(PartScore(part.name, part.points, part.points) for part in task.parts)
        says = f"right: equal to the definition in all {len(self.observed.tried)} cases"
        notes = (*self.observed.notes, *([candidate.free] if candidate.free else []))
        return Report(task.name, task.title, True, says, parts, notes=notes)

    def _wrong(
        self, candidate: Candidate, mistakes: tuple[Mistake, ...], base: Choices | None = None
    ) -> Report:
        task, choices = self.task, {} if base is None else base
        wrong = [one for one in self.observed.tried if not self.right(candidate, choices, one)]
        parts = []
        for part in task.parts:
            bad = [one for one in wrong if one[0].part == part.name]
            whole = candidate.flaw is not None and candidate.flaw in mistakes and not wrong
            why = self._why(candidate, bad[0]) if bad else ""
            parts.append(PartScore(part.name, 0 if bad or whole else part.points, part.points, why))
        hidden = {name for one in mistakes for name in one.hides}
        named = tuple(
            NamedMistake(one.name, one.says, one.lesson or task.lesson)
            for one in dict.fromkeys(mistakes)
            if one.name not in hidden
        )
        troubles = [got for _, got in wrong if isinstance(got, Trouble)]
        if not named and troubles and len(troubles) == len(wrong):
            named = _crash(troubles[0])
        example = next((shown for one in wrong if (shown := self._shown(candidate, one))), None)
        return Report(
            task.name,
            task.title,
            False,
            self._says(named, wrong),
            tuple(parts),
            named,
            example,
            self.observed.notes,
        )

    def _says(self, named: tuple[NamedMistake, ...], wrong: Sequence[Tried]) -> str:
        if named and named[0].name == "not-done":
            return f"it is {named[0].says}"
        if named:
            return "your code computes " + "; and ".join(one.says for one in named)
        troubles = [got for _, got in wrong if isinstance(got, Trouble)]
        if troubles and len(troubles) == len(wrong):
            return f"it raises {troubles[0]}"
        return "it differs from the definition, and equals none of the known mistakes"

    def _why(self, candidate: Candidate, one: Tried) -> str:
        case, got = one
        if isinstance(got, Trouble):
            return f"{case.call} raises {got}"
        shown = self._shown(candidate, one)
        return f"{case.call}: {shown.says}" if shown else f"{case.call} differs"

    def _shown(self, candidate: Candidate, one: Tried) -> SmallestExample | None:
        case, got = one
        want = self._predicted(candidate, {}, one)
        if isinstance(got, Trouble) or want is None:
            return None
        for name, value in got.items():
            if name in want and not same(value, want[name], self.task.tolerance):
                return SmallestExample(case.call, name, value, want[name], difference(value, want[name]))
        return None
