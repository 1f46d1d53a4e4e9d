"""What is compiled while something runs: Triton kernels by name, and graphs of torch.compile."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def compilations() -> Iterator[list[str]]:
    """The names of everything compiled inside, complete at its end.

    >>> with compilations() as names:
    ...     pass
    >>> names
    []
    """
    names: list[str] = []

    def note(*_: object, fn: object = None, **__: object) -> None:
        names.append(str(getattr(fn, "name", fn)))

    graphs = _graphs()
    triton = importlib.util.find_spec("triton") is not None
    runtime = importlib.import_module("triton.knobs").runtime if triton else None
    before = getattr(runtime, "jit_post_compile_hook", None)
    if runtime is not None:
        runtime.jit_post_compile_hook = note
    try:
        yield names
    finally:
        if runtime is not None:
            runtime.jit_post_compile_hook = before
        names += ["torch.compile"] * (_graphs() - graphs)


def _graphs() -> int:
    counters = importlib.import_module("torch._dynamo.utils").counters
    return int(counters["stats"]["unique_graphs"])
