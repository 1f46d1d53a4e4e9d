"""Recording what runs on a GPU as a graph, with all the memory that it needs at every replay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def recording(graph: torch.cuda.CUDAGraph, *, threads: bool = False) -> Iterator[None]:
    """Record into the graph what is launched inside; with `threads` others may use the GPU meanwhile.

    cuBLAS keeps a workspace for each stream, and torch records on one stream. A workspace that an earlier
    recording brought lies in that one's memory: where it has gone, replays of this one would write into
    memory that is no longer theirs, as after any compiled model that clears workspaces. So none is taken
    over, and none is left to those who come after.
    """
    torch._C._cuda_clearCublasWorkspaces()
    try:
        with torch.cuda.graph(graph, capture_error_mode="thread_local" if threads else "global"):
            yield
    finally:
        torch._C._cuda_clearCublasWorkspaces()
