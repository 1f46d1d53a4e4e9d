"""`executed`: the cost of what really ran, seen from torch's dispatcher.

Each operation is counted by its rule as it is dispatched, forward and backward. Functions that carry a rule
of their own are recognised when they are called, and what they dispatch inside is not counted again; so is
the part of the gradient's graph that such a call made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from types import FrameType

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.autograd.graph import Node
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from regard.attention.bias import DistanceBias
from regard.attention.problem import Problem
from regard.cost.executed import aten
from regard.cost.executed.aten import Arguments
from regard.cost.executed.calls import FUNCTION_RULES, OPERATION_RULES, Called, code_rules
from regard.cost.result import Cost

COMPILES = ("flex_attention",)  # they compile themselves, which torch refuses to do while it is watched
UNMEASURED = (
    *("parameters", "idle_parameters", "weight_bytes", "activation_bytes"),
    *("cache_bytes", "moved_bytes", "depth"),
)


def executed(fn: Callable[..., object], *inputs: object, **keywords: object) -> Cost:
    """Run `fn(*inputs)` and count what it did; its parts are operations, `uncounted` those without a rule.

    >>> from regard.models import GPT, GPTConfig
    >>> from regard.cost import price
    >>> model = GPT(GPTConfig(vocab=50, context=16, depth=2, width=32, heads=4))
    >>> ran = executed(model, torch.zeros(3, 7, dtype=torch.long))
    >>> asked = price(model, tokens=7, batch=3)
    >>> (ran.multiplies, ran.adds, ran.pairs) == (asked.multiplies, asked.adds, asked.pairs)
    True
    """
    counter = Counter()
    with counter.running():
        fn(*inputs, **keywords)
    return counter.cost()


class Counter:
    """Costs by the name of the operation, and how deep inside a rule of its own the program stands."""

    def __init__(self) -> None:
        self.costs: dict[str, Cost] = {}
        self.unknown: dict[str, int] = {}
        self.inside = 0
        self.kernel_pairs = 0
        self.rules = code_rules()
        self.modes: tuple[TorchDispatchMode | TorchFunctionMode, ...] = ()
        self.frames: list[tuple[FrameType, Callable[[object], None]]] = []

    def cost(self) -> Cost:
        """Everything so far."""
        total = Cost()
        for part in self.costs.values():
            total = total + part
        parts = tuple((name, _unmeasured(part)) for name, part in self.costs.items() if part != Cost())
        return replace(_unmeasured(total), uncounted=dict(self.unknown), parts=parts)

    def add(self, name: str, cost: Cost) -> None:
        """One more operation."""
        cost = replace(cost, other={kind: count for kind, count in cost.other.items() if count})
        self.costs[name] = self.costs.get(name, Cost()) + cost

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch calls and operations of this thread."""
        before = sys.getprofile()
        self._resume()
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(before)
            self._pause()

    def _resume(self) -> None:
        self.modes = (_Operations(self), _Functions(self))
        for mode in self.modes:
            mode.__enter__()

    def _pause(self) -> None:
        for mode in reversed(self.modes):
            mode.__exit__(None, None, None)

    def _profile(self, frame: FrameType, event: str, result: object) -> None:
        if event == "call":
            if frame.f_code in self.rules and self.inside == 0:
                name, rule = self.rules[frame.f_code]
                values = _arguments(frame)
                self.frames.append((frame, self.enter(name, values, lambda: rule(values))))
                if name in COMPILES:
                    self._pause()
        elif event == "return" and self.frames and self.frames[-1][0] is frame:
            if self.rules[frame.f_code][0] in COMPILES:
                self._resume()
            self.frames.pop()[1](result)

    def enter(self, name: str, values: Arguments, rule: Callable[[], Called]) -> Callable[[object], None]:
        """Go inside a call; what comes back is called with its result, None where it raised."""
        self.inside += 1
        before = self.kernel_pairs

        def leave(result: object) -> None:
            try:
                if result is not None:
                    self._finish(name, values, rule(), result, self.kernel_pairs - before)
            finally:
                self.inside -= 1

        return leave

    def _finish(self, name: str, values: Arguments, called: Called, result: object, pairs: int) -> None:
        forward = called.forward
        if forward.pairs and called.pairs_if_dense:
            computed = pairs if pairs else _tiles(values, called.pairs_if_dense)
            forward = replace(forward, computed_pairs=computed)
        self.add(name, forward)
        tensor = result[0] if isinstance(result, tuple) else result
        if isinstance(tensor, Tensor) and tensor.grad_fn is not None:
            self._watch(name, tensor.grad_fn, _nodes(values), called.gradient)

    def _watch(self, name: str, last: Node, inputs: set[Node], gradient: Cost) -> None:
        """Count the gradient of a call once, and not what the nodes between its result and inputs do."""

        def start(*_: object) -> None:
            self.inside += 1

        def stop(*_: object) -> None:
            self.inside -= 1

        last.register_prehook(lambda *_: self.add(f"{name}, gradient", gradient))
        for node in between(last, inputs):
            node.register_prehook(start)
            node.register_hook(stop)


