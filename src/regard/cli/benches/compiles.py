"""What is compiled while something runs: Triton kernels by name, and graphs of torch.compile."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Self


class Compiles:
    """A context that collects the names of everything compiled inside it.

    >>> with Compiles() as compiled:
    ...     pass
    >>> compiled.names
    []
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.runtime: Any = None

    def __enter__(self) -> Self:
        self.graphs = _graphs()
        if importlib.util.find_spec("triton") is not None:
            self.runtime = importlib.import_module("triton.knobs").runtime
            self.before = self.runtime.jit_post_compile_hook
            self.runtime.jit_post_compile_hook = self._note
        return self

    def __exit__(self, *_: object) -> None:
        if self.runtime is not None:
            self.runtime.jit_post_compile_hook = self.before
        self.names += ["torch.compile"] * (_graphs() - self.graphs)

    def _note(self, *_: Any, **known: Any) -> None:
        fn = known.get("fn")
        self.names.append(str(getattr(fn, "name", fn)))


def _graphs() -> int:
    counters = importlib.import_module("torch._dynamo.utils").counters
    return int(counters["stats"]["unique_graphs"])
