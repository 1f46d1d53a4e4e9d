"""What ranks exchange: exactly what the mask says, dealt in every way, quickly and in little memory."""

import json
import xml.etree.ElementTree as ET

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.pattern import Causal, Deal, Documents, Full, Global, Strided, Windowed, parse
from regard.pattern.dealing import dealt, imbalance
from tests.pattern.measuring import measured
from tests.pattern.own import OWN
from tests.pattern.strategies import cases

SQUARE = cases().filter(lambda case: case[1] == case[2])


def assert_minimal(plan):
    """Every key of another rank that some query may see, none that none may see; and pairs as in the mask."""
    dense, n, P = plan.pattern.dense(plan.n), plan.n, plan.ranks
    held = [runs.positions() for runs in plan.held]
    assert torch.cat(held).sort().values.tolist() == list(range(n))
    between = torch.zeros(P, P, dtype=torch.long)
    for rank in range(P):
        seen = set(dense[held[rank]].any(0).nonzero()[:, 0].tolist()) if len(held[rank]) else set()
        foreign = seen - set(held[rank].tolist())
        assert plan.needed[rank].positions().tolist() == sorted(foreign)
        assert plan.pairs[rank] == int(dense[held[rank]].sum())
        parts = [plan.sent(source, to=rank).positions().tolist() for source in range(P)]
        assert sorted(key for part in parts for key in part) == sorted(foreign)
        assert all(set(part) <= set(own.tolist()) for part, own in zip(parts, held, strict=True))
        between[:, rank] = torch.tensor([len(part) for part in parts])
    assert torch.equal(plan.between, between)
    assert plan.keys == int(between.sum()) == sum(plan.sent_keys) == sum(plan.received_keys)


@given(SQUARE, st.integers(1, 6), st.sampled_from(["auto", "even", "zigzag", "pairs"]))
def test_it_is_exact_and_minimal(case, ranks, deal):
    pattern, n, _ = case
    assert_minimal(pattern.exchange(n, ranks, deal))


