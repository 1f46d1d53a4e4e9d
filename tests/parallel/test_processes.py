"""Attention over real processes, two to four of them, is that of one; they send what the plan says."""

import pytest

from tests.parallel import processes
from tests.train.forks import ended, group


@pytest.mark.parametrize("world", [2, 3, 4])
def test_many_cases(world, tmp_path):
    codes, text = ended(group(tmp_path / "log", world, processes.tries, 12, world))
    assert codes == [0] * world, text
    assert text.count("tried 12") == world


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("batch", "batch 1"),
        ("width", "widths 8, 8"),
        ("heads", "heads 2, 2"),
        ("dtype", "torch.float32"),
        ("segments", "no segments"),
        ("pattern", "strided(4)"),
    ],
)
def test_ranks_that_call_otherwise_are_told_so(kind, told, tmp_path):
    codes, text = ended(group(tmp_path / "log", 2, processes.differing, kind))
    assert codes == [0, 0], text
    assert text.count("refused: all ranks must call alike: rank 0 differs from rank 1 by " + told) == 2
    assert text.count("refused: all ranks must call alike: rank 1 differs from rank 0 by") == 2