def between(last: Node, inputs: set[Node]) -> list[Node]:
    """The nodes of the gradient's graph from a result to its inputs, these not included."""
    out: list[Node] = []
    open_: list[Node | None] = [last]
    seen = set(inputs)
    while open_:
        node = open_.pop()
        if node is None or node in seen or type(node).__name__ == "AccumulateGrad":
            continue
        seen.add(node)
        out.append(node)
        open_ += [following for following, _ in node.next_functions]
    return out


def _arguments(frame: FrameType) -> Arguments:
    """What a call was given, by name; of a problem of attention its parts."""
    values = dict(frame.f_locals)
    problem = values.get("problem")
    if isinstance(problem, Problem):
        bias = problem.bias.slopes if isinstance(problem.bias, DistanceBias) else problem.bias
        q, k, v, pattern = problem.query, problem.key, problem.value, problem.pattern
        values |= {"query": q, "key": k, "value": v, "bias": bias, "pattern": pattern}
    return values


def _nodes(values: Arguments) -> set[Node]:
    tensors = [x for x in values.values() if isinstance(x, Tensor)]
    tensors += [
        x for both in values.values() if isinstance(both, tuple) for x in both if isinstance(x, Tensor)
    ]
    return {torch.autograd.graph.get_gradient_edge(x).node for x in tensors if x.requires_grad}


def _tiles(values: Arguments, dense: int) -> int:
    """What is computed where no kernel of torch was seen: our tiles on CUDA, every pair elsewhere."""
    query, pattern = values.get("query"), values.get("pattern")
    if pattern is None or query is None or not query.is_cuda or not pattern.atoms():
        return dense
    tiles = pattern.tiles(query.shape[2], values["key"].shape[2], 64)
    return min(dense, (tiles.full + tiles.partial) * 64 * 64 * query.shape[0] * query.shape[1])


class _Functions(TorchFunctionMode):
    """Functions of torch that are counted as a whole."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.counter = counter

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: Arguments | None = None,
    ) -> object:
        kwargs = {} if kwargs is None else kwargs
        known = FUNCTION_RULES.get(func)
        if known is None or self.counter.inside:
            return func(*args, **kwargs)
        name, names, rule = known
        values = dict(zip(names, args, strict=False)) | kwargs
        result = None
        leave = self.counter.enter(name, values, lambda: rule(values))
        try:
            result = func(*args, **kwargs)
        finally:
            leave(result)
        return result


class _Operations(TorchDispatchMode):
    """Every operation that reaches a kernel."""

    supports_higher_order_operators = True

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: object,
        args: tuple[object, ...] = (),
        kwargs: Arguments | None = None,
    ) -> object:
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(func, OpOverload):
            self._unknown(str(func))
            return func(*args, **kwargs)
        name = func._schema.name.removeprefix("aten::")
        arguments = aten.bind(func, args, kwargs)
        if func.namespace == "regard":
            return self._own(func, args, kwargs, name.removeprefix("regard::"), arguments)
        if aten.may_decompose(name):
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        self.counter.kernel_pairs += aten.inner_pairs(name, arguments)
        result = func(*args, **kwargs)
        if self.counter.inside == 0 and not func.is_view and aten.is_arithmetic(arguments, result):
            cost = aten.count(name, arguments, result)
            if cost is None:
                self._unknown(name if func.namespace == "aten" else f"{func.namespace}::{name}")
            else:
                self.counter.add(name, cost)
        return result

    def _own(
        self,
        func: OpOverload,
        args: tuple[object, ...],
        kwargs: Arguments,
        name: str,
        arguments: Arguments,
    ) -> object:
        """An operation of ours: its rule, and nothing of what it does inside."""
        rule, counter = OPERATION_RULES.get(name.removesuffix("_backward")), self.counter
        if rule is None:
            self._unknown(f"regard::{name}")
        elif counter.inside == 0:
            called = rule(arguments)
            counter.add(name, called.gradient if name.endswith("_backward") else called.forward)
        counter.inside += 1
        try:
            with _gradients_within():
                return func(*args, **kwargs)
        finally:
            counter.inside -= 1

    def _unknown(self, name: str) -> None:
        if self.counter.inside == 0:
            self.counter.unknown[name] = self.counter.unknown.get(name, 0) + 1


def _gradients_within() -> AbstractContextManager[None]:
    """Inside the dispatcher autograd is switched off; an operation that takes gradients itself needs it."""
    keys = torch._C.DispatchKey
    include = torch._C._dispatch_tls_local_include_set()
    exclude = torch._C._dispatch_tls_local_exclude_set()
    for key in (
        keys.AutogradFunctionality,
        keys.AutogradOther,
        keys.AutogradNestedTensor,
        keys.ADInplaceOrView,
    ):
        exclude = exclude.remove(key)
    return torch._C._ForceDispatchKeyGuard(include, exclude)


def _unmeasured(cost: Cost) -> Cost:
    """The same without what an execution does not tell."""
    return replace(cost, **dict.fromkeys(UNMEASURED))  # type: ignore[arg-type]
