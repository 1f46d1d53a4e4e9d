"""Attention over ranks with any pattern, length, dealing and option, against the definition in one process.

A simulated mesh of one to eight ranks takes all tries, real processes (gloo; two, three and four of them) a
third of them each. What is sent is held against the plan byte by byte, the plan against the mask.
"""

import random
import tempfile
from pathlib import Path

import torch

from tests.hunt.found import Found
from tests.parallel import processes
from tests.parallel.trying import Case, bytes_of, drawn, expected, fault_of, simulated


def hunt(times: int, seed: int) -> Found:
    """So many tries on a simulated mesh, and a third as many on two, three and four processes each."""
    found = Found()
    for i in range(times):
        at = random.Random(f"sharding {seed}, {i}")
        torch.manual_seed(at.randrange(1 << 30))
        where = f"seed {seed}, try {i}"
        try:
            case = drawn(at, at.choice([1, 2, 3, 4, 5, 8]))
            fault = plan_fault(case)
            found.add("plans", None if fault is None else f"{where}: {fault}; {case}")
            fault = mesh_fault(case)
            found.add("simulated", None if fault is None else f"{where}: {fault}; {case}")
        except Exception as error:
            found.add("simulated", f"{where}: {type(error).__name__}: {error}")
    for world in (2, 3, 4):
        each = max(1, times // 3)
        found.add(f"{world} processes", processes_fault(world, each, seed))
        found.tried[f"{world} processes"] += each - 1
    return found


def plan_fault(case: Case) -> str | None:
    """What a plan sends that no query needs, or leaves out, by the mask."""
    plan, dense = case.plan, case.plan.pattern.dense(case.plan.n)
    for rank, held in enumerate(plan.held):
        own = held.positions()
        seen = dense[own].any(0)
        seen[own] = False
        if plan.needed[rank].positions().tolist() != seen.nonzero()[:, 0].tolist():
            return f"rank {rank} needs {seen.nonzero()[:, 0].tolist()}, planned {plan.needed[rank]}"
        if plan.pairs[rank] != int(dense[own].sum()):
            return f"rank {rank} has {int(dense[own].sum())} pairs, planned {plan.pairs[rank]}"
    return None


def mesh_fault(case: Case) -> str | None:
    """What a simulated mesh makes otherwise, or sends beside the plan."""
    got, sent = simulated(case)
    if sent != bytes_of(case):
        return f"sent {sent}, planned {bytes_of(case)}"
    return fault_of(got, expected(case))


def processes_fault(world: int, times: int, seed: int) -> str | None:
    """What goes wrong among real processes."""
    from tests.train.forks import ended, group

    with tempfile.TemporaryDirectory() as folder:
        codes, text = ended(group(Path(folder) / "log", world, processes.tries, times, seed))
    return None if codes == [0] * world else text[-2000:]
