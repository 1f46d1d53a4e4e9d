"""GPT: causality under any pattern, decoding, generation, padding, configs and first weights."""

import dataclasses

import pytest
import torch

from regard.attention import BACKENDS, engine
from regard.layers import (
    Alibi,
    CourseBlock,
    Gelu,
    Learned,
    LinearAttention,
    Natural,
    PostNorm,
    PreNorm,
    RMSNorm,
    Rotary,
    Softmax,
    SwiGLU,
    Trace,
)
from regard.models import GPT, GPTConfig, Tied, Untied
from regard.pattern import Blocks, Causal, Full, Global, Neighbourhood, Strided, Windowed

SMALL = {"vocab": 13, "context": 20, "depth": 3, "width": 12, "heads": 3}
LLAMA = PreNorm(norm=RMSNorm(), feedforward=SwiGLU())


def lively(config):
    """A model whose weights are large enough for its tokens to matter."""
    model = GPT(config, generator=torch.Generator().manual_seed(2)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(8) if weight.ndim > 1 else weight.add_(0.1)
    return model


def tokens(B=2, T=20, vocab=13):
    return torch.randint(vocab, (B, T), generator=torch.Generator().manual_seed(6))


@pytest.mark.parametrize(
    "pattern", [Full(), ~Causal(), Blocks(size=6), Global(first=2), Neighbourhood(rows=4, cols=5, reach=1)]
)
def test_nothing_looks_ahead(pattern):
    model = lively(GPTConfig(**SMALL, pattern=pattern))
    a = tokens()
    b = a.clone()
    b[:, 11:] = (b[:, 11:] + 1) % 13
    torch.testing.assert_close(model(a)[:, :11], model(b)[:, :11])
    assert not torch.allclose(model(a)[:, 11:], model(b)[:, 11:])


def test_patterns_reach_their_layers():
    patterns = [Strided(back=1), Strided(back=1), Causal()]
    config = GPTConfig(**{**SMALL, "depth": 7}, pattern=patterns)
    assert config.pattern == tuple(patterns)
    assert config.patterns == (*patterns, *patterns, patterns[0])
    trace = Trace()
    model = lively(config)
    assert torch.equal(model(tokens()), model(tokens(), trace=trace))
    assert [name for name in trace if name.endswith("weights")] == [
        f"blocks.{i}.attention.weights" for i in range(7)
    ]
    for i, pattern in enumerate(config.patterns):
        seen = trace[f"blocks.{i}.attention.weights"] > 0
        assert torch.equal(seen, pattern.dense(20).expand_as(seen))
    assert trace["embedding"].shape == trace["blocks.6.output"].shape == (2, 20, 12)


def test_patterns_and_mixers_are_cycled_each_by_the_block():
    patterns, mixers = [Full(), Causal(), Strided(back=2)], [LinearAttention(), LinearAttention(), Softmax()]
    config = GPTConfig(**{**SMALL, "depth": 6}, pattern=patterns, mixer=mixers)
    assert config.patterns == (Causal(), Causal(), Strided(back=2)) * 2
    assert config.mixers == (LinearAttention(), LinearAttention(), Softmax()) * 2
    model, trace = lively(config), Trace()
    assert torch.equal(model(tokens()), model(tokens(), trace=trace))
    for i, pattern in enumerate(config.patterns):
        weights = trace[f"blocks.{i}.attention.weights"]
        assert torch.equal(weights > 0, pattern.dense(20).expand_as(weights))
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 20))
    assert [block.attention.mixer for block in model.blocks] == list(config.mixers)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pattern": Strided(back=3)}, r"pattern must be Causal\(\) or Full\(\) .* got pattern=strided\(3\)"),
        ({"pattern": [Causal(), Causal(), Strided(back=3)]}, r"got pattern=strided\(3\)"),
        ({"position": Alibi()}, r"position=Alibi\(\) adds to the scores of a softmax"),
        ({"mixer": [Softmax(), LinearAttention()], "position": Alibi()}, r"position=Alibi\(\) adds"),
        ({"mixer": ()}, r"mixer must be Softmax\(\), LinearAttention\(\) or a sequence of them, got \(\)"),
        ({"mixer": Causal()}, r"mixer must be .* got Causal\(\)"),
        ({"mixer": "linear"}, "mixer must be .* got 'linear'"),
        (
            {"pattern": LinearAttention()},
            r"must be a regard\.pattern value .* got LinearAttention\(\)",
        ),
    ],
)
def test_what_cannot_be_mixed_is_refused_when_the_config_is_built(fields, message):
    with pytest.raises(ValueError, match=message):
        GPTConfig(**SMALL, **{"mixer": LinearAttention(), **fields})


def test_a_pattern_that_no_linear_block_gets_is_no_fault():
    config = GPTConfig(**SMALL, pattern=[Strided(back=3), Causal()], mixer=[Softmax(), LinearAttention()])
    assert config.mixers == (Softmax(), LinearAttention(), Softmax())


