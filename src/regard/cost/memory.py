"""How fast decoding can be: each token reads all weights and the cache once, and memory sets the pace."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import lru_cache

import torch
from torch import Tensor

from regard.cost.pricing import price
from regard.cost.result import Cost
from regard.models import GPT

SIDE = 1 << 13  # of a matrix that no cache holds: 256 MiB in float32
TIMES = 12  # the best counts: a machine is seldom left alone


@dataclass(frozen=True)
class DecodingFloor:
    """The bytes of one token on average, and the bytes a second that memory gives."""

    bytes_a_token: float
    bandwidth: float

    @property
    def milliseconds(self) -> float:
        """The least time of a token (of every row of the batch)."""
        return 1e3 * self.bytes_a_token / self.bandwidth

    @property
    def tokens_a_second(self) -> float:
        """The most tokens a second of one row."""
        return self.bandwidth / self.bytes_a_token

    def as_dict(self) -> dict[str, float]:
        """All figures by name."""
        return asdict(self) | {"milliseconds": self.milliseconds, "tokens_a_second": self.tokens_a_second}

    def __str__(self) -> str:
        return (
            f"at least {self.milliseconds:.3g} ms a token, at most {self.tokens_a_second:,.0f} tokens/s: "
            f"{self.bytes_a_token / 1e6:,.1f} MB of weights and cache each, "
            f"at {self.bandwidth / 1e9:,.1f} GB/s"
        )


def floor_of(moved: Cost, tokens: int, bandwidth: float, before: Cost | None = None) -> DecodingFloor:
    """The floor by a price with `decode=True` of so many tokens, without those priced in `before`.

    >>> from regard.models import GPTConfig
    >>> config = GPTConfig(vocab=50, context=64, depth=1, width=8, heads=2)
    >>> found = floor_of(price(config, tokens=10, decode=True), 10, bandwidth=1e9)
    >>> found.bytes_a_token > 4 * 1_000, found.tokens_a_second < 1e6
    (True, True)
    """
    total, less = moved.moved_bytes, 0 if before is None else before.moved_bytes
    assert isinstance(total, int)
    assert isinstance(less, int)
    return DecodingFloor((total - less) / tokens, bandwidth)


def model_floor(model: GPT, begin: int, tokens: int, batch: int = 1) -> DecodingFloor:
    """The floor of a model here: of so many tokens behind the first `begin`, at its memory's speed."""
    weight = model.embed.weight

    def priced(count: int) -> Cost:
        return price(model.config, tokens=count, batch=batch, decode=True, dtype=weight.dtype)

    return floor_of(priced(begin + tokens), tokens, bandwidth(weight.device.type), priced(begin))


@lru_cache(maxsize=4)
def bandwidth(device: str = "cpu") -> float:
    """The bytes a second at which this machine reads its memory, measured: the best of a few products.

    A matrix that no cache holds, times a vector: what decoding one row does all the time.
    """
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    scale = 4 if device == "cuda" else 1
    matrix = torch.ones(SIDE * scale, SIDE, dtype=kind, device=device)
    vector = torch.ones(SIDE, dtype=kind, device=device)
    return matrix.nbytes / min(_seconds(matrix, vector) for _ in range(TIMES))


def _seconds(matrix: Tensor, vector: Tensor) -> float:
    begin = time.perf_counter()
    (matrix @ vector)[:1].tolist()  # which waits for a GPU
    return time.perf_counter() - begin