@given(SQUARE, st.data())
def test_uneven_parts_and_empty_ones(case, data):
    pattern, n, _ = case
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=4)))
    lengths = [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    assert_minimal(pattern.exchange(n, len(lengths), lengths))


@pytest.mark.parametrize("pattern", OWN, ids=str)
def test_own_patterns(pattern):
    for deal in ("auto", "pairs"):
        assert_minimal(pattern.exchange(29, 3, deal))


def needed(pattern, n, ranks, deal="even"):
    return [str(keys) for keys in pattern.exchange(n, ranks, deal).needed]


def test_what_each_pattern_needs():
    assert needed(Strided(back=3), 16, 4) == ["nothing", "1…3", "5…7", "9…11"]
    assert needed(Windowed(4), 16, 4) == ["nothing"] * 4
    assert needed(Windowed(5), 16, 2) == ["nothing", "5…7"]
    assert needed(Global(2) & Causal() | Strided(0), 12, 3) == ["nothing", "0…1", "0…1"]
    assert needed(parse("dilated(3, 5)"), 20, 10)[8] == "1…2 and every 5 on, 3 times"
    assert needed(parse("sparsefixed(4, 1)"), 24, 2)[1] == "3 and every 4 on, 3 times"
    assert needed(Documents((6, 2, 8)), 16, 4) == ["4…5", "0…3", "12…15", "8…11"]
    assert needed(Full(), 8, 2) == ["4…7", "0…3"]


def test_how_positions_are_dealt():
    assert Causal().exchange(1 << 12, 8).deal.name == "zigzag"
    assert Causal().exchange(1 << 12, 8).imbalance == 1.0
    assert Causal().exchange(1 << 12, 8, "even").imbalance > 1.8
    assert Causal().exchange(1 << 12, 8, "pairs").imbalance < 1.02
    lengths = [runs.count for runs in Causal().exchange(1 << 12, 8, "pairs").held]
    assert lengths == sorted(lengths, reverse=True)
    assert Strided(back=64).exchange(1 << 12, 8).deal.name == "even"
    assert dealt((Strided(back=64), Causal()), 1 << 12, 8).name == "zigzag"
    assert imbalance([0, 0]) == 1.0
    given = Deal.of_lengths([3, 0, 5])
    assert Causal().exchange(8, 3, given) == Causal().exchange(8, 3, [3, 0, 5])
    assert Causal().exchange(8, 3, given).held[1].count == 0


def test_more_ranks_than_positions():
    plan = Causal().exchange(3, 8)
    assert sum(runs.count for runs in plan.held) == 3
    assert_minimal(plan)
    assert Causal().exchange(0, 4).keys == 0
    assert Causal().exchange(0, 4).draw() == "\n\n\n"
    assert Causal().exchange(5, 1).keys == 0
    assert Causal().exchange(5, 1).share_of_ring == 0.0


@pytest.mark.parametrize(
    ("n", "ranks", "deal", "message"),
    [
        (8, 0, "auto", "ranks must be at least 1, got ranks=0"),
        (
            8,
            2,
            "odd",
            "deal must be one of auto, even, zigzag, pairs or a length for each rank, got deal='odd'",
        ),
        (8, 2, [3, 4], "deal must give n=8 positions to ranks=2, got 7 positions for 2: "),
        (8, 2, [8], "deal must give n=8 positions to ranks=2, got 8 positions for 1"),
        (8, 2, [9, -1], r"deal\[1\] must be at least 0"),
        (-1, 2, "auto", "n must be at least 0"),
    ],
)
def test_what_cannot_be_planned(n, ranks, deal, message):
    with pytest.raises(ValueError, match=message):
        Causal().exchange(n, ranks, deal)
    with pytest.raises(ValueError, match="covers 7 positions"):
        Documents((3, 4)).exchange(8, 2)


SOON = [
    "full", "causal", "strided(256)", "strided(4096)", "windowed(1000)", "blocks(1000)", "dilated(128, 8)",
    "dilated(4, 200000)", "sparsestrided(128)", "global(4)", "strided(128) & causal | global(4) & causal",
    "prefix(1000)", "~strided(256)", "dilated(100, 7) | dilated(50, 11) & ~windowed(100)",
]  # fmt: skip
LATER = [
    "sparsefixed(128, 4)", "randomblocks(64, 3, 7)", "axial(1024, 1024)", "neighbourhood(1024, 1024, 7)",
    "windowed(2)",
]  # fmt: skip


def test_eight_ranks_at_a_million_tokens():
    """Less than a second of one core, in memory that follows what is exchanged, or at most the rows."""
    for texts, first, most in ((SOON, 1 << 14, 8), (LATER, None, 64)):
        found = measured(texts, 1 << 20, "exchange", first=first, more=(8,))
        for text, (seconds, megabytes) in zip(texts, found, strict=True):
            assert seconds < 1, text
            assert megabytes < most, text


def test_a_plan_takes_as_much_room_as_its_pattern_is_irregular():
    for text, most in (("strided(256)", 8), ("causal", 16), ("sparsefixed(128, 4)", 24)):
        plan = parse(text).exchange(1 << 20, 8)
        assert sum(len(keys.runs()) for keys in plan.needed) <= most
        assert plan.nbytes <= 32 * most
    for text in ("randomblocks(64, 3, 7)", "dilated(3, 70000) | randomblocks(9, 1, 3)"):
        plan = parse(text).exchange(1 << 18, 8)
        assert plan.nbytes <= 32 * plan.keys


def test_in_words_and_numbers():
    plan = Causal().exchange(1 << 20, 8)
    text = str(plan)
    assert "causal at n = 1,048,576 on 8 ranks, dealt zigzag" in text
    assert "75 % of a ring's" in text
    found = json.loads(json.dumps(plan.as_dict(each=1024)))
    assert found["exchanged_bytes"] == plan.bytes(1024) == plan.keys * 1024
    assert sum(one["received_bytes"] for one in found["by_rank"]) == found["exchanged_bytes"]
    assert found["by_rank"][7]["needed"]["runs"] == [[0, 458752, 0, 1]]
    assert "… and 8 ranks more" in str(Causal().exchange(1 << 10, 24))
    assert Causal().exchange(9, 2) != Strided(3).exchange(9, 2)


@pytest.mark.parametrize(
    ("text", "n", "ranks"), [("dilated(3, 5)", 40, 4), ("causal", 5000, 100), ("full", 0, 2)]
)
def test_a_picture(text, n, ranks):
    plan = parse(text).exchange(n, ranks)
    tree = ET.fromstring(plan.svg())
    shown = " ".join(node.text or "" for node in tree.iter() if node.text)
    assert f"{text}: what {ranks} ranks exchange" in shown
    assert ("68 ranks more" in shown) == (ranks == 100)
    assert plan._repr_svg_() == plan.svg()


def test_a_drawing():
    assert parse("dilated(3, 5)").exchange(40, 4, "even").draw() == (
        "##########..............................\n"
        "oooooooooo##########....................\n"
        ".....ooooooooooooooo##########..........\n"
        "...............ooooooooooooooo##########"
    )
