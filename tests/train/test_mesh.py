"""Where weights lie on a mesh of two dimensions: along all processes, or along those of the batch."""

import os

import torch

from regard.models import GPT, GPTConfig
from regard.train.distributed import join, local
from tests.train.forks import ended, group


def placed() -> None:
    """Place a model on two times two processes in both ways, and say what this one holds."""
    device = torch.device("cpu")
    for sharding in ("shard", "shard-data"):
        team = join(device, sharding, context=2)
        model = GPT(GPTConfig(vocab=16, context=8, depth=1, width=8, heads=2))
        model = team.place(model, device)
        weight = model.state_dict()["blocks.0.feedforward.up.weight"]
        mine = local(weight).shape[0], weight.shape[0]
        sharing = team.sharing(GPT(model.config), device).sequences.ranks
        names = weight.device_mesh.mesh_dim_names
        print(f"{os.environ['RANK']} {sharding}: {mine} on {names}, {sharing.rank} of {sharing.size}")
    team.leave()


def test_weights_are_cut_along_both_dimensions_or_along_one(tmp_path):
    codes, text = ended(group(tmp_path / "log", 4, placed))
    assert codes == [0] * 4, text
    lines = sorted(line for line in text.splitlines() if "shard" in line)
    wanted = []
    for rank in range(4):
        wanted.append(f"{rank} shard-data: (16, 32) on ('context', 'data'), {rank % 2} of 2")
        wanted.append(f"{rank} shard: (8, 32) on ('all',), {rank % 2} of 2")
    assert lines == sorted(wanted)
