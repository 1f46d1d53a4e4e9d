"""`attend`, and `choose`, which says what it would do and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from regard.attention import reference
from regard.attention.bands import band_of, bands_of
from regard.attention.bias import DistanceBias
from regard.attention.problem import Problem, check
from regard.pattern import Causal, Full, Pattern

SMALL = 1 << 18  # pairs below which one masked call beats any plan on a CPU


@dataclass(frozen=True)
class Choice:
    """A backend and the reason for it, in one sentence."""

    impl: str
    why: str

    def as_dict(self) -> dict[str, str]:
        """The name and the reason, as `--json` prints them."""
        return asdict(self)


class Backend(Protocol):
    """What the module of a backend has."""

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot take the problem, or None."""

    def attend(self, problem: Problem) -> Tensor:
        """The output of a problem that it does not refuse."""


BACKENDS = {
    "reference": "the definition; any device and dtype, weights and dropout; time and memory N·M",
    "sdpa": "torch's fused kernels; patterns other than full and causal go through a dense mask",
    "folded": "windows, blocks and residue classes folded into the batch",
    "chunked": "bands by chunks of queries with their stretch of keys; CPU",
    "gathered": "the non-empty tiles of any pattern gathered per query tile; CPU",
    "triton": "our kernels over bands, windows, segments and tile lists; CUDA",
    "flex": "FlexAttention with block lists from our tiles; CUDA",
}


def attend(  # noqa: PLR0913 - the signature is the public contract
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern = Full(),  # noqa: B008 - a frozen value
    *,
    scale: float | None = None,
    bias: Tensor | DistanceBias | None = None,
    segments: Tensor | None = None,
    dropout: float = 0.0,
    impl: str = "auto",
    return_weights: bool = False,
    generator: torch.Generator | None = None,
) -> Any:  # the output, or (output, weights)
    """Attention of query (B,H,N,D) over key (B,G,M,D) and value (B,G,M,E): (B,H,N,E).

    A pair counts where the pattern allows it and, with `segments` (B,M), both positions carry the same
    non-negative number. The N queries are the last of the M positions. `return_weights=True` gives
    (out, weights). `impl` names a backend, which runs or raises; "auto" chooses one.

    >>> from regard.pattern import Strided
    >>> x = torch.eye(3).view(1, 1, 3, 3)
    >>> out, weights = attend(x, x, x, Strided(back=1), scale=0.0, return_weights=True)
    >>> weights[0, 0].tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    """
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout=}")
    problem = check(query, key, value, pattern, scale, bias, segments)
    if impl == "auto":
        impl = _choose(problem, dropout, return_weights).impl
    if impl == "reference":
        out, weights = reference.attend(problem, dropout, generator)
        return (out, weights) if return_weights else out
    if impl not in BACKENDS:
        raise ValueError(f"impl must be 'auto' or one of {', '.join(BACKENDS)}, got {impl=}")
    if return_weights:
        raise ValueError(f"impl={impl!r} never makes the weights; impl='reference' returns them")
    if dropout:
        raise ValueError(f"impl={impl!r} has no dropout on weights, got {dropout=}; impl='reference' has")
    backend = cast(Backend, import_module(f"regard.attention.{MODULES.get(impl, impl)}"))
    if (why := backend.refuses(problem)) is not None:
        raise ValueError(f"impl={impl!r} cannot: {why}")
    return backend.attend(problem)


MODULES = {name: f"cpu.{name}" for name in ("folded", "chunked", "gathered")} | {"triton": "triton.tiles"}


def choose(
    query: Tensor,
    key: Tensor,
    pattern: Pattern = Full(),  # noqa: B008 - a frozen value
    *,
    value: Tensor | None = None,
    bias: Tensor | DistanceBias | None = None,
    segments: Tensor | None = None,
    dropout: float = 0.0,
    return_weights: bool = False,
) -> Choice:
    """What `attend(…, impl="auto")` would run, and why.

    >>> x = torch.zeros(1, 1, 8, 4)
    >>> choose(x, x, Causal())
    Choice(impl='sdpa', why="torch's fused kernel knows the causal triangle")
    """
    problem = check(query, key, key if value is None else value, pattern, None, bias, segments)
    return _choose(problem, dropout, return_weights)


def _choose(problem: Problem, dropout: float, return_weights: bool) -> Choice:  # noqa: PLR0911 - a list of cases
    if return_weights:
        return Choice("reference", "only the definition returns weights")
    if dropout:
        return Choice("reference", "only the definition drops weights")
    if isinstance(problem.bias, Tensor):
        if problem.bias.requires_grad:
            return Choice("reference", "only the definition gives a bias its gradient")
        return Choice("sdpa", "a bias tensor is dense already, so a dense mask costs nothing more")
    B, H, _, N, M = problem.sizes
    if 0 in (B, H, N, M):
        return Choice("sdpa", "there is nothing to compute")
    if problem.plain and problem.pattern == Full():
        return Choice("sdpa", "torch's fused kernel knows full attention")
    if problem.plain and problem.pattern == Causal() and N in (1, M):
        return Choice("sdpa", "torch's fused kernel knows the causal triangle")
    device = problem.query.device.type
    if device == "cuda":
        return _choose_cuda(problem)
    if device == "cpu":
        return _choose_cpu(problem)
    return Choice("sdpa", f"on {device} torch's kernel with a dense mask is what runs")


def _choose_cuda(problem: Problem) -> Choice:
    from regard.attention.cpu import folded
    from regard.attention.triton import tiles

    if problem.query.dtype == torch.float64:
        return Choice("reference", "float64 is for definitions")
    band = band_of(problem.pattern)
    if problem.plain and folded.refuses(problem) is None and band is not None and (band.window or 0) >= 64:
        return Choice("folded", "whole windows are small full problems that torch's kernels run best")
    refusal = tiles.refuses(problem)
    if refusal is not None:
        return Choice("sdpa", f"a dense mask, because our kernels cannot: {refusal}")
    if bands_of(problem.pattern) is not None:
        return Choice("triton", "the keys of a row follow from arithmetic")
    return Choice("triton", "the non-empty tiles are listed and only those are computed")


def _choose_cpu(problem: Problem) -> Choice:
    from regard.attention.cpu import chunked, folded

    _, _, _, N, M = problem.sizes
    if folded.refuses(problem) is None:
        return Choice("folded", "windows and residue classes fold into the batch")
    if N * M <= SMALL:
        return Choice("sdpa", "so few pairs that one masked call is fastest")
    if chunked.refuses(problem) is None:
        return Choice("chunked", "a band needs only a stretch of keys per chunk of queries")
    share = _share(problem.pattern, N, M)
    if share > 0.6:
        return Choice("sdpa", f"{share:.0%} of the tiles hold allowed pairs, so a dense mask wastes little")
    return Choice("gathered", f"only {share:.0%} of the tiles hold allowed pairs, and those are gathered")


@lru_cache(maxsize=256)
def _share(pattern: Pattern, n: int, m: int) -> float:
    tiles = pattern.tiles(n, m)
    return (tiles.full + tiles.partial) / (tiles.shape[0] * tiles.shape[1])
