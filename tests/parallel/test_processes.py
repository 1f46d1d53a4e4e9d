"""Attention over real processes, two to four of them, is that of one; they send what the plan says."""

import pytest

from tests.parallel import processes
from tests.train.forks import ended, group


@pytest.mark.parametrize("world", [2, 3, 4])
def test_many_cases(world, tmp_path):
    codes, text = ended(group(tmp_path / "log", world, processes.tries, 12, world))
    assert codes == [0] * world, text
    assert text.count("tried 12") == world
