"""A pattern of one's own, with nothing but `allows`, runs, decodes and is priced like a shipped one."""

from dataclasses import dataclass

import pytest
import torch

from regard.attention.bands import looks_back
from regard.attention.flex import block_mask, mask_mod
from regard.cost import price
from regard.cost.pair_counts import PairCounts, all_take_part, pair_counts
from regard.cost.setting import Setting
from regard.layers.slots import layout_of
from regard.layers.stack import causal
from regard.models import GPT, Encoder, EncoderConfig, GPTConfig
from regard.pattern import (
    Atom,
    CacheBound,
    Causal,
    Documents,
    Global,
    RandomBlocks,
    Strided,
    Windowed,
    check_pattern,
)
from tests.attention.matching import CPU, assert_matches, inputs
from tests.cost.agreeing import agree, tokens
from tests.pattern.own import OWN, Jumps, Near, Others, Roles

EXPRESSIONS = (Jumps(3) & Causal(), ~Near(3) | Windowed(7), Others() & Strided(4))


@pytest.mark.parametrize("pattern", [*OWN, *EXPRESSIONS], ids=str)
@pytest.mark.parametrize("n", [130, (40, 97)])
def test_every_cpu_backend_is_the_definition(pattern, n):
    assert assert_matches(inputs(n), pattern, CPU) == ["sdpa", "gathered", "slots", "auto"]


def test_a_table_runs_at_its_length_and_below():
    assert "gathered" in assert_matches(inputs(24), Roles(3), CPU)
    assert "gathered" in assert_matches(inputs((7, 20)), Roles(3) & Causal(), CPU)


@pytest.mark.parametrize("pattern", [*OWN, *EXPRESSIONS], ids=str)
def test_flex_gets_the_same_mask(pattern):
    n, m = 50, 70
    at = torch.zeros((), dtype=torch.long)
    allowed = torch.vmap(
        torch.vmap(mask_mod(pattern, n, m, "cpu"), (None, None, None, 0)), (None, None, 0, None)
    )
    assert torch.equal(allowed(at, at, torch.arange(n), torch.arange(m)), pattern.dense(n, m))
    blocks = block_mask(pattern, n, m=m, size=16).to_dense()[0, 0] > 0
    assert torch.equal(blocks, pattern.tiles(n, m, 16).dense() > 0)


@pytest.mark.parametrize("pattern", [*OWN, Others() & Strided(4), Jumps(1) | Strided(0)], ids=str)
def test_cached_decoding_is_the_forward(pattern):
    config = GPTConfig(vocab=13, context=20, depth=2, width=12, heads=3, pattern=pattern)
    model = GPT(config, generator=torch.Generator().manual_seed(2)).double().eval()
    found = model.generate(tokens(2, 5, vocab=13), max_new_tokens=14, impl="plain")
    with torch.no_grad():
        likeliest = model(found)[:, 4:-1].argmax(-1)
    assert torch.equal(found[:, 5:], likeliest)


@pytest.mark.parametrize("pattern", [*OWN, Jumps(1) | Strided(0), Global(2) & Others()], ids=str)
def test_the_price_is_what_runs(pattern):
    small = {"vocab": 50, "context": 16, "width": 24, "depth": 1, "heads": 4, "pattern": pattern}
    agree(GPT(GPTConfig(**small)), tokens(3, 7), tokens=7, batch=3)
    agree(Encoder(EncoderConfig(**small)), tokens(3, 7), tokens=7, batch=3)


@pytest.mark.parametrize("pattern", [*OWN, *EXPRESSIONS, Jumps(1) | Strided(0), ~Others()], ids=str)
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_queries_and_keys_that_take_part_are_counted(pattern, n):
    mask = pattern.dense(n)
    found = PairCounts(int(mask.sum()), int(mask.any(1).sum()), int(mask.any(0).sum()))
    assert pair_counts(Setting(batch=1), pattern, n) == found


@dataclass(frozen=True)
class Evens(Atom):
    """Even positions see everything, odd ones nothing; it has a formula, and says nothing of itself."""

    period = 2
    horizon = (0, 0)

    def allows(self, q, k):
        return (q % 2 == 0) & (k == k)  # noqa: PLR0124 - true, in the shape of both

    def closed_form(self, n, fields):
        from sympy import ceiling

        return n * ceiling(n / 2)


@dataclass(frozen=True)
class Beside(Atom):
    """The neighbours alone, by distance."""

    distance = True

    def allows(self, q, k):
        return (q - k == 1) | (k - q == 1)


def test_no_one_is_thought_to_see_itself_unasked():
    check_pattern(Evens())
    check_pattern(Beside())
    for pattern in (Evens(), Beside(), Jumps(3), Evens() | Beside(), Causal() & Others(), ~Causal()):
        assert not all_take_part(pattern)
    for pattern in (Causal(), RandomBlocks(), Documents((2, 3)), Evens() | Strided(0), Others() | Global(1)):
        assert all_take_part(pattern)
    letter = price(GPTConfig(vocab=50, context=64, depth=1, width=8, heads=2, pattern=Strided(3)), tokens="n")
    assert "n" in str(letter.pairs)
    with pytest.raises(ValueError, match="which queries see nothing depends on n, or is not known"):
        price(EncoderConfig(vocab=50, context=64, depth=1, width=8, heads=2, pattern=Evens()), tokens="n")


@dataclass(frozen=True)
class Trailing(Atom):
    """Itself and two before, and keys far ahead: no sample of distances would find them."""

    ahead: int
    distance = True

    def allows(self, q, k):
        return (k <= q) & (q - k <= 2) | (k - q >= self.ahead)

    def kept(self):
        return CacheBound(recent=3)


@dataclass(frozen=True)
class Tail(Atom):
    """The same without looking ahead, and it says so."""

    distance = True

    def allows(self, q, k):
        return (k <= q) & (q - k <= 2)

    def kept(self):
        return CacheBound(recent=3)

    def above(self, k):
        return k, k


def test_what_does_not_say_that_it_never_looks_ahead_may():
    far = Trailing(1 << 20)
    check_pattern(far)
    check_pattern(Tail())
    assert looks_back(far) is looks_back(Tail() | far) is None
    assert looks_back(Tail()) == looks_back(far & Tail()) == looks_back(far & ~far | Tail()) == 2
    assert "chunked" in assert_matches(inputs(130), Tail(), CPU)
    assert "chunked" not in assert_matches(inputs(130), Trailing(20), CPU)


@dataclass(frozen=True)
class Rare(Atom):
    """Some keys, neither the first nor the latest, are seen for ever; no geometry fixes the length."""

    def allows(self, q, k):
        return (k <= q) & ((k == 3) | (k == 5) | (k == q))

    def kept(self):
        return CacheBound(recent=1, other=2)


def test_others_are_not_lost_from_a_cache():
    check_pattern(Rare())
    assert Rare().keys_kept() == 3
    assert layout_of(Rare(), 20).size == 20
    assert layout_of(causal(Rare()) & Strided(50), 20).size == 20
    test_cached_decoding_is_the_forward(Rare())
