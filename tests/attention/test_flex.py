"""`block_mask` for FlexAttention: the blocks that torch finds by building the mask, found without it."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from regard.attention import attend, block_mask
from regard.attention.flex import mask_mod
from regard.pattern import Causal, Documents, Full, Pattern, Strided
from tests.attention.matching import inputs, patterns
from tests.pattern.strategies import cases


def unfolded(mask: BlockMask, by_query: bool) -> Tensor:
    """The mask that a kernel computes from the lists: full blocks as they are, partial ones cell by cell."""
    n, m = mask.seq_lengths
    rows, cols = mask.BLOCK_SIZE
    cells = mask.mask_mod(
        torch.tensor(0), torch.tensor(0), torch.arange(n)[:, None], torch.arange(m)[None, :]
    )
    out = torch.zeros(n, m, dtype=torch.bool)
    side = "kv" if by_query else "q"
    lists = [
        (getattr(mask, f"{x}{side}_num_blocks"), getattr(mask, f"{x}{side}_indices"), x != "")
        for x in ("", "full_")
    ]
    for counts, indices, full in lists:
        for i, count in enumerate(counts[0, 0].tolist()):
            for j in indices[0, 0, i, :count].tolist():
                r, c = (i, j) if by_query else (j, i)
                block = (slice(r * rows, (r + 1) * rows), slice(c * cols, (c + 1) * cols))
                assert not out[block].any()  # listed once
                out[block] = True if full else cells.expand(n, m)[block]
    return out


def listed(counts: Tensor | None, indices: Tensor | None) -> list[list[int]]:
    assert counts is not None
    assert indices is not None
    return [row[:count].tolist() for row, count in zip(indices[0, 0], counts[0, 0].tolist(), strict=True)]


@pytest.mark.parametrize("n", [1, 7, 40, 129])
@pytest.mark.parametrize("index", range(len(patterns(1))))
def test_the_lists_hold_the_pattern(index: int, n: int) -> None:
    wide = patterns(n + 9, exact=False)[index]
    for mask, want in (
        (block_mask(patterns(n)[index], n, size=16), patterns(n)[index].dense(n)),
        (block_mask(wide, n, m=n + 9, size=16), wide.dense(n, n + 9)),
    ):  # fmt: skip
        assert torch.equal(unfolded(mask, by_query=True), want)
        assert torch.equal(unfolded(mask, by_query=False), want)


@settings(max_examples=60)
@given(cases(most=60), st.sampled_from([8, 16]))
def test_the_lists_of_random_expressions(case: tuple[Pattern, int, int], size: int) -> None:
    pattern, n, m = case
    mask = block_mask(pattern, n, m=m, size=size)
    assert mask.seq_lengths == (n, m)
    assert torch.equal(unfolded(mask, by_query=True), pattern.dense(n, m))


@pytest.mark.parametrize("pattern", patterns(512), ids=str)
@pytest.mark.parametrize("n", [512, 384])
def test_torch_finds_the_same_blocks(pattern: Pattern, n: int) -> None:
    """On whole blocks, list for list; a short last block may be full to us and partial to torch."""
    if n < 512 and any(atom.total is not None for atom in pattern.atoms()):
        pattern = Causal() & pattern  # grids and documents for fewer queries than keys
    ours = block_mask(pattern, n, m=512)
    theirs = create_block_mask(mask_mod(pattern, n, 512, "cpu"), None, None, n, 512, device="cpu")
    assert ours.shape == theirs.shape
    assert ours.BLOCK_SIZE == theirs.BLOCK_SIZE == (128, 128)
    assert ours.sparsity() == theirs.sparsity()
    for name in ("kv", "full_kv", "q", "full_q"):
        a, b = (
            listed(getattr(x, f"{name}_num_blocks"), getattr(x, f"{name}_indices")) for x in (ours, theirs)
        )
        assert a == b, name
    assert torch.equal(ours.to_dense(), theirs.to_dense())


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_takes_it() -> None:
    """Uncompiled, as far as a CPU goes: forward only."""
    for pattern, n, m in (
        (Strided(back=100), 256, 256),
        (Documents((100, 156)) & Causal(), 100, 200),
        (Full(), 9, 7),
    ):
        xs = inputs((n, m), D=8, E=8)
        out = flex_attention(*xs, block_mask=block_mask(pattern, n, m=m))
        torch.testing.assert_close(out, attend(*xs, pattern, impl="reference"))


def test_equal_patterns_share_one_mask() -> None:
    assert block_mask(Strided(back=128), 1024) is block_mask(Strided(back=128), 1024)
    assert block_mask(Strided(back=128), 1024) is not block_mask(Strided(back=128), 1024, size=64)


def test_a_long_sequence_needs_no_mask() -> None:
    """torch would build 17 GB of cells."""
    mask = block_mask(Strided(back=128), 1 << 17, size=1024)
    assert mask.kv_num_blocks.sum() == 2 * 128 - 1
    assert mask.seq_lengths == (1 << 17, 1 << 17)


@pytest.mark.parametrize(
    ("pattern", "n", "options", "message"),
    [
        (Causal(), 9, {"m": 8}, "n ≤ m is needed, got n=9, m=8"),
        (Documents((3, 4)), 8, {}, r"documents\(\(3, 4\)\) covers 7 positions, got n=8"),
        (Causal(), 8, {"size": 0}, "size must be at least 1, got size=0"),
        (Causal(), -1, {}, "n must be at least 0, got n=-1"),
    ],
)
def test_bad_input(pattern: Pattern, n: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        block_mask(pattern, n, **options)
