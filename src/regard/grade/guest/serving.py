"""What the guest does for the judge: makes objects of the student's classes, calls them, shows weights."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, ModuleType

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard.grade.guest.running import NoAnswers, Printed, at_most, told
from regard.grade.wire import Channel, Foreign, Handle

KINDS: tuple[tuple[str, type[nn.Module]], ...] = (
    ("attention", nn.MultiheadAttention), ("linear", nn.Linear), ("norm", nn.LayerNorm),
    ("embedding", nn.Embedding), ("conv", nn.Conv2d), ("gru", nn.GRU),
)  # fmt: skip

# Views, and putting together what is there already: a list that grows by `cat` is no quadratic formula.
FREE = ("view", "expand", "transpose", "permute", "slice", "select", "aten.cat.")
NUMBERS = Tensor.numel  # as it is before a student's code may put something else there


class Traffic(TorchDispatchMode):
    """How many numbers all operations read and wrote: it grows as the cost does, whatever the machine."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Callable[..., object], types: object, args: tuple[object, ...] = (), kwargs: object = None
    ) -> object:
        """Count, and do as always."""
        out = func(*args, **(kwargs if isinstance(kwargs, dict) else {}))
        if not any(word in str(func) for word in FREE):
            for value in (*args, out):
                self.count += NUMBERS(value) if isinstance(value, Tensor) else 1
        return out


