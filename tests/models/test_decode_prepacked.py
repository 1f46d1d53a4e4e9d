"""Packed weights: the same products, made for each generation and dropped after it."""

import pytest
import torch
from torch.nn.functional import linear

from regard.models.decode_prepacked import PAYS_FROM, PrepackedDecoder, no_prepacking, pack, product
from regard.models.decode_store import DECODERS
from tests.models.test_decode import draw, lively


@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.parametrize(("rows", "width"), [(5, 3), (33, 17), (64, 128)])
@pytest.mark.parametrize("biased", [True, False])
def test_products_are_those_of_linear(batch, rows, width, biased):
    g = torch.Generator().manual_seed(0)
    x, weight = torch.randn(batch, width, generator=g), torch.randn(rows, width, generator=g)
    bias = torch.randn(rows, generator=g) if biased else None
    torch.testing.assert_close(product(x, pack(weight, batch), bias), linear(x, weight, bias))


def test_packs_do_not_outlive_the_generation():
    model = lively(context=64)
    model.generate(draw(2, 3), max_new_tokens=PAYS_FROM)
    decoder = DECODERS.latest[model]
    assert isinstance(decoder, PrepackedDecoder)
    assert decoder.packs == {}


def test_when_packing_pays(monkeypatch):
    model = lively(context=64)
    assert no_prepacking(model, PAYS_FROM) is None
    assert "31 tokens are too few" in no_prepacking(model, PAYS_FROM - 1)
    assert "float32, got torch.float64" in no_prepacking(lively().double(), PAYS_FROM)
    assert "not on the CPU" in no_prepacking(lively().to("meta"), PAYS_FROM)
    monkeypatch.setattr("regard.models.decode_prepacked.LARGEST", 100)
    assert "too much memory" in no_prepacking(model, PAYS_FROM)


def test_a_step_is_that_of_the_model():
    model = lively(context=64)
    tokens = draw(3, 12)
    decoder = PrepackedDecoder(model, 3, 64)
    with torch.no_grad():
        want = model(tokens)
        decoder.fill(model, list(tokens[:, :5]), None)
        for t in range(5, 12):
            decoder.token.copy_(tokens[:, t])
            decoder.at += 1
            decoder.together = t
            torch.testing.assert_close(decoder.step(), want[:, t], atol=1e-4, rtol=1e-4)
