"""The attention kernels in a process of their own: Triton reads TRITON_INTERPRET when a kernel is defined."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard.attention import attend
from regard.attention.triton.tile_lists import LONGEST, tile_lists
from regard.pattern import Causal, Global, Pattern, Strided
from tests.attention.matching import COMPOSITE, inputs, patterns

pytest.importorskip("triton")
CASES = Path(__file__).with_name("tiles_interpreted.py")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def test_kernels_in_the_interpreter() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(CASES)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, env=environment, cwd=CASES.parents[2], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]


@pytest.mark.skipif(INTERPRETED, reason="the interpreter compiles nothing")
def test_every_kernel_compiles_for_a_gpu() -> None:
    command = [sys.executable, "-m", "tests.attention.kernels_compiled"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, env=environment, cwd=CASES.parents[2], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-4000:]
    assert run.stdout.split() == [
        "add_sheets", "backward_key", "backward_query", "forward", "hopper_forward", "segment_bounds",
        "segment_extents", "short_backward", "short_forward",
    ]  # fmt: skip


def test_the_hopper_kernel_needs_one() -> None:
    with pytest.raises(ValueError, match="impl='hopper' cannot: it runs on CUDA, the query is on cpu"):
        attend(*inputs(8), Causal(), impl="hopper")


@pytest.mark.skipif(INTERPRETED, reason="the interpreter lets the kernels run here")
def test_the_kernels_need_a_gpu() -> None:
    with pytest.raises(ValueError, match="impl='triton' cannot: they run on CUDA, the query is on cpu"):
        attend(*inputs(8), Causal(), impl="triton")


@pytest.mark.parametrize("index", range(len(patterns(1))))
@pytest.mark.parametrize("n", [(70, 70), (129, 129), (60, 200)], ids=str)
def test_the_lists_hold_the_pattern(index: int, n: tuple[int, int]) -> None:
    """By query and by key, full tiles as they are and partial ones by their masks."""
    N, M = n
    pattern = patterns(M, exact=N == M)[index]
    lists = tile_lists(pattern, N, M, torch.device("cpu"))
    size = lists.size
    for found, by_key in ((lists.by_query, False), (lists.by_key, True)):
        out = torch.zeros(-(-N // size) * size, -(-M // size) * size, dtype=torch.int8)
        for offsets, columns, masks in (
            (found.full_offsets, found.full_columns, None),
            (found.partial_offsets, found.partial_columns, found.partial_masks),
        ):
            for i, (first, last) in enumerate(zip(offsets.tolist(), offsets[1:].tolist(), strict=False)):
                for e in range(first, last):
                    j = int(columns[e])
                    row, col = (j, i) if by_key else (i, j)
                    mask = 1 if masks is None else lists.masks[masks[e]]
                    out[row * size : (row + 1) * size, col * size : (col + 1) * size] += mask
        # Rows past the last query may hold anything; keys past the last must not.
        assert not out[:N, M:].any()
        assert torch.equal(out[:N, :M], pattern.dense(N, M).to(torch.int8))


def test_the_pieces_of_a_column_are_short_and_whole() -> None:
    """A column that all queries see is cut; each of its tiles is in one piece."""
    n = 64 * 200
    for pattern in (Global(first=4) & Causal(), COMPOSITE, Strided(back=70)):
        lists = tile_lists(pattern, n, n, torch.device("cpu"))
        pieces = lists.pieces.tolist()
        counted = {"full": 0, "partial": 0}
        owner = torch.repeat_interleave(lists.shared, lists.first_sheet.diff())  # of each sheet
        assert len(owner) == lists.sheets
        for column, full, full_end, partial, partial_end, sheet in pieces:
            assert 0 <= full_end - full <= LONGEST
            assert 0 <= partial_end - partial <= LONGEST
            assert sheet == -1 or int(owner[sheet]) == column
            for name, first, last, offsets in (
                ("full", full, full_end, lists.by_key.full_offsets),
                ("partial", partial, partial_end, lists.by_key.partial_offsets),
            ):
                counted[name] += last - first
                assert offsets[column] <= first <= last <= offsets[column + 1]
        assert counted == {
            "full": len(lists.by_key.full_columns),
            "partial": len(lists.by_key.partial_columns),
        }
        assert sorted(piece[5] for piece in pieces if piece[5] >= 0) == list(range(lists.sheets))
        assert {piece[0] for piece in pieces} == set(range(200))  # a column that nobody sees gets its zeros
        assert (len(lists.shared) > 0) == (pattern != Strided(back=70))


@pytest.mark.parametrize("pattern", [COMPOSITE, Global(first=4)], ids=str)
def test_equal_patterns_share_their_lists(pattern: Pattern) -> None:
    device = torch.device("cpu")
    assert tile_lists(pattern, 500, 500, device) is tile_lists(pattern, 500, 500, device)