@pytest.mark.parametrize("block", [PreNorm(), PostNorm(), CourseBlock(), LLAMA])
@pytest.mark.parametrize("position", [Rotary(), Alibi(), Natural()])
@pytest.mark.parametrize("head", [Tied(), Untied(), Untied(bias=False)])
def test_every_assembly_decodes_as_it_reads(block, position, head):
    patterns = [Strided(back=4), Windowed(size=7), Causal()]
    config = GPTConfig(
        **SMALL, kv_heads=1, head_width=6, pattern=patterns, block=block, position=position, head=head
    )
    model = lively(config)
    x, cache = tokens(), model.cache(20)
    with torch.no_grad():
        parts = [model(x[:, :9], cache=cache), *(model(x[:, t : t + 1], cache=cache) for t in range(9, 20))]
        torch.testing.assert_close(torch.cat(parts, dim=1), model(x), atol=1e-4, rtol=1e-4)


MIXED = (Strided(back=3), Global(first=2) | Strided(back=1))


@pytest.mark.parametrize("pattern", [Causal(), MIXED, Blocks(size=4)])
def test_generate_is_greedy_search(pattern):
    model = lively(GPTConfig(**SMALL, pattern=pattern, head=Untied()))
    want = tokens(T=5)
    for _ in range(15):
        want = torch.cat([want, model(want)[:, -1:].argmax(-1)], dim=1)
    got = model.generate(tokens(T=5), max_new_tokens=15)
    assert torch.equal(got, want)
    assert len(want[:, 5:].unique()) > 3
    steps = list(model.stream(tokens(T=5), max_new_tokens=15))
    assert torch.equal(torch.stack(steps, dim=1), want[:, 5:])


def test_generate_covers_a_grid_from_any_prompt():
    model = lively(GPTConfig(**SMALL, pattern=Neighbourhood(rows=4, cols=5, reach=1)))
    got = model.generate(tokens(T=3), max_new_tokens=17)
    logits = model(got)
    assert torch.equal(logits[:, 2:-1].argmax(-1), got[:, 3:])


def test_left_padding_changes_nothing_for_relative_positions():
    model = lively(GPTConfig(**SMALL, position=Rotary(), head_width=4))
    short, long = tokens(B=1, T=4), tokens(B=1, T=9)
    padded = torch.cat([torch.cat([torch.zeros(1, 5, dtype=torch.long), short], dim=1), long])
    segments = torch.tensor([[-1] * 5 + [0] * 4, [0] * 9])
    got = model.generate(padded, max_new_tokens=6, segments=segments)
    assert torch.equal(got[:1, 5:], model.generate(short, max_new_tokens=6))
    assert torch.equal(got[1:], model.generate(long, max_new_tokens=6))
    with pytest.raises(ValueError, match="padded on the left"):
        model.generate(padded, max_new_tokens=6, segments=segments.flip(1))


def test_packed_documents_do_not_see_each_other():
    model = lively(GPTConfig(**SMALL, position=Alibi()))
    a, b = tokens(B=1, T=8), tokens(B=1, T=12) + 0
    segments = torch.tensor([[0] * 8 + [1] * 12])
    both = model(torch.cat([a, b], dim=1), segments=segments)
    torch.testing.assert_close(both[:, :8], model(a))
    torch.testing.assert_close(both[:, 8:], model(b), atol=1e-5, rtol=1e-4)


def test_sampling_follows_its_generator_and_stops():
    model = lively(GPTConfig(**SMALL))

    def run(seed, **how):
        g = torch.Generator().manual_seed(seed)
        return model.generate(tokens(T=5), max_new_tokens=12, temperature=1.5, generator=g, **how)

    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))
    free = run(1)
    stop = free[0, 8].item()
    ended = run(1, stop=stop)
    first = (free[0, 5:] == stop).nonzero()[0, 0] + 5
    assert torch.equal(ended[0, : first + 1], free[0, : first + 1])
    assert (ended[0, first:] == stop).all()
    everything = run(1, stop=range(13))
    assert everything.shape == (2, 6)


def test_generate_ignores_training_mode_and_leaves_it():
    model = lively(GPTConfig(**SMALL, dropout=0.5))
    want = model.generate(tokens(T=5), max_new_tokens=10)
    model.train()
    assert torch.equal(model.generate(tokens(T=5), max_new_tokens=10), want)
    assert model.training


