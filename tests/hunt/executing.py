"""What is priced is what runs: random models of every kind, built and counted while they run."""

import random

import torch

from regard.cost import executed, price
from regard.models.files import MODELS
from regard.sharing.sizes import pair
from tests.cost.agreeing import FORWARD, counts
from tests.hunt import prices
from tests.hunt.found import Found

NAMES = ("gpt", "encoder", "vit", "images", "words")


def hunt(times: int, seed: int) -> Found:
    """So many models."""
    found, kinds = Found(), dict(MODELS.values())
    for number in range(times):
        draw = random.Random(f"executing {seed} {number}")
        try:
            config, asked = prices.KINDS[draw.choice(NAMES)](draw)
        except ValueError:
            found.add("no such model")
            continue
        asked.pop("decode", None)
        fault = difference(kinds[type(config)](config).eval(), config, asked)
        found.add(type(config).__name__, None if fault is None else f"{config} asked {asked}: {fault}")
    return found


def difference(model, config, asked):
    """What differs between price and execution, or None."""
    torch.manual_seed(0)
    if "tokens" in asked:
        x = torch.randint(getattr(config, "vocab", 30), (asked.get("batch", 1), asked["tokens"]))
    else:
        x = torch.randn(asked.get("batch", 1), config.channels, *pair("image", config.image, 1))
    want, got = price(config, **asked), executed(model, x)
    if got.uncounted:
        return f"not counted: {got.uncounted}"
    if counts(got, FORWARD) != counts(want, FORWARD):
        return f"{counts(got, FORWARD)} ran, {counts(want, FORWARD)} priced"
    other = [{kind: count for kind, count in one.other.items() if count} for one in (got, want)]
    if other[0] != other[1]:
        return f"other: {other[0]} ran, {other[1]} priced"
    built = sum(weight.numel() for weight in model.parameters())
    return None if built == want.parameters else f"{built} parameters, {want.parameters} priced"
