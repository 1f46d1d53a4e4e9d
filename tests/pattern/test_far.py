"""Plans found on a shorter sequence are those found on the whole one, run by run."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.pattern import Causal, Deal, Strided, far, parse
from regard.pattern.intervals import merged
from regard.pattern.runs import Runs
from tests.pattern.measuring import measured
from tests.pattern.strategies import REGULAR, combined


def whole(pattern, n, ranks, deal):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(far, "received", lambda *_: None)
        return pattern.exchange(n, ranks, deal).needed


@settings(max_examples=80)
@given(combined(REGULAR, 4), st.integers(300, 4000), st.integers(1, 5), st.data())
def test_they_are_those_of_the_whole_sequence(pattern, n, ranks, data):
    kind = data.draw(st.sampled_from(["even", "zigzag", "given"]))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=ranks - 1, max_size=ranks - 1)))
    deal = [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)] if kind == "given" else kind
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(far, "WORTH", 0)
        patch.setattr(far, "_thinned", lambda _: True)
        found = pattern.exchange(n, ranks, deal).needed
    for one, true in zip(found, whole(pattern, n, ranks, deal), strict=True):
        assert torch.equal(one.positions(), true.positions())


@pytest.mark.parametrize(
    ("text", "n", "deal"),
    [
        ("sparsefixed(16, 2)", 9000, "zigzag"),
        ("sparsefixed(16, 2)", 8997, "even"),
        ("sparsestrided(9) & sparsefixed(6, 1)", 5011, "zigzag"),
        ("sparsefixed(8, 1) | sparsefixed(12, 2)", 10000, "zigzag"),
        ("sparsefixed(8, 3) & ~sparsefixed(8, 1) | global(20) & causal", 12345, [0, 5000, 1, 2000, 5344]),
        ("~sparsefixed(7, 2)", 9001, "pairs"),
    ],
)
def test_residues_are_put_back(text, n, deal):
    pattern, ranks = parse(text), len(deal) if isinstance(deal, list) else 5
    plan = pattern.exchange(n, ranks, deal)
    assert far.received(pattern, plan.deal) is not None
    for one, true in zip(plan.needed, whole(pattern, n, ranks, plan.deal), strict=True):
        assert torch.equal(one.positions(), true.positions())
        assert len(one.start) <= len(true.start)


def test_what_does_not_repeat_or_is_short_is_left_alone():
    deal = Deal.even(10_000, 4)
    for pattern in (parse("randomblocks(8, 2, 3)"), Strided(5), Causal()):
        assert far.received(pattern, deal) is None
    assert far.received(parse("sparsefixed(16, 2)"), Deal.even(100, 4)) is None


def test_a_thousand_ranks_in_seconds():
    """16M positions on 1,024 ranks, by what the plan holds and not by how often it repeats."""
    texts = ["sparsefixed(128, 4)", "randomblocks(64, 3, 7)", "neighbourhood(4096, 4096, 8)"]
    for text, (seconds, _) in zip(texts, measured(texts, 1 << 24, "exchange", None, (1024,)), strict=True):
        assert seconds < 10, text


def test_sets_of_runs_are_counted_and_met_without_being_listed():
    at = random.Random(5)
    for _ in range(200):
        lo = torch.tensor([at.randrange(0, 90) // 4 * 4 for _ in range(at.randrange(12))], dtype=torch.long)
        given = merged(lo, lo + at.choice([1, 2, 3, 9]))
        other = torch.tensor([at.randrange(0, 100) for _ in range(at.randrange(4))], dtype=torch.long)
        that = merged(other, other + at.randrange(30))
        runs, x = Runs.of(given), torch.arange(-3, 110)
        assert torch.equal(runs.below(x), given.below(x))
        assert torch.equal((runs & that).positions(), (given & that).positions())