def test_dropout_draws_from_the_generator():
    model = lively(GPTConfig(**SMALL, dropout=0.5)).train()
    a, b = (model(tokens(), generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(a, b)
    assert not torch.equal(a, model(tokens(), generator=torch.Generator().manual_seed(4)))


def test_first_weights_follow_the_generator_and_nothing_else():
    state = torch.random.get_rng_state()
    a, b = (GPT(GPTConfig(**SMALL), generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), state)
    for (name, x), y in zip(a.named_parameters(), b.parameters(), strict=True):
        assert torch.equal(x, y), name
        assert x.isfinite().all(), name
    c = GPT(GPTConfig(**SMALL), generator=torch.Generator().manual_seed(8))
    assert not torch.equal(a.embed.weight, c.embed.weight)
    assert a(tokens()).std() < 1  # a fresh model has no strong opinions


def test_it_learns():
    model = GPT(GPTConfig(**SMALL), generator=torch.Generator().manual_seed(0))
    optimiser, x = torch.optim.AdamW(model.parameters(), lr=1e-2), tokens()
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(model(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab": 0}, "vocab must be at least 1, got vocab=0"),
        ({"context": 2.0}, r"context must be an integer, got context=2\.0"),
        ({"heads": 5}, "width=12, heads=5"),
        ({"heads": 4, "kv_heads": 3}, "heads=4, kv_heads=3"),
        ({"pattern": ()}, "pattern must be"),
        ({"pattern": [3]}, "pattern must be"),
        ({"block": "prenorm"}, "block must be one of .*PreNorm.*got block='prenorm'"),
        ({"position": Gelu()}, "position must be one of"),
        ({"head": None}, "head must be one of"),
        ({"dropout": 1.0}, r"dropout=1\.0"),
        ({"position": Rotary(), "head_width": 3}, "head_width=3"),
        ({"depth": -1}, "depth must be at least 0, got depth=-1"),
    ],
)
def test_configs_are_checked_at_birth(changes, message):
    with pytest.raises(ValueError, match=message):
        GPTConfig(**{**SMALL, **changes})


def test_configs_are_small_frozen_values():
    config = GPTConfig(**SMALL, pattern=[Causal(), Strided(back=1)])
    assert len(dataclasses.fields(config)) <= 13
    assert config == GPTConfig(**SMALL, pattern=(Causal(), Strided(back=1)))
    assert hash(config) == hash(dataclasses.replace(config))
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.depth = 2
    with pytest.raises(TypeError):
        GPTConfig(13, 20)


def test_errors_name_what_was_given():
    model = GPT(GPTConfig(**SMALL))
    with pytest.raises(ValueError, match=r"tokens must be integers \(B, N\), got \(20,\)"):
        model(tokens()[0])
    with pytest.raises(ValueError, match="20 rows, got positions 0 to 20"):
        model(tokens(T=21))
    with pytest.raises(ValueError, match=r"a prompt of 15 and max_new_tokens=6 must fit context=20"):
        model.stream(tokens(T=15), max_new_tokens=6)
    with pytest.raises(ValueError, match=r"at least one token per row, got \(2, 0\)"):
        model.generate(tokens(T=0), max_new_tokens=6)
    with pytest.raises(ValueError, match=r"segments must have shape \(2, 20\), got \(2, 19\)"):
        model(tokens(), segments=tokens(T=19))
    with pytest.raises(ValueError, match=r"temperature=-1"):
        model.generate(tokens(T=5), max_new_tokens=1, temperature=-1)


@pytest.mark.parametrize("position", [Learned(), Alibi(), Rotary()], ids=str)
@pytest.mark.parametrize("length", [6, 600])
@pytest.mark.parametrize("packed", [False, True])
def test_choose_says_what_runs(position, length, packed, monkeypatch):
    """Each layer asks the engine and nobody else, so what is called is what is told."""
    patterns = [Causal(), Strided(back=9), Windowed(size=8), Strided(back=2) | Global(first=1)]
    sizes = {"vocab": 9, "context": 600, "depth": 4, "width": 16, "heads": 2}
    model = GPT(GPTConfig(**sizes, pattern=patterns, position=position))
    ran = []

    def spy(name, inner):
        return lambda problem: ran.append(name) or inner(problem)

    for name in BACKENDS:
        module = engine.backend(name)
        monkeypatch.setattr(module, "attend", spy(name, module.attend))
    segments = torch.zeros(2, length, dtype=torch.long) if packed else None
    for block, choice in zip(model.blocks, model.choose(2, length, segments=packed), strict=True):
        ran.clear()
        block.attention(torch.randn(2, length, 16), segments=segments)
        assert ran[0] == choice.impl  # a backend may ask another one


def test_choose_knows_linear_layers():
    sizes = {"vocab": 9, "context": 60, "depth": 2, "width": 16, "heads": 2}
    model = GPT(GPTConfig(**sizes, mixer=[Softmax(), LinearAttention()]))
    assert [choice.impl for choice in model.choose(2, 60)] == ["sdpa", "chunked"]


def test_patterns_may_be_texts():
    sizes = {"vocab": 9, "context": 60, "depth": 2, "width": 16, "heads": 2}
    assert GPTConfig(**sizes, pattern="strided(3)") == GPTConfig(**sizes, pattern=Strided(back=3))
    both = GPTConfig(**sizes, pattern=["strided(3)", Causal()])
    assert both.patterns == (Strided(back=3), Causal())
    with pytest.raises(ValueError, match="no pattern is called 'strode'"):
        GPTConfig(**sizes, pattern=["strode(3)"])
