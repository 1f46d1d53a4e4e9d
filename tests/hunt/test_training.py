"""A few tries of each hunt for what can happen to a run; `python -m tests.hunt NAME --times N` tries more."""

import pytest

from tests.hunt import disks, flips, kills, rivals


@pytest.mark.parametrize(
    ("hunter", "times"),
    [(kills, 9), (flips, 8), (disks, 3), (rivals, 3)],
    ids=["kills", "flips", "disks", "rivals"],
)
def test_nothing_is_found(hunter, times):
    found = hunter.hunt(times, seed=0)
    assert sum(found.tried.values()) == times
    assert found.faults == []
