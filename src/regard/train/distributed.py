"""Several processes on one model, by PyTorch's own engine: DDP, or FSDP2 for models that do not fit.

Start them with `torchrun --nproc-per-node N -m regard train …`; torchrun tells each its number.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from regard.train import checkpoint
from regard.train.checkpoint import Tensors
from regard.train.optimizers import Optimizer

SHARDS = "shards"


@dataclass(frozen=True)
class Team:
    """This process among all that train together.

    >>> Team().leads, Team(rank=1, world=2).leads
    (True, False)
    """

    rank: int = 0
    world: int = 1
    sharding: str = "replicate"

    @property
    def leads(self) -> bool:
        """Whether this process writes files and speaks."""
        return self.rank == 0

    @property
    def shards(self) -> bool:
        """Whether each process holds a part of the weights."""
        return self.world > 1 and self.sharding == "shard"

    def place(self, model: nn.Module, device: torch.device) -> nn.Module:
        """The model on its device; sharded where the recipe says so."""
        model = model.to(device)
        if self.shards:
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.fsdp import fully_shard

            mesh = init_device_mesh(device.type, (self.world,))
            for block in getattr(model, "blocks", ()):
                fully_shard(block, mesh=mesh)
            # Shards again after every forward: between steps all weights are seen in their shards.
            fully_shard(model, mesh=mesh, reshard_after_forward=True)
        return model

    def wrap(self, objective: nn.Module) -> nn.Module:
        """The objective with its gradients averaged over all processes."""
        if self.world == 1 or self.shards:
            return objective
        device = next(objective.parameters()).device
        return nn.parallel.DistributedDataParallel(
            objective, device_ids=None if device.type == "cpu" else [device.index]
        )

    def gathering(self, objective: Any, *, last: bool) -> AbstractContextManager[Any]:
        """Gradients meet in the last part of a batch only."""
        whole = getattr(objective, "_orig_mod", objective)  # what torch.compile wrapped
        if self.shards and hasattr(whole.model, "set_requires_gradient_sync"):
            whole.model.set_requires_gradient_sync(last)
            return nullcontext()
        if last or not isinstance(whole, nn.parallel.DistributedDataParallel):
            return nullcontext()
        return whole.no_sync()

    def sum(self, x: Tensor) -> None:
        """Add up a tensor over all processes, in place."""
        if self.world > 1:
            dist.all_reduce(x)

    def norm(self, grads: Sequence[Tensor]) -> Tensor:
        """The length of the gradient over all weights."""
        found = torch.nn.utils.get_total_norm(list(grads))
        return found.full_tensor() if isinstance(found, DTensor) else found

    def agree(self, value: float) -> float:
        """The leader's number, for all."""
        if self.world == 1:
            return value
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        x = torch.tensor([value], dtype=torch.float64, device=device)
        dist.broadcast(x, 0)
        return float(x)

    def any(self, flag: bool) -> bool:
        """Whether it holds for one process at least."""
        if self.world == 1:
            return flag
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        x = torch.tensor([float(flag)], device=device)
        dist.all_reduce(x)
        return float(x) > 0

    def wait(self) -> None:
        """Until all processes are here."""
        if self.world > 1:
            dist.barrier()

    def leave(self) -> None:
        """End the group."""
        if self.world > 1 and dist.is_initialized():
            dist.destroy_process_group()


def join(device: torch.device, sharding: str) -> Team:
    """The group that torchrun started, or a team of one."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return Team()
    rank = int(os.environ["RANK"])
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Team(rank, world, sharding)


def lost(error: RuntimeError) -> bool:
    """Whether an error says that another process cannot be reached any more."""
    words = ("gloo", "NCCL", "Connection", "TCPStore", "store->get")
    return isinstance(error, dist.DistError) or any(word in str(error) for word in words)


def local(x: Tensor) -> Tensor:
    """The part of a sharded tensor that this process holds; any other tensor as it is."""
    return x.to_local() if isinstance(x, DTensor) else x


def write_together(
    team: Team, folder: Path, step: int, tensors: Tensors, state: dict[str, Any], *, keep: int
) -> None:
    """Write a checkpoint: the leader alone, or every process its own shards and the leader the rest."""
    more = None
    if team.shards:
        import torch.distributed.checkpoint as dcp

        waiting = folder.with_name(f".{SHARDS}")  # all write here; the leader moves it into the checkpoint
        dcp.save(flat(tensors), checkpoint_id=waiting)
        tensors, more = {}, lambda path: _move(waiting, path / SHARDS)
    try:
        if team.leads:
            checkpoint.write(folder, step, tensors, state, keep=keep, more=more)
    finally:
        team.wait()  # whatever came of it, all go on together


def read_together(path: Path, team: Team, tensors: Tensors, optimizer: Optimizer, model: nn.Module) -> None:
    """Fill model, averages and optimiser from shards that any number of processes wrote."""
    import torch.distributed.checkpoint as dcp

    if not (path / SHARDS).exists():
        raise ValueError(f"{path} was written without sharding; resume with sharding=replicate")
    if not team.shards:
        raise ValueError(f"{path} was written in shards; resume with torchrun and sharding=shard")
    if not tensors["optimizer"]:
        tensors = {**tensors, "optimizer": optimizer.empty_state()}
    dcp.load(flat(tensors), checkpoint_id=path / SHARDS)  # in place
    optimizer.load(tensors["optimizer"])
    model.load_state_dict(tensors["model"])


def flat(tensors: Tensors) -> dict[str, Tensor]:
    """All tensors under one name each."""
    return {f"{part}/{name}": x for part, values in tensors.items() for name, x in values.items()}


def _move(source: Path, target: Path) -> None:
    for file in source.iterdir():
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
    source.rename(target)


def whole_weights(model: nn.Module) -> dict[str, Tensor]:
    """All weights of a model, put together from their shards."""
    return {
        name: (x.full_tensor() if isinstance(x, DTensor) else x).detach()
        for name, x in model.state_dict().items()
    }