class Server:
    """Answers the judge's requests until it hangs up."""

    def __init__(self, channel: Channel, module: ModuleType, guard: NoAnswers, printed: Printed) -> None:
        self.channel, self.module, self.guard, self.printed = channel, module, guard, printed
        self.objects: list[object] = []
        self.kit: dict[str, object] = {}

    def serve(self) -> None:
        """One request after another; a student's error is an answer, too."""
        while True:
            request = self.channel.receive()
            try:
                seconds = request.get("seconds")
                with at_most(float(seconds) if isinstance(seconds, int | float) else 5.0):
                    answer = {"value": self._do(request)}
            except BaseException as error:
                answer = {"error": told(error)}
            answer |= {"answers": self.guard.asked, "printed": self.printed.count}
            try:
                self.channel.send(answer)
            except (ValueError, TypeError, RecursionError, MemoryError) as error:
                self.channel.send({"error": told(error)})

    def _do(self, request: Mapping[str, object]) -> object:
        seed = request.get("seed")
        if isinstance(seed, int):
            self._seed(seed)
        does = {
            "kit": self._define, "make": self._make, "call": self._call, "weights": self._weights,
            "set": self._set, "gradients": self._gradients, "get": self._get, "work": self._work,
        }  # fmt: skip
        return does[str(request["do"])](request)

    @staticmethod
    def _seed(seed: int) -> None:
        torch.manual_seed(seed)
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed)

    def _define(self, request: Mapping[str, object]) -> object:
        """Objects that the task gives the student, as a tokenizer or a model."""
        exec(compile(str(request["source"]), "<given>", "exec"), self.kit)
        return None

    def _inside(self, value: object) -> object:
        """Arguments as the student's code gets them: handles become the objects themselves."""
        if isinstance(value, Handle):
            return self.objects[value.number]
        if isinstance(value, Foreign):
            return self.kit[value.kind]
        if isinstance(value, list | tuple):
            return type(value)(self._inside(one) for one in value)
        return value.clone() if isinstance(value, Tensor) else value

    def _target(self, request: Mapping[str, object]) -> object:
        target = request["target"]
        found = (
            self._inside(target)
            if isinstance(target, Handle | Foreign)
            else self.module.__dict__[str(target)]
        )
        for part in filter(None, str(request.get("method", "")).split(".")):
            found = getattr(found, part)
        return found

    def _arguments(self, request: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        args, named = request.get("args", ()), request.get("named", {})
        assert isinstance(args, list | tuple)
        assert isinstance(named, dict)
        return [self._inside(one) for one in args], {str(k): self._inside(v) for k, v in named.items()}

    def _make(self, request: Mapping[str, object]) -> object:
        args, named = self._arguments(request)
        made = self._target(request)(*args, **named)  # type: ignore[operator]
        if isinstance(made, nn.Module):
            made.eval()
        self.objects.append(made)
        return Handle(len(self.objects) - 1)

    def _call(self, request: Mapping[str, object]) -> object:
        args, named = self._arguments(request)
        with torch.no_grad() if request.get("plain", True) else torch.enable_grad():
            found = self._target(request)(*args, **named)  # type: ignore[operator]
        if request.get("keep"):
            self.objects.append(found)
            return Handle(len(self.objects) - 1)
        if not isinstance(found, str | Mapping | Tensor | list | tuple) and hasattr(found, "tolist"):
            return found
        return list(found) if request.get("listed") else found

    def _get(self, request: Mapping[str, object]) -> object:
        return self._target(request)

    def _weights(self, request: Mapping[str, object]) -> object:
        """Every parameter as it was registered: where it is, in what kind of module, and its values."""
        target = self._target(request)
        if not isinstance(target, nn.Module):
            return []
        rows: list[object] = []
        for path, module in target.named_modules():
            kind = next((name for name, cls in KINDS if isinstance(module, cls)), "own")
            extra = {"eps": float(getattr(module, "eps", 0.0))} if kind == "norm" else {}
            for name, weight in module.named_parameters(recurse=False):
                row = {
                    "path": path,
                    "kind": kind,
                    "name": name,
                    "value": weight,
                    "learned": weight.requires_grad,
                }
                rows.append(row | extra)
            if kind == "norm" and not any(True for _ in module.parameters(recurse=False)):
                rows.append(
                    {"path": path, "kind": kind, "name": "none", "value": None, "learned": False} | extra
                )
        return rows

    def _set(self, request: Mapping[str, object]) -> object:
        """Give parameters other values, by path and name; buffers and what is not learned stay."""
        target, values = self._target(request), request["values"]
        assert isinstance(values, dict)
        if isinstance(target, nn.Module):
            with torch.no_grad():
                for name, weight in target.named_parameters(remove_duplicate=False):
                    if name in values and weight.requires_grad:
                        weight.copy_(values[name])
        return None

    def _gradients(self, request: Mapping[str, object]) -> object:
        """The largest gradient of each parameter for a random weighting of everything that comes out."""
        target = self._target(request)
        args, named = self._arguments(request)
        assert isinstance(target, nn.Module)
        target.zero_grad(set_to_none=True)
        out = target(*args, **named)
        # The output alone: weights that are shown beside it would bring gradient to what it does not reach.
        leaves = [
            value
            for value in (out[:1] if isinstance(out, tuple | list) else [out])
            if isinstance(value, Tensor)
        ]
        wanted = [value for value in leaves if value.is_floating_point() and value.requires_grad]
        if not wanted:
            return {name: 0.0 for name, weight in target.named_parameters() if weight.requires_grad}
        torch.manual_seed(0)
        sum((value * torch.randn_like(value)).sum() for value in wanted).backward()  # type: ignore[union-attr]
        found = {}
        for name, weight in target.named_parameters():
            if weight.requires_grad:
                found[name] = 0.0 if weight.grad is None else float(weight.grad.abs().max())
        return found

    def _work(self, request: Mapping[str, object]) -> object:
        args, named = self._arguments(request)
        with torch.no_grad(), Traffic() as work:
            self._target(request)(*args, **named)  # type: ignore[operator]
        return work.count


def names_of(module: ModuleType) -> list[str]:
    """What the student's file defines."""
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("__")]


def own_of(module: ModuleType) -> list[str]:
    """What the file makes itself, without what it imports; methods of its classes as `Class.method`."""
    out = []
    for name in names_of(module):
        value = vars(module)[name]
        with suppress(BaseException):  # a class may be hostile to questions, too
            kind = type(value)
            if (
                issubclass(kind, type | FunctionType | BuiltinFunctionType)
                and value.__module__ != module.__name__
            ):
                continue
            out.append(name)
            for base in type.mro(value) if issubclass(kind, type) else ():
                if base.__module__ == module.__name__:
                    out += [f"{name}.{method}" for method, does in vars(base).items() if callable(does)]
    return out


def answer_forever(server: Server) -> None:
    """Serve until the judge hangs up; nothing that happens here is anybody else's trouble."""
    with suppress(BaseException):
        server.serve()
