"""Seeds that depend on what they are for."""

import pytest
import torch

from regard.data.draws import generator, seed_of


def test_keys_do_not_meet():
    keys = [(a, b, name) for a in range(20) for b in range(20) for name in ("x", "y")]
    keys += [(1,), (1, 1), ("1",), ("1", 1), (11,), ()]
    seeds = {seed_of(*key) for key in keys}
    assert len(seeds) == len(keys)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_seeds_stay_what_they_are():
    # A run that is resumed by a later version must draw the same numbers.
    assert seed_of(0, 1, "buckets") == 7_074_828_016_002_339_904
    assert torch.equal(torch.rand(4, generator=generator(7)), torch.rand(4, generator=generator(7)))


@pytest.mark.parametrize("part", [1.5, None, True, (1, 2)])
def test_other_parts_are_refused(part):
    with pytest.raises(ValueError, match="key must consist of integers and strings"):
        seed_of(0, part)
