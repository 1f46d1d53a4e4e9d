"""Decoding over ranks writes what one process writes; keys stay, and queries go to those that see them."""

import re

import pytest
import torch

from regard.attention import DistanceBias, attend
from regard.layers import LinearAttention, Trace
from regard.models import GPT, GPTConfig
from regard.parallel import HeldKeys, Shard, SimulatedRanks, Turn
from regard.pattern import Causal, Deal, Documents, Full, Global, SparseStrided, Strided, Windowed
from tests.parallel import decoding
from tests.train.forks import ended, group


@pytest.mark.parametrize(("world", "some"), [(2, (0, 2, 5)), (3, (0, 1, 4, 7)), (4, (0, 3, 6))])
def test_it_is_what_one_process_writes(world, some, tmp_path):
    codes, text = ended(group(tmp_path / "log", world, decoding.decodes, some))
    assert codes == [0] * world, text
    assert text.count("decoded") == world
    sent = sum(map(int, re.findall(r"sent (\d+) by", text)))
    case, B, H, D = decoding.CASES[0], 2, 4, 4
    # The prompt's keys and values by the plan; each later token's query there and an answer back, in two
    # layers; and the logits, to all.
    layer = Causal().exchange(case.prompt, world).bytes(B * 2 * 2 * D * 8)
    turn = (world - 1) * B * H * (D + D + 1) * 8
    assert sent == 2 * layer + (case.count - 1) * 2 * turn + case.count * (world - 1) * B * 11 * 8


PATTERNS = [
    Causal(), Strided(5), Windowed(4), Global(2) & Causal() | Strided(1), SparseStrided(6), ~Causal(),
    Causal() & ~Strided(3),
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_who_answers_is_who_holds_a_key_that_is_seen(pattern):
    ranks = SimulatedRanks.world(3)[0]
    for deal in (Deal.even(10, 3), Deal.zigzag(11, 3), Deal.of_lengths([0, 9, 2])):
        for at in range(deal.n, deal.n + 12):
            turn = Turn(ranks, deal, at)
            homes = [next(r for r in range(3) if k in deal.held(r).positions()) for k in range(deal.n)]
            homes += [k % 3 for k in range(at + 1 - deal.n)]
            seen = pattern.allows(torch.tensor(at), torch.arange(at + 1)).expand(at + 1).tolist()
            wanted = {home for home, one in zip(homes, seen, strict=True) if one}
            assert turn.home == homes[at]
            assert set(turn.answering(pattern)) == wanted - {turn.home}


def test_one_rank_alone_attends_to_its_past():
    (ranks,) = SimulatedRanks.world(1)
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, heads, 60, 8, dtype=torch.float64) for heads in (4, 2, 2))
    bias = DistanceBias((0.5, 0.25, 0.1, 0.0))
    for pattern in PATTERNS:
        past = HeldKeys(pattern)
        shard = Shard(ranks, 20, [pattern])
        shard.attend(*(x[:, :, :20] for x in (q, k, v)), pattern, bias=bias, past=past)
        for at in range(20, 60):
            turn = Turn(ranks, shard.deal, at)
            new = [x[:, :, at : at + 1] for x in (q, k, v)]
            out = turn.attend(*new, pattern, bias=bias, past=past)
            m = at + 1
            true = attend(new[0], k[:, :, :m], v[:, :, :m], pattern, bias=bias, impl="reference")
            assert torch.allclose(out, true, atol=1e-12), (pattern, at)
        bound = pattern.keys_kept()
        assert past.count <= (60 if bound is None else min(60, bound + 40))


def test_a_bounded_past_stays_small():
    past, pattern = HeldKeys(Strided(back=99)), Strided(back=99)
    past.keep(torch.zeros(1, 1, 5000, 2), torch.zeros(1, 1, 5000, 3), torch.arange(5000), 5000)
    assert past.positions.tolist() == list(range(4901, 5000))
    assert past.nbytes == 99 * 5 * 4
    for at in range(5000, 9000, 4):
        past.keep(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 3), torch.tensor([at]), at)
    assert past.count < 160
    seen = past.seen(8999)[2].tolist()
    assert seen == list(range(8996, 8899, -4))[::-1]
    assert pattern.kept() is not None


def test_what_is_wrong_is_named():
    config = GPTConfig(vocab=9, context=32, depth=1, width=8, heads=2)
    model, (ranks,) = GPT(config), SimulatedRanks.world(1)
    tokens = torch.zeros(2, 4, dtype=torch.long)
    for given, message in [
        ({"impl": "lean"}, "over a mesh the model itself decodes, impl='plain', got impl='lean'"),
        ({"segments": torch.zeros_like(tokens)}, "over a mesh prompts have one length and no segments"),
        ({"mesh": 3}, "mesh must be a torch.distributed DeviceMesh of one"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.generate(tokens, max_new_tokens=2, **{"mesh": ranks, **given})
    with pytest.raises(ValueError, match="prompts have one length"):
        model.generate([tokens[0], tokens[0, :2]], max_new_tokens=2, mesh=ranks)
    linear = GPT(GPTConfig(vocab=9, context=32, depth=1, width=8, heads=2, mixer=LinearAttention()))
    with pytest.raises(ValueError, match="over several ranks, take Softmax"):
        linear.generate(tokens, max_new_tokens=2, mesh=ranks)
    packed = GPT(
        GPTConfig(vocab=9, context=32, depth=1, width=8, heads=2, pattern=Documents((9, 20)) & Causal())
    )
    with pytest.raises(ValueError, match="covers 29 positions, got n=4"):
        packed.generate(tokens, max_new_tokens=2, mesh=ranks)
    shard = Shard(ranks, 4, config.patterns)
    with pytest.raises(ValueError, match="it takes no trace and no cache but its own"):
        model(tokens, shard=shard, cache=model.cache(8))
    with pytest.raises(ValueError, match="it takes no trace and no cache but its own"):
        model(tokens, shard=shard, trace=Trace())
    with pytest.raises(ValueError, match="rank 0 holds 4 of n=4 positions, got 3 tokens"):
        model(tokens[:, :3], shard=shard)
    with pytest.raises(ValueError, match="the shard is of n=4 positions"):
        shard.cut(tokens[:, :3])
    with pytest.raises(ValueError, match="the position table has 32 rows, got n=33 positions"):
        model(torch.zeros(1, 33, dtype=torch.long), shard=Shard(ranks, 33, config.patterns))
    with pytest.raises(ValueError, match="needs the past of its layer, and takes no segments"):
        model(tokens[:, :1], shard=Turn(ranks, shard.deal, 4))
    past = HeldKeys(Full())
    past.keep(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2), torch.tensor([0]), 0)
    with pytest.raises(ValueError, match="a whole sequence begins a past, got one of 1 positions"):
        shard.attend(*[torch.zeros(1, 1, 4, 2)] * 3, Full(), past=past)
