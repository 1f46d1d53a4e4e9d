"""What each of several processes does: it decodes with the others, and compares with what it does alone."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist

from regard.layers import Alibi, Learned, Rotary, Softmax
from regard.layers.rotary import DynamicScaling
from regard.models import GPT, GPTConfig
from regard.pattern import Causal, Global, Pattern, RandomBlocks, SparseStrided, Strided, Windowed
from tests.parallel.processes import counted, joined


@dataclass(frozen=True)
class DecodeCase:
    """A model by its parts, the length of a prompt and how many tokens are to follow."""

    pattern: Pattern | tuple[Pattern, ...]
    position: object = Learned()
    prompt: int = 23
    count: int = 12
    kv_heads: int | None = None
    batch: int = 2
    mixer: object = Softmax()

    def model(self) -> GPT:
        torch.manual_seed(0)
        config = GPTConfig(
            vocab=11, context=64, depth=2, width=16, heads=4, kv_heads=self.kv_heads, pattern=self.pattern,
            position=self.position, mixer=self.mixer,
        )  # fmt: skip
        return GPT(config).double().eval()


CASES = [
    DecodeCase(Causal(), Rotary(), kv_heads=2),
    DecodeCase((Strided(back=4), Causal()), Alibi()),
    DecodeCase(Strided(back=3), Alibi(), prompt=5, count=50, kv_heads=1),
    DecodeCase(Windowed(6) | Global(first=2) & Causal(), Rotary(), prompt=40),
    DecodeCase(SparseStrided(5), prompt=1, count=30, batch=1),
    DecodeCase(RandomBlocks(4, 1, 3) & Causal(), prompt=27, count=33),
    DecodeCase(~Strided(back=2) & Causal(), prompt=2, count=20),
    DecodeCase(
        Causal(), Rotary(scaling=DynamicScaling(2.0, 16), fraction=1.0), mixer=Softmax(scale=0.7, softcap=2.0)
    ),
]


def decodes(some: tuple[int, ...]) -> None:
    """Some cases, likeliest tokens and drawn ones, and the bytes of the first."""
    mesh = joined(int(os.environ["WORLD_SIZE"]))
    for i in some:
        case = CASES[i]
        model = case.model()
        tokens = torch.randint(11, (case.batch, case.prompt), generator=torch.Generator().manual_seed(i))
        for temperature in (0.0, 1.0):
            asked = {"max_new_tokens": case.count, "temperature": temperature}
            one = model.generate(tokens, **asked, generator=torch.Generator().manual_seed(3), impl="plain")
            with counted() as sent:
                many = model.generate(tokens, **asked, generator=torch.Generator().manual_seed(3), mesh=mesh)
            assert torch.equal(one, many), f"{case}: {one.tolist()} and {many.tolist()}"
        if i == 0:
            print(f"sent {sum(sent.values())} by {mesh.get_local_rank()}")
    stopped = CASES[0].model().generate(tokens[:1, :3], max_new_tokens=40, stop=(0, 1, 2, 3), mesh=mesh)
    alone = CASES[0].model().generate(tokens[:1, :3], max_new_tokens=40, stop=(0, 1, 2, 3), impl="plain")
    assert torch.equal(stopped, alone)
    print("decoded")
    dist.destroy_process_group()
