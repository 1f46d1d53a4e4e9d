"""A sample of the hunt over configs, and what the products of DeepSeek's decoding come to."""

from dataclasses import replace

import pytest

from regard.cost import price
from regard.layers.letters import letter
from regard.models import ViTConfig
from regard.models.huggingface.config import READERS, REFUSED, read_config
from tests.hunt import configs

pytest.importorskip("transformers")


def test_a_sample_has_no_faults():
    found = configs.hunt(24, 1)
    assert sum(found.tried.values()) == 24
    assert found.faults == []


def test_every_family_is_hunted_or_refused():
    assert set(configs.TINY) == set(READERS)
    for family in REFUSED:
        with pytest.raises(ValueError, match=f"a {family} has no price here"):
            read_config({"model_type": family})


def test_latents_are_spread_out_again_at_every_step():
    what, _ = read_config({"model_type": "deepseek_v3", **configs.LATENT})
    written = price(what, tokens=5, decode=True).macs
    again = 3 * 16 * 4 * (8 + 6) * (1 + 2 + 3 + 4)  # blocks, latent, heads, keys and values, of earlier ones
    assert written == price(what, tokens=5).macs + again


def test_a_letter_can_stand_for_the_depth_of_a_vit():
    what = ViTConfig(image=8, patch=4, channels=1, classes=3, depth=2, width=8, heads=2)
    formula = price(what).formula("depth").parameters
    assert formula.subs({letter("L"): 5}) == price(replace(what, depth=5)).parameters
