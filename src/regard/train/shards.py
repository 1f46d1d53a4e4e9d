"""Checkpoints of sharded weights: every process writes its own part, and any number of them reads it."""

import warnings
from pathlib import Path

import torch
from torch import Tensor

from regard.files import Sums, Unwritten, digest, remove
from regard.train.checkpoint import Checkpoint, More, Tensors
from regard.train.distributed import Team, is_sharded, local

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


def fill(tensors: Tensors, found: Checkpoint, team: Team) -> Tensors:
    """Fill tensors from a checkpoint in place, whole or sharded ones from whole or sharded ones; give those.

    A weight that never had a gradient has nothing in the optimiser, and is left out there.
    """
    sharded = (found.path / SHARDS).exists()
    whole = {} if sharded else flat(found.tensors())
    there = _names(found.path / SHARDS) if sharded else set(whole)
    wanted = {
        part: {name: x for name, x in values.items() if part != "optimizer" or f"{part}/{name}" in there}
        for part, values in tensors.items()
    }
    names = {name for name in there if name.split("/")[0] in wanted}
    if differing := sorted(names ^ set(flat(wanted))):
        raise ValueError(f"{found.path} does not fit the model: {differing[0]} is not in both")
    if tensors.get("optimizer") and not wanted["optimizer"]:
        raise ValueError(f"{found.path} does not fit the model: it has nothing of the optimiser")
    if sharded:
        _fill_from_shards(flat(wanted), found.path, team)
    else:
        for name, x in flat(wanted).items():
            put(x, whole[name], name)
    return wanted


def _names(shards: Path) -> set[str]:
    from torch.distributed.checkpoint import FileSystemReader

    return set(FileSystemReader(shards).read_metadata().state_dict_metadata)


def _fill_from_shards(tensors: dict[str, Tensor], path: Path, team: Team) -> None:
    import torch.distributed.checkpoint as dcp

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        try:
            dcp.load(tensors, checkpoint_id=path / SHARDS, no_dist=team.world == 1)
        except dcp.CheckpointException as error:
            cause = next(iter(error.failures.values()))[0]
            raise ValueError(f"{path} does not fit the model: {cause}") from error


@torch.no_grad()
def put(x: Tensor, value: Tensor, name: str) -> None:
    """Copy a whole tensor into one that may be sharded."""
    if x.shape != value.shape:
        raise ValueError(
            f"{name} of the checkpoint does not fit the model: it is {tuple(value.shape)}, "
            f"not {tuple(x.shape)}"
        )
    if is_sharded(x):
        from torch.distributed.tensor import distribute_tensor

        value = distribute_tensor(value.to(x.device), x.device_mesh, x.placements)
    x.copy_(value)


def flat(tensors: Tensors) -> dict[str, Tensor]:
    """All tensors under one name each."""
    return {f"{part}/{name}": x for part, values in tensors.items() for name, x in values.items()}
