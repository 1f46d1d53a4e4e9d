"""Padding, buckets, packing and windows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import attend
from regard.data.batching import POOL, buckets, documents, next_tokens, pack, pad, windows
from regard.pattern import Causal

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=9), min_size=1, max_size=12)


@given(ROWS, st.integers(1, 5))
def test_pad(rows, multiple):
    tokens, segments = pad(rows, 7, multiple=multiple)
    assert tokens.shape == segments.shape
    assert tokens.dtype == segments.dtype == torch.int64
    longest = max(map(len, rows))
    assert longest <= tokens.shape[1] < longest + multiple
    assert tokens.shape[1] % multiple == 0
    for row, ids, marks in zip(rows, tokens.tolist(), segments.tolist(), strict=True):
        assert ids == row + [7] * (len(ids) - len(row))
        assert marks == [0] * len(row) + [-1] * (len(ids) - len(row))


def test_pad_says_what_is_wrong():
    with pytest.raises(ValueError, match="rows must hold at least one row"):
        pad([], 0)
    with pytest.raises(ValueError, match="multiple=0"):
        pad([[1]], 0, multiple=0)


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 7), st.integers(0, 3), st.integers(0, 3))
def test_buckets_hold_every_example_once(lengths, batch, seed, epoch):
    parts = buckets(lengths, batch, seed=seed, epoch=epoch)
    assert sorted(i for part in parts for i in part.tolist()) == list(range(len(lengths)))
    assert len(parts) == -(-len(lengths) // batch)
    assert sum(len(part) != batch for part in parts) <= 1
    again = buckets(torch.tensor(lengths), batch, seed=seed, epoch=epoch)
    assert all(map(torch.equal, parts, again))


def test_buckets_are_of_like_length_and_change_with_the_epoch():
    lengths = torch.randint(1, 500, (3000,), generator=torch.Generator().manual_seed(0))
    parts = buckets(lengths, 16, seed=0, epoch=0)
    filled = sum(int(lengths[part].max()) * len(part) for part in parts)
    assert filled < 1.05 * int(lengths.sum())  # in random batches it is about 1.9 times
    other = buckets(lengths, 16, seed=0, epoch=1)
    assert {tuple(part.tolist()) for part in parts} != {tuple(part.tolist()) for part in other}
    assert [len(part) for part in parts].count(16) == 187
    first = [int(lengths[part].max()) for part in parts]
    assert first != sorted(first)
    assert len(parts) > POOL


def test_buckets_say_what_is_wrong():
    with pytest.raises(ValueError, match="batch=0"):
        buckets([1], 0, seed=0, epoch=0)
    with pytest.raises(ValueError, match=r"got shape \(2, 2\)"):
        buckets(torch.ones(2, 2), 1, seed=0, epoch=0)


@given(ROWS, st.integers(1, 8))
def test_pack_keeps_every_document(rows, length):
    tokens, segments = pack(rows, length, pad=100)
    assert tokens.shape == segments.shape == (len(tokens), length)
    found = []
    for ids, marks in zip(tokens.tolist(), segments.tolist(), strict=True):
        used = [mark for mark in marks if mark >= 0]
        assert marks == used + [-1] * (length - len(used))
        assert ids[len(used) :] == [100] * (length - len(used))
        assert sorted(set(used)) == list(range(max(used) + 1))
        assert used == sorted(used)
        found += [[i for i, m in zip(ids, marks, strict=True) if m == mark] for mark in set(used)]
    pieces = [row[i : i + length] for row in rows for i in range(0, len(row), length)]
    assert sorted(found) == sorted(pieces)


def test_pack_wastes_little():
    sizes = torch.randint(1, 60, (400,), generator=torch.Generator().manual_seed(0)).tolist()
    tokens, _ = pack([[1] * size for size in sizes], 64)
    in_order, room = 0, 0
    for size in sizes:
        if size > room:
            in_order, room = in_order + 1, 64
        room -= size
    floor = -(-sum(sizes) // 64)
    assert floor <= len(tokens) < floor + 0.25 * (in_order - floor)


def test_pack_says_what_is_wrong():
    with pytest.raises(ValueError, match="length=0"):
        pack([[1]], 0)
    assert pack([], 4)[0].shape == (0, 4)


@pytest.mark.parametrize("pattern", [None, Causal()])
def test_segments_are_the_documents_pattern(pattern):
    _, segments = pack([[1] * 3, [2] * 4, [3] * 2, [4] * 5], 10)
    generator = torch.Generator().manual_seed(0)
    for row in segments:
        q, k, v = torch.randn(3, 1, 2, 10, 4, generator=generator, dtype=torch.float64)
        apart = documents(row) if pattern is None else documents(row) & pattern
        want = attend(q, k, v, apart, impl="reference")
        kinds = {} if pattern is None else {"pattern": pattern}
        got = attend(q, k, v, segments=row[None], impl="reference", **kinds)
        real = row >= 0
        torch.testing.assert_close(got[:, :, real], want[:, :, real])


def test_documents_says_what_is_wrong():
    with pytest.raises(ValueError, match=r"one row \(N,\), got shape \(2, 3\)"):
        documents(torch.zeros(2, 3))


def test_next_tokens_stay_in_their_document():
    tokens, segments = pack([[1, 2, 3], [4, 5], [6]], 7, pad=9)
    targets = next_tokens(tokens, segments)
    for ids, marks, nexts in zip(tokens.tolist(), segments.tolist(), targets.tolist(), strict=True):
        for i, target in enumerate(nexts):
            last = i + 1 == len(ids) or marks[i + 1] != marks[i] or marks[i] < 0
            assert target == (-100 if last else ids[i + 1])


def test_windows_are_stretches_of_the_text():
    tokens = torch.arange(50) * 3
    found = windows(tokens, 6, 400, seed=0, step=0)
    assert found.shape == (400, 7)
    assert torch.equal(found - found[:, :1], (torch.arange(7) * 3).expand(400, 7))
    assert set((found[:, 0] // 3).tolist()) == set(range(44))
    assert torch.equal(windows(tokens[:7], 6, 1, seed=0, step=0), tokens[None, :7])


def test_windows_depend_on_seed_and_step():
    tokens = torch.arange(1000)
    first = windows(tokens, 4, 8, seed=0, step=5)
    assert torch.equal(first, windows(tokens, 4, 8, seed=0, step=5))
    for seed, step in ((0, 6), (5, 0), (1, 5)):
        assert not torch.equal(first, windows(tokens, 4, 8, seed=seed, step=step))


@pytest.mark.parametrize(("batch", "world"), [(8, 2), (7, 3), (2, 3)])
def test_ranks_share_one_batch(batch, world):
    tokens = torch.arange(1000)
    parts = [windows(tokens, 4, batch, seed=1, step=2, rank=rank, world=world) for rank in range(world)]
    assert torch.equal(torch.cat(parts), windows(tokens, 4, batch, seed=1, step=2))


def test_windows_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"got \(5,\) and length=5"):
        windows(torch.arange(5), 5, 1, seed=0, step=0)
    with pytest.raises(ValueError, match="rank must be at most 1, got rank=2"):
        windows(torch.arange(9), 5, 1, seed=0, step=0, rank=2, world=2)
