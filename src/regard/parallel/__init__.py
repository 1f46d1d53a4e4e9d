"""Sequences over many ranks: attention across a device mesh, by the exchange that the pattern plans."""

from regard.parallel.attend import attend_sharded
from regard.parallel.held import HeldKeys
from regard.parallel.ranks import MeshRanks, Ranks
from regard.parallel.sequence import gather_sequence, shard_sequence
from regard.parallel.shard import Shard
from regard.parallel.simulated import SimulatedRanks
from regard.parallel.turn import Turn

__all__ = [
    "HeldKeys",
    "MeshRanks",
    "Ranks",
    "Shard",
    "SimulatedRanks",
    "Turn",
    "attend_sharded",
    "gather_sequence",
    "shard_sequence",
]
