"""Checkpoints of sharded weights: every process writes its own part, and any number of them reads it."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.files import Sums, Unwritten, digest, remove
from regard.train.checkpoint import Checkpoint, More, Tensors
from regard.train.distributed import Team, local

SHARDS = "shards"


def write_shards(team: Team, folder: Path, step: int, tensors: Tensors) -> More:
    """Write the shards of all processes, and give what moves them into a checkpoint with their checksums."""
    import torch.distributed.checkpoint as dcp

    waiting = folder.with_name(f".{SHARDS}.{step:032x}")  # a name that all processes know
    team.led(lambda: remove(waiting))  # what an attempt that failed left there
    try:
        # Every process hears of the fault of any, so that all end alike.
        dcp.save(flat(tensors), checkpoint_id=waiting)
    except dcp.CheckpointException as error:
        causes = [fault for fault, _ in error.failures.values()]
        cause = next((one for one in causes if isinstance(one, OSError)), OSError(str(causes[0])))
        size = sum(local(x).nbytes for values in tensors.values() for x in values.values())
        team.led(lambda: remove(waiting))
        raise Unwritten(cause, folder / f"step {step}", size * team.world) from error
    mine = [path for path in waiting.iterdir() if path.name.startswith(f"__{team.rank}_")]
    if team.leads:
        mine.append(waiting / ".metadata")
    told = team.gathered({f"{SHARDS}/{path.name}": digest(path) for path in mine})
    sums: Sums = {name: found for part in told for name, found in part.items()}

    def move(fresh: Path) -> Sums:
        waiting.rename(fresh / SHARDS)
        return sums

    return move


def fill(tensors: Tensors, found: Checkpoint, team: Team) -> None:
    """Fill tensors from a checkpoint in place, whole or sharded ones from whole or sharded ones."""
    if (found.path / SHARDS).exists():
        import torch.distributed.checkpoint as dcp

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="torch.distributed is disabled")
            try:
                dcp.load(flat(tensors), checkpoint_id=found.path / SHARDS, no_dist=team.world == 1)
            except dcp.CheckpointException as error:
                cause = next(iter(error.failures.values()))[0]
                raise ValueError(f"{found.path} does not fit the model: {cause}") from error
        return
    whole = found.tensors()
    for part, values in tensors.items():
        theirs = whole.get(part, {})
        if differing := sorted(set(values) ^ set(theirs)):
            raise ValueError(f"{found.path} does not fit the model: {part} differs in {differing[0]}")
        for name, x in values.items():
            put(x, theirs[name])


@torch.no_grad()
def put(x: Tensor, value: Tensor) -> None:
    """Copy a whole tensor into one that may be sharded."""
    if x.shape != value.shape:
        raise ValueError(f"a tensor of shape {tuple(value.shape)} does not fit one of {tuple(x.shape)}")
    if isinstance(x, DTensor):
        value = distribute_tensor(value.to(x.device), x.device_mesh, x.placements)
    x.copy_(value)


def flat(tensors: Tensors) -> dict[str, Tensor]:
    """All tensors under one name each."""
    return {f"{part}/{name}": x for part, values in tensors.items() for name, x in values.items()}
