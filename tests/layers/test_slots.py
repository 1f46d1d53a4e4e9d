"""Slots against a simulation that writes every key."""

import pytest
import torch

from regard.layers import LayerCache
from regard.layers.slots import Layout, layout_of
from regard.pattern import Axial, Causal, Documents, Global, Neighbourhood, Strided, Windowed


@pytest.mark.parametrize(("first", "recent"), [(0, 1), (0, 5), (3, 0), (3, 1), (2, 4), (9, 7)])
def test_held_is_what_writing_every_key_leaves(first, recent):
    layout = Layout(first, recent)
    slots = [-1] * layout.size
    for p in range(40):
        if recent or p < first:
            slots[layout.slot(p)] = p
            assert int(layout.slot(torch.tensor([p]))) == layout.slot(p)
        assert layout.held(torch.tensor([p])).tolist() == [slots]
    rows = torch.tensor([0, 13, 39])
    assert torch.equal(layout.held(rows), torch.cat([layout.held(row[None]) for row in rows]))


@pytest.mark.parametrize(
    "pattern",
    [Neighbourhood(rows=4, cols=5, reach=1), Axial(rows=4, cols=5), Axial(4, 5) & Strided(back=6)],
    ids=str,
)
def test_a_geometry_holds_what_can_still_be_seen(pattern):
    pattern = pattern & Causal()
    layout = layout_of(pattern, 20)
    seen = pattern.dense(20)
    assert layout.size <= pattern.keys_kept()
    for p in range(20):
        alive = {k for k in range(p + 1) if seen[p:, k].any()}
        held = set(layout.held(torch.tensor([p]))[0].tolist()) - {-1}
        assert held == alive if layout.table is not None else held >= alive


def test_how_many_slots():
    sizes = {
        Strided(back=3): 4,
        Windowed(size=6): 6,
        Causal(): 100,
        Strided(back=3) | Global(first=2) & Causal(): 6,
        Documents(lengths=(7, 90)) & Causal(): 90,
        Strided(back=300): 100,
    }
    assert {pattern: layout_of(pattern, 100).size for pattern in sizes} == sizes


def test_the_ring_is_written_in_place():
    cache = LayerCache(Strided(back=3), capacity=1000)
    step = torch.zeros(1, 1, 1, 2)
    cache.extend(step, step)
    where = cache.key.data_ptr()
    for t in range(1, 50):
        cache.extend(step + t, step)
    assert cache.key.data_ptr() == where
    assert sorted(cache.key[0, 0, :, 0].tolist()) == [46, 47, 48, 49]


def test_an_unbounded_cache_doubles():
    cache = LayerCache(Causal(), capacity=1000)
    sizes = set()
    for t in range(300):
        step = torch.full((1, 1, 1, 2), float(t))
        cache.extend(step, step)
        sizes.add(cache.key.shape[2])
    assert sizes == {64, 128, 256, 512}
    assert torch.equal(cache.key[0, 0, :300, 0], torch.arange(300.0))
