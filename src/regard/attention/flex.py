"""FlexAttention fed with block lists from our tiles, so that no n×m mask is ever made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.attention.inputs import pattern_of
from regard.attention.problem import Attended, Form, Problem
from regard.pattern import Documents, Pattern

VARIANTS = 256  # of one kernel, by pattern and length

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

    from regard.pattern.base import Atom


def refuses(form: Form) -> str | None:
    """Why FlexAttention cannot take the problem, or None."""
    if form.device.type != "cuda":
        return f"it has no backward on a CPU, the query is on {form.device}"
    if not form.plain:
        return "bias and segments would be compiled in; our own kernels take them as data"
    if form.empty:
        return "there is nothing to compute"
    return None


def attend(problem: Problem) -> Attended:
    """The output of the compiled FlexAttention."""
    form = problem.form
    mask = block_mask(problem.pattern, form.N, form.device, m=form.M)
    # Past the compiler's limit of variants, FlexAttention would quietly make every score.
    with torch._dynamo.config.patch(recompile_limit=VARIANTS, fail_on_recompile_limit_hit=True):
        out = _compiled()(
            problem.query, problem.key, problem.value, block_mask=mask, scale=problem.scale,
            enable_gqa=form.H != form.G,
        )  # fmt: skip
    assert isinstance(out, Tensor)
    return Attended(out)


@cache
def _compiled() -> Callable[..., object]:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False)


def block_mask(
    pattern: Pattern | str,
    n: int,
    device: torch.device | str = "cpu",
    *,
    m: int | None = None,
    size: int = 128,
) -> BlockMask:
    """A BlockMask for users of FlexAttention, from the pattern's tiles and not from its mask.

    >>> from regard.pattern import Strided
    >>> block_mask(Strided(back=128), 1024).sparsity()
    76.5625
    """
    pattern = pattern_of(pattern)
    n, m = pattern.resolve(n, m)
    where = torch.device(device)
    if where.type == "cuda" and where.index is None:  # "cuda" is another device in another context
        where = torch.device("cuda", torch.cuda.current_device())
    return _block_mask(pattern, n, m, where, size)


@lru_cache(maxsize=64)
def _block_mask(pattern: Pattern, n: int, m: int, device: torch.device, size: int) -> BlockMask:
    from torch.nn.attention.flex_attention import BlockMask

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
