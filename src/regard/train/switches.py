"""What "auto" means on this machine, and torch's process-wide switches, set for one run and then put back."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.train.recipe import Execution


def chosen_compile(
    how: Execution, device: torch.device, world: int, context: int = 1, *, fixed: bool = True
) -> str:
    """How the step runs: none, compile or graph, which needs batches of one shape."""
    if not fixed and device.type == "cuda" and context == 1:
        if how.compile in ("auto", "none"):
            return "none"
        raise ValueError(
            f"compile={how.compile} needs batches of one shape, which padding=batch does not give; "
            "use --set compile=none or --set padding=auto"
        )
    if context > 1:  # messages between processes are not compiled
        if how.compile in ("auto", "none"):
            return "none"
        raise ValueError(
            f"compile={how.compile} is for whole sequences, got parallel.context={context}; "
            "use --set compile=none"
        )
    if how.compile == "auto":
        return "none" if device.type != "cuda" else "graph" if world == 1 else "compile"
    if how.compile == "graph" and device.type != "cuda":
        raise ValueError(
            f"compile=graph needs a GPU of CUDA, got device={device.type}; use --set compile=none"
        )
    if how.compile == "graph" and world > 1:
        raise ValueError(f"compile=graph is for one process, got {world}; use --set compile=compile")
    return how.compile


def uses_bfloat16(how: Execution, device: torch.device) -> bool:
    """Whether products are taken in bfloat16."""
    return how.precision == "bfloat16" or (how.precision == "auto" and device.type == "cuda")


@contextmanager
def switched(how: Execution, device: torch.device) -> Iterator[None]:
    """torch as a recipe wants it, and as it was afterwards, its random numbers included."""
    precision = torch.get_float32_matmul_precision()
    deterministic = torch.are_deterministic_algorithms_enabled()
    if how.deterministic and device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
    with torch.random.fork_rng(devices=[device.index] if device.type == "cuda" else []):
        try:
            if how.tf32:
                torch.set_float32_matmul_precision("high")
            if how.deterministic:
                torch.use_deterministic_algorithms(True)
            yield
        finally:
            torch.set_float32_matmul_precision(precision)
            torch.use_deterministic_algorithms(deterministic)
