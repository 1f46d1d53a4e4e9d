"""Decoding with int8 weights is decoding of the rounded model; what rounding costs is measured."""

from math import exp

import pytest
import torch
from torch.nn.functional import cross_entropy

from regard.data import load
from regard.layers import LinearAttention, PreNorm, RMSNorm, Rotary, SwiGLU
from regard.layers.projections import Projections
from regard.models import GPT, GPTConfig, Untied
from regard.models.decode_int8 import Int8Decoder, int8_product, rounded
from regard.models.decode_store import DECODERS
from regard.models.quantise import to_int8
from regard.parallel import SimulatedRanks
from regard.pattern import Causal, Strided
from regard.train import open_run

SIZES = {"vocab": 31, "context": 64, "depth": 2, "width": 24, "heads": 4}
LLAMA = PreNorm(norm=RMSNorm(), feedforward=SwiGLU(), projections=Projections(qkv_bias=False, out_bias=False))
MODELS = {
    "gpt2": GPTConfig(**SIZES),
    "llama": GPTConfig(**SIZES, kv_heads=2, block=LLAMA, position=Rotary(), head=Untied()),
    "linear": GPTConfig(**SIZES, mixer=LinearAttention(), pattern=Causal(), position=Rotary()),
    "forgets": GPTConfig(**SIZES, pattern=Strided(back=5), position=Rotary()),
}


def made(name, dtype=torch.float32):
    model = GPT(MODELS[name], generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4) if weight.ndim > 1 else weight.add_(0.1)
    return model.to(dtype).eval()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [1, 3])
def test_it_is_the_rounded_model(name, batch):
    model = made(name)
    tokens = torch.randint(31, (batch, 7), generator=torch.Generator().manual_seed(1))
    found = model.generate(tokens, max_new_tokens=40, impl="int8")
    assert torch.equal(found, rounded(model).generate(tokens, max_new_tokens=40, impl="plain"))
    again = model.generate(tokens, max_new_tokens=40, impl="int8")  # on the decoder that was kept
    assert torch.equal(found, again)
    assert not DECODERS.latest[model].packs
    assert torch.equal(
        model.generate(tokens, max_new_tokens=9), model.generate(tokens, max_new_tokens=9, impl="plain")
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_products_read_a_byte_a_weight(dtype):
    torch.manual_seed(0)
    for rows, cols, batch in ((5, 8, 1), (33, 70, 3), (64, 128, 9)):
        x, weight, bias = torch.randn(batch, cols), torch.randn(rows, cols), torch.randn(rows)
        whole, scale = to_int8(weight)
        assert whole.dtype == torch.int8
        true = x.to(dtype).float() @ (whole * scale[:, None]).T + bias.to(dtype).float()
        found = int8_product(x.to(dtype), whole, scale, bias.to(dtype))
        assert found.dtype == dtype
        near = 1e-5 if dtype == torch.float32 else 2e-2
        assert (found.float() - true).abs().max() <= near * true.abs().max()


def test_new_weights_are_used_and_growing_loses_nothing(monkeypatch):
    model, tokens = made("gpt2"), torch.tensor([[1, 2, 3]])
    before = model.generate(tokens, max_new_tokens=30, impl="int8")
    monkeypatch.setattr("regard.models.decode_loop.GROWS_BY", 2)
    DECODERS.latest.pop(model)
    assert torch.equal(model.generate(tokens, max_new_tokens=30, impl="int8"), before)
    with torch.no_grad():
        model.embed.weight.copy_(model.embed.weight.flip(0))
    changed = model.generate(tokens, max_new_tokens=30, impl="int8")
    assert not torch.equal(changed, before)
    assert torch.equal(changed, rounded(model).generate(tokens, max_new_tokens=30, impl="plain"))


def test_it_is_taken_by_name_only_and_says_what_it_cannot():
    model, tokens = made("gpt2"), torch.tensor([[1, 2]])
    assert model.decoding().impl == "lean"
    with pytest.raises(ValueError, match=r"impl='int8' cannot run: int8 weights go with float32, .*float64"):
        model.double().generate(tokens, max_new_tokens=2, impl="int8")
    with pytest.raises(ValueError, match="impl must be auto, plain, lean, graph, int8, got impl='int4'"):
        model.generate(tokens, max_new_tokens=2, impl="int4")
    (alone,) = SimulatedRanks.world(1)
    with pytest.raises(ValueError, match="over a mesh the model itself decodes"):
        made("gpt2").generate(tokens, max_new_tokens=2, impl="int8", mesh=alone)
    assert Int8Decoder(made("llama"), 1, 8).packs == {}


def perplexity(model, tokens):
    with torch.no_grad():
        return exp(float(cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())))


def test_what_it_costs_in_perplexity():
    """The zoo ships its weights rounded so, and loses nothing more; off that grid, less than 1 %."""
    run = open_run("zoo:play-gpt")
    model, ids = run.gpt, run.reader.encode(load("play").text[-20_000:])
    length = model.config.context + 1
    tokens = torch.tensor(ids[: len(ids) // length * length]).view(-1, length)
    whole = perplexity(model, tokens[:24])
    assert perplexity(rounded(model), tokens[:24]) == pytest.approx(whole, rel=1e-5)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for batch in tokens[24:].split(16):
        cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    whole, small = perplexity(model, tokens[:24]), perplexity(rounded(model), tokens[:24])
    print(f"perplexity {whole:.4f}, with int8 weights {small:.4f}: {100 * (small / whole - 1):+.3f} %")
    assert 0 < abs(small / whole - 1) < 0.01
