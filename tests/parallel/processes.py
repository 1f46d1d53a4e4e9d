"""What each of several processes does: many tries of one group, compared with what one process makes."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from regard.parallel import MeshRanks, attend_sharded
from regard.parallel.halves import end
from regard.pattern import Strided
from tests.parallel.trying import Case, begun, bytes_of, drawn, expected, fault_of, loss, parts_of


@contextmanager
def counted() -> Iterator[Counter[int]]:
    """The bytes given to torch's own send calls, by the global rank that they go to."""
    real, found = dist.batch_isend_irecv, Counter[int]()

    def counting(ops: list[dist.P2POp]) -> list[dist.Work]:
        for op in ops:
            if op.op is dist.isend:
                found[op.peer] += op.tensor.nbytes
        return real(ops)

    dist.batch_isend_irecv = counting
    try:
        yield found
    finally:
        dist.batch_isend_irecv = real


def fault_here(case: Case, mesh: DeviceMesh) -> str | None:
    """What is wrong with this rank's part of a case, forward and backward, or None."""
    ranks = MeshRanks(mesh)
    leaves, segments = parts_of(case, ranks.rank)
    at = case.positions(ranks.rank)
    with counted() as sent:
        found = end(begun(case, leaves, segments, ranks))
        of_lse = None if case.of_lse is None else case.of_lse[:, :, at]
        loss(found, case.of_out[:, :, at], of_lse).backward()
    got = {"out": found.out.detach(), "lse": found.lse.detach()}
    got |= {name: x.grad for name, x in zip(("dq", "dk", "dv"), leaves, strict=True)}
    want = {name: x[:, :, at] for name, x in expected(case).items()}
    there = [dist.get_global_rank(ranks.group, to) for to in range(ranks.size)]
    planned = {there[to]: count for (a, to), count in bytes_of(case).items() if a == ranks.rank}
    if dict(sent) != planned:
        return f"sent {dict(sent)}, planned {planned}"
    return fault_of(got, want)


def joined(*sizes: int) -> DeviceMesh:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    names = ("data", "context")[-len(sizes) :]
    return init_device_mesh("cpu", sizes, mesh_dim_names=names)


def differing(kind: str) -> None:
    """The second rank calls otherwise than the first: both must say so."""
    mesh = joined(int(os.environ["WORLD_SIZE"]))
    other = kind if mesh.get_local_rank() == 1 else ""
    sizes = {"batch": (2, 2, 8, 8), "width": (1, 2, 8, 4), "heads": (1, 1, 8, 8)}.get(other, (1, 2, 8, 8))
    x = torch.ones(sizes, dtype=torch.bfloat16 if other == "dtype" else torch.float32)
    segments = torch.zeros(sizes[0], 8, dtype=torch.long) if other == "segments" else None
    pattern = Strided(back=3 if other == "pattern" else 4)
    for _ in range(2):  # the first one that failed is not taken for agreed
        try:
            attend_sharded(x, x, x, pattern, mesh=mesh, n=16, segments=segments)
        except ValueError as error:
            print(f"refused: {error}")
    dist.destroy_process_group()


def tries(times: int, seed: int) -> None:
    """So many random cases on all processes."""
    mesh = joined(int(os.environ["WORLD_SIZE"]))
    for i in range(times):
        at = random.Random(f"{seed}, {i}")
        torch.manual_seed(at.randrange(1 << 30))
        case = drawn(at, mesh.size())
        fault = fault_here(case, mesh)
        assert fault is None, f"seed {seed}, try {i}: {fault}; {case}"
    print(f"tried {times}")
    dist.destroy_process_group()
