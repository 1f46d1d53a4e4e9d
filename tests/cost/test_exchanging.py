"""The bytes that ranks exchange, as numbers and as formulas, against the plans and against what is sent."""

import pytest
import torch

from regard.cost import AttentionShape, price
from regard.cost.exchanging import over
from regard.layers import LinearAttention, Rotary
from regard.models import GPT, EncoderConfig, GPTConfig, ViTConfig
from regard.parallel import Shard, SimulatedRanks
from regard.pattern import Causal, Documents, Strided
from regard.pattern.dealing import dealt

TWO = GPTConfig(
    vocab=50, context=64, depth=3, width=24, heads=6, kv_heads=2, position=Rotary(),
    pattern=(Strided(back=3), Causal()),
)  # fmt: skip


def planned(config, n, ranks):
    deal = dealt(tuple(dict.fromkeys(config.patterns)), n, ranks)
    return sum(pattern.exchange(n, ranks, deal).keys for pattern in config.patterns)


@pytest.mark.parametrize("n", [1, 16, 61])
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_it_is_the_plans_number_of_every_layer(n, ranks):
    each = 2 * 2 * 4 * 4  # keys and values of two groups of four numbers of four bytes
    assert price(TWO, tokens=n, ranks=ranks).exchanged_bytes == planned(TWO, n, ranks) * each
    assert price(TWO, tokens=n, batch=5, ranks=ranks).exchanged_bytes == 5 * planned(TWO, n, ranks) * each
    half = price(TWO, tokens=n, ranks=ranks, dtype=torch.bfloat16, training=True)
    assert half.exchanged_bytes == planned(TWO, n, ranks) * each  # half as many, there and back
    assert price(TWO, tokens=n).exchanged_bytes == 0
    assert price(TWO, tokens=n, ranks=ranks).flops == price(TWO, tokens=n).flops


class Counting(SimulatedRanks):
    """Ranks of which one runs alone: what it would receive is nothing."""

    def start(self, sends, receives):
        for peer, x in sends.items():
            self.mailbox.bytes[self.rank, peer] += x.nbytes
        return lambda: [x.zero_() for x in receives.values()]


def test_a_model_sends_what_was_priced():
    model, n, world = GPT(TWO), 37, Counting.world(3)
    for ranks in world:
        shard = Shard(ranks, n, TWO.patterns)
        with torch.no_grad():
            model(shard.cut(torch.zeros(2, n, dtype=torch.long)), shard=shard)
    sent = sum(world[0].mailbox.bytes.values())
    assert sent == price(TWO, tokens=n, batch=2, ranks=3).exchanged_bytes > 0


def test_a_formula_is_the_number():
    found = price(TWO, tokens=48, batch=2, ranks=4)
    formula = found.formula("n", "B", "width")
    assert "dealt zigzag" in formula.notices[0]
    values = {"n": 640, "B": 3, "d": 24}
    assert formula.exchanged_bytes.subs(values) == price(TWO, tokens=640, batch=3, ranks=4).exchanged_bytes
    assert found.order("exchanged_bytes", "n") == "O(n)"
    assert (
        price(TWO, tokens="n", ranks=4).exchanged_bytes.subs("n", 640)
        == price(TWO, tokens=640, ranks=4).exchanged_bytes
    )


def test_segments_go_along():
    labels = torch.zeros(2, 20, dtype=torch.int32)
    with_them = price(AttentionShape(width=8, heads=2), segments=labels, ranks=2).exchanged_bytes
    alone = price(AttentionShape(width=8, heads=2), tokens=20, batch=2, ranks=2).exchanged_bytes
    assert with_them == alone + 2 * 4 * 20  # every rank gets ten of the other's, in both rows


def test_other_models_have_an_exchange_too():
    encoder = EncoderConfig(vocab=9, context=12, depth=2, width=8, heads=2)
    assert price(encoder, tokens=12, ranks=3).exchanged_bytes == 2 * 24 * 2 * 8 * 4
    vit = ViTConfig(image=8, patch=4, channels=1, classes=3, depth=1, width=8, heads=2)
    assert price(vit, ranks=5).exchanged_bytes == 5 * 4 * 2 * 8 * 4  # with the class token five positions
    assert price(vit, ranks=5).question.exchanges() == []


def test_the_plans_of_layers():
    found = price(TWO, tokens=48, ranks=4).question.exchanges()
    assert [(one.layers, str(one.plan.pattern), one.each) for one in found] == [
        (2, "strided(3)", 64),
        (1, "causal", 64),
    ]
    assert str(found[0]).startswith("2 layers: strided(3) at n = 48 on 4 ranks, dealt zigzag\n")
    total = sum(one.layers * one.plan.bytes(one.each) for one in found)
    assert total == price(TWO, tokens=48, ranks=4).exchanged_bytes
    assert found[1].as_dict()["by_rank"][0]["held"] == 12
    assert price(TWO, tokens="n", ranks=4).question.exchanges() == []
    assert price(TWO, tokens=48).question.exchanges() == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ranks": 0}, "ranks must be at least 1"),
        ({"ranks": 2, "decode": True}, "ranks are for whole sequences"),
    ],
)
def test_what_cannot_be_asked(asked, message):
    with pytest.raises(ValueError, match=message):
        price(TWO, tokens=20, **asked)


def test_what_has_no_exchange_or_no_formula():
    linear = GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2, mixer=LinearAttention())
    with pytest.raises(ValueError, match="ranks share softmax attention"):
        price(linear, tokens=8, ranks=2)
    fixed = GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2, pattern=Documents((3, 5)))
    assert price(fixed, tokens=8, ranks=2).exchanged_bytes > 0
    with pytest.raises(ValueError, match="documents"):
        price(fixed, tokens=8, ranks=2).formula("n")
    with pytest.raises(ValueError, match="letters of a pattern cannot stay open on ranks, got t"):
        price(AttentionShape(width=8, heads=2, pattern=Strided(3)), tokens=40, ranks=2).formula("n", "t")
    assert over(1) is None
