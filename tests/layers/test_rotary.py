"""Stretched rotations against their formulas, one pair at a time, and turned heads in part."""

import math

import pytest
import torch

from regard.layers import DynamicScaling, LinearScaling, Llama3Scaling, Rotary, YarnScaling

CPU = torch.device("cpu")


def plain(pair, width, base):
    return base ** (-2 * pair / width)


def llama3(speed, scaling):
    """As Meta's code says it: by wavelengths, with a smooth part in between."""
    wavelength = 2 * math.pi / speed
    if wavelength < scaling.original / scaling.high:
        return speed
    if wavelength > scaling.original / scaling.low:
        return speed / scaling.factor
    smooth = (scaling.original / wavelength - scaling.low) / (scaling.high - scaling.low)
    return (1 - smooth) * speed / scaling.factor + smooth * speed


def yarn(pair, width, base, scaling):
    """The ramp of the paper between the dimensions that turn `fast` and `slow` times."""

    def dimension(turns):
        return width * math.log(scaling.original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = dimension(scaling.fast), dimension(scaling.slow)
    if scaling.truncated:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    ramp = min(max((pair - low) / max(high - low, 0.001), 0), 1)
    speed = plain(pair, width, base)
    return speed / scaling.factor * ramp + speed * (1 - ramp)


@pytest.mark.parametrize("width", [4, 10, 64])
@pytest.mark.parametrize("base", [100.0, 10_000.0, 500_000.0])
def test_speeds_are_those_of_the_formulas(width, base):
    def found(scaling, length=7):
        return Rotary(base, scaling=scaling).speeds(width, length, CPU).tolist()

    pairs = range(width // 2)
    assert found(None) == pytest.approx([plain(i, width, base) for i in pairs])
    assert found(LinearScaling(3.0)) == pytest.approx([plain(i, width, base) / 3 for i in pairs])
    for scaling in (Llama3Scaling(8.0, 512), Llama3Scaling(2.5, 40, low=0.5, high=9.0)):
        assert found(scaling) == pytest.approx([llama3(plain(i, width, base), scaling) for i in pairs])
    for scaling in (YarnScaling(4.0, 2048), YarnScaling(2.0, 300, fast=16.0, slow=2.0, truncated=False)):
        assert found(scaling) == pytest.approx([yarn(i, width, base, scaling) for i in pairs])


def test_dynamic_scaling_leaves_short_texts_and_grows_the_base_of_long_ones():
    rotary = Rotary(10_000.0, scaling=DynamicScaling(2.0, original=16))
    assert rotary.by_length
    short = Rotary(10_000.0).speeds(8, 16, CPU)
    torch.testing.assert_close(rotary.speeds(8, 16, CPU), short)
    grown = 10_000.0 * (2.0 * 40 / 16 - 1.0) ** (8 / 6)
    torch.testing.assert_close(rotary.speeds(8, 40, CPU), Rotary(grown).speeds(8, 40, CPU))
    both = rotary.speeds(8, torch.tensor([5, 40]), CPU)
    torch.testing.assert_close(both, torch.stack([short, Rotary(grown).speeds(8, 40, CPU)]))
    with pytest.raises(ValueError, match="needs more than one pair to turn, got a width of 2"):
        rotary.speeds(2, 40, CPU)


@pytest.mark.parametrize(
    ("factor", "attention", "want"), [(4.0, None, 1.1386294), (1.0, None, 1.0), (4.0, 2.0, 2.0)]
)
def test_yarn_makes_queries_and_keys_longer(factor, attention, want):
    rotary = Rotary(scaling=YarnScaling(factor, 64, attention=attention))
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(rotary.turn(x).norm(dim=-1), x.norm(dim=-1) * want)


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.75])
def test_only_a_part_of_a_head_turns(fraction):
    x = torch.randn(2, 6, 16, dtype=torch.float64)
    R = int(16 * fraction)
    out = Rotary(fraction=fraction).turn(x, start=3)
    torch.testing.assert_close(out[..., :R], Rotary().turn(x[..., :R], start=3))
    assert torch.equal(out[..., R:], x[..., R:])


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: LinearScaling(0.0), "factor must be positive, got factor=0.0"),
        (lambda: LinearScaling(math.inf), "factor must be positive, got factor=inf"),
        (lambda: Llama3Scaling(2.0, 8, low=4.0, high=4.0), "low must be below high, got low=4.0, high=4.0"),
        (lambda: YarnScaling(2.0, 0), "original must be at least 1, got original=0"),
        (lambda: DynamicScaling(True, 8), "factor must be positive, got factor=True"),
        (lambda: Rotary(fraction=0.0), "fraction must be above 0 and at most 1, got fraction=0.0"),
        (lambda: Rotary(scaling="yarn"), "scaling must be a RotaryScaling or None, got scaling='yarn'"),
    ],
)
def test_bad_values_are_named(made, words):
    with pytest.raises(ValueError, match="^" + words + "$"):
        made()
