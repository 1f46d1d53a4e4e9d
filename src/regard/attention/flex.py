"""FlexAttention fed with block lists from our tiles, so that no n×m mask is ever made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.attention.problem import Problem
from regard.pattern import Documents, Pattern

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

    from regard.pattern.base import Atom


def refuses(problem: Problem) -> str | None:
    """Why FlexAttention cannot take the problem, or None."""
    if problem.query.device.type != "cuda":
        return f"it has no backward on a CPU, the query is on {problem.query.device}"
    if not problem.plain:
        return "bias and segments would be compiled in; our own kernels take them as data"
    if problem.empty:
        return "there is nothing to compute"
    return None


def attend(problem: Problem) -> Tensor:
    """The output of the compiled FlexAttention."""
    _, H, G, N, M = problem.sizes
    mask = block_mask(problem.pattern, N, problem.query.device, m=M)
    out = _compiled()(
        problem.query, problem.key, problem.value, block_mask=mask, scale=problem.scale, enable_gqa=H != G
    )
    assert isinstance(out, Tensor)
    return out


@cache
def _compiled() -> Callable[..., object]:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False)


@lru_cache(maxsize=64)
def block_mask(
    pattern: Pattern, n: int, device: torch.device | str = "cpu", *, m: int | None = None, size: int = 128
) -> BlockMask:
    """A BlockMask for users of FlexAttention, from the pattern's tiles and not from its mask.

    >>> from regard.pattern import Strided
    >>> block_mask(Strided(back=128), 1024).sparsity()
    76.5625
    """
    from torch.nn.attention.flex_attention import BlockMask

    n, m = pattern.resolve(n, m)
    tiles = pattern.tiles(n, m, size)
    full = _dense_lists(tiles.full_offsets, *tiles.full_at, tiles.shape[1], device)
    partial = _dense_lists(tiles.partial_offsets, *tiles.partial_at, tiles.shape[1], device)
    return BlockMask.from_kv_blocks(
        *partial, *full, BLOCK_SIZE=size, mask_mod=mask_mod(pattern, n, m, device), seq_lengths=(n, m)
    )


def mask_mod(pattern: Pattern, n: int, m: int, device: torch.device | str) -> Callable[..., Tensor]:
    """The pattern as FlexAttention's function of (batch, head, query index, key index)."""
    shift = m - n
    # Inside a compiled kernel a document is a table look-up.
    numbers = {atom: atom.numbers().to(device) for atom in pattern.atoms() if isinstance(atom, Documents)}

    def allowed(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        def value_of(atom: Atom) -> Tensor:
            if atom in numbers:
                return numbers[atom][q + shift] == numbers[atom][k]
            return atom.allows(q + shift, k)

        return pattern.fold(value_of)

    return allowed


def _dense_lists(
    offsets: Tensor, rows: Tensor, columns: Tensor, width: int, device: torch.device | str
) -> tuple[Tensor, Tensor]:
    """(how many tiles each row has, their columns in front of a row of zeros), as BlockMask wants them."""
    counts = offsets.diff()
    out = torch.zeros(len(counts), width, dtype=torch.int32)
    out[rows, torch.arange(len(columns)) - offsets[:-1][rows]] = columns.int()
    return counts[None, None].int().to(device), out[None, None].to(device)
