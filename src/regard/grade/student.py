"""A student's code as the judge sees it: functions to call, objects to make, weights to read and to set."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.grade.sandbox import Guest, StudentError
from regard.grade.wire import Foreign, Handle

Target = str | Handle | Foreign
Named = Mapping[str, object]
NOTHING = "nothing in the file is called"  # and then what was looked for


@dataclass(frozen=True)
class Entry:
    """One parameter: the path and kind of its module, its own name, its values."""

    path: str
    kind: str
    name: str
    value: Tensor | None
    learned: bool
    eps: float = 0.0

    @property
    def full(self) -> str:
        """The name by which torch knows it."""
        return f"{self.path}.{self.name}" if self.path else self.name


class Student:
    """Calls into the sandbox; a student's own error arrives as StudentError."""

    def __init__(self, guest: Guest, seed: int) -> None:
        self.guest, self.seed = guest, seed

    def generator(self, salt: int = 0) -> torch.Generator:
        """Random numbers that depend on the seed of this grading alone."""
        return torch.Generator().manual_seed(self.seed * 1009 + salt)

    def find(self, spellings: Sequence[str]) -> str | None:
        """The name in the file that is one of these, whatever its capitals and underscores."""
        names = {name.replace("_", "").lower(): name for name in reversed(self.guest.names)}
        exact = [one for one in spellings if one in self.guest.names]
        loose = [names[key] for one in spellings if (key := one.replace("_", "").lower()) in names]
        return next(iter([*exact, *loose]), None)

    def need(self, *spellings: str) -> str:
        """As `find`, and a StudentError where there is nothing."""
        found = self.find(spellings)
        if found is None:
            raise StudentError("NotFound", f"{NOTHING} {spellings[0]}")
        return found

    def give(self, source: str) -> None:
        """Define what the task brings along, such as a tokenizer; it is named by `Foreign(name)`."""
        self.guest.ask({"do": "kit", "source": source})

    def call(self, target: Target, *args: object, method: str = "", named: Named | None = None) -> object:
        """What a function gives, or an object when it is called, or one of its methods."""
        return self.guest.call(target, *args, method=method, seed=self.seed, named=named)

    def get(self, target: Target, name: str) -> object:
        """An attribute; None where there is none."""
        try:
            return self.guest.ask({"do": "get", "target": target, "method": name})
        except StudentError:
            return None

    def make(self, target: str | Foreign, *args: object, **named: object) -> Handle:
        """An object of a class, in evaluation mode if it is a module."""
        request = {"do": "make", "target": target, "args": args, "named": named, "seed": self.seed}
        found = self.guest.ask(request)
        assert isinstance(found, Handle)
        return found

    def weights(self, target: Handle) -> list[Entry]:
        """All parameters in the order in which they were made."""
        rows = self.guest.ask({"do": "weights", "target": target})
        entries = []
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict):
                value = row.get("value")
                eps = row.get("eps")
                entries.append(
                    Entry(
                        str(row.get("path")), str(row.get("kind")), str(row.get("name")),
                        value if isinstance(value, Tensor) else None, row.get("learned") is True,
                        eps if isinstance(eps, float) else 0.0,
                    )
                )  # fmt: skip
        return entries

    def build(self, target: str, *args: object, **named: object) -> tuple[Handle, list[Entry]]:
        """A module with new random weights, so large that every mistake shows, and these weights."""
        made = self.make(target, *args, **named)
        entries, generator = self.weights(made), self.generator(7)
        values = {
            one.full: _drawn(one, generator) for one in entries if one.learned and one.value is not None
        }
        self.guest.ask({"do": "set", "target": made, "values": values})
        return made, self.weights(made)

    def built_again(self, made: Handle, target: str, *args: object) -> Handle:
        """Another module with the same parameters, and whatever else is random in it drawn anew."""
        request = {"do": "make", "target": target, "args": args, "named": {}, "seed": self.seed + 1}
        found = self.guest.ask(request)
        assert isinstance(found, Handle)
        values = {one.full: one.value for one in self.weights(made) if one.value is not None}
        self.guest.ask({"do": "set", "target": found, "values": values})
        return found

    def stuck(self, target: Handle, args: Sequence[object], named: Named | None = None) -> list[str]:
        """The parameters on which the output depends though no gradient reaches them."""
        return self.unreached(target, args, named)[0]

    def unreached(
        self, target: Handle, args: Sequence[object], named: Named | None = None
    ) -> tuple[list[str], list[str]]:
        """Parameters that no gradient reaches: those on which the output depends, and idle maps."""
        request = {
            "do": "gradients",
            "target": target,
            "args": tuple(args),
            "named": dict(named or {}),
            "seed": self.seed,
        }
        try:
            found = self.guest.ask(request)
        except StudentError as error:
            if "does not require grad" in error.text:
                return ["every weight"], []
            raise
        assert isinstance(found, dict)
        without = [str(name) for name, size in found.items() if isinstance(size, float) and size < 1e-8]
        if not without:
            return [], []
        before = self.call(target, *args, named=named)
        entries = {one.full: one.value for one in self.weights(target)}
        out: list[str] = []
        idle: list[str] = []
        for name in without:
            value = entries.get(name)
            if value is None:
                continue
            self.guest.ask({"do": "set", "target": target, "values": {name: value + 0.5 * torch.cos(
                torch.arange(value.numel(), dtype=value.dtype)).reshape(value.shape)}})  # fmt: skip
            after = self.call(target, *args, named=named)
            self.guest.ask({"do": "set", "target": target, "values": {name: value}})
            if _moved(before, after):
                out.append(name)
            elif value.ndim > 1:  # the bias of keys is idle in every attention
                idle.append(name)
        return out, idle

    def work(self, target: Target, *args: object, named: Named | None = None) -> int:
        """How many numbers all operations of a call read and wrote."""
        request = {"do": "work", "target": target, "args": args, "named": dict(named or {})}
        found = self.guest.ask(request | {"seed": self.seed})
        return found if isinstance(found, int) else 0


def _drawn(entry: Entry, generator: torch.Generator) -> Tensor:
    """Values in place of the initial ones: maps that keep the size of their input, norms around one."""
    assert entry.value is not None
    shape = entry.value.shape
    noise = torch.randn(shape, generator=generator)
    if entry.kind == "norm" and entry.name == "weight":
        return 1 + 0.3 * noise
    if len(shape) < 2 or entry.name.startswith("bias"):
        return 0.4 * noise
    if entry.kind in ("embedding", "own"):
        return noise * (1.0 if entry.kind == "embedding" else 0.6)
    return noise * 1.3 / math.sqrt(math.prod(shape[1:]))


def _moved(before: object, after: object) -> bool:
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        return before.shape != after.shape or bool((before - after).abs().max() > 1e-3)
    if isinstance(before, tuple | list) and isinstance(after, tuple | list):
        return any(_moved(a, b) for a, b in zip(before, after, strict=False))
    return False


def attempt(act: Callable[[], object]) -> object:
    """What an act gives, or the StudentError that it raised."""
    try:
        return act()
    except StudentError as error:
        return error
