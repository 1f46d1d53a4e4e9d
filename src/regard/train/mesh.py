"""All processes as one mesh of two dimensions: `context` shares a sequence, `data` shares the batch."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

SHARDINGS = ("replicate", "shard", "shard-data")
_MADE: dict[tuple[dist.ProcessGroup, str, int], DeviceMesh] = {}  # one for all that ask


def mesh_of(device: torch.device, world: int, context: int) -> DeviceMesh:
    """The mesh (context, world / context); neighbours in the order of all processes share a sequence.

    Its first dimension is `context`: FSDP2 replicates weights along the first of two and shards them along
    the second.
    """
    assert dist.group.WORLD is not None
    key = dist.group.WORLD, device.type, context
    if key not in _MADE:
        ranks = torch.arange(world).view(-1, context).T
        _MADE[key] = DeviceMesh(device.type, ranks, mesh_dim_names=("context", "data"))
    return _MADE[key]


def weights_mesh(mesh: DeviceMesh, sharding: str) -> DeviceMesh:
    """Where weights are sharded: along all processes, or along `data`, a copy for each part of a sequence.

    "shard" takes both dimensions as one. Those that share a sequence hold the same weights and make different
    parts of their gradient, just as those that share a batch: so nothing keeps a weight from being cut along
    both. Each process then holds 1/world of the weights and of what the optimiser remembers, not
    context/world, and gradients meet in one reduce-scatter instead of one and an all-reduce; with a single
    sequence for all processes, `data` has one member, and sharding along it would shard nothing. What speaks
    for "shard-data" is where links differ: weights are then gathered from world/context processes instead of
    all, and a copy of the model for each place in a sequence is the price.
    """
    if sharding == "shard-data" and mesh["context"].size() > 1:
        return mesh
    return mesh._flatten("all")
