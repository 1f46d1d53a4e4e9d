"""Decoding on fixed memory equals the full forward: every pattern, every position kind, any mix of rows."""

from contextlib import contextmanager

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.layers import (
    Alibi,
    CourseBlock,
    Learned,
    LinearAttention,
    Natural,
    PostNorm,
    PreNorm,
    RMSNorm,
    Rotary,
    Scaled,
    Sinusoidal,
    Softmax,
    SwiGLU,
)
from regard.layers.softmax_mixer import ENDLESS, PatternSlots
from regard.layers.stack import causal
from regard.models import GPT, GPTConfig, Tied, Untied, decode_prepacked
from regard.models.decode_loop import choose, obtain
from regard.models.decode_store import DECODERS
from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Prefix,
    RandomBlocks,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
)

T = 20
LINEAR, FADING = "linear", "fading"  # stand for Causal() under one of these
MIXERS = {LINEAR: LinearAttention(), FADING: LinearAttention("alibi")}
PATTERNS = [
    Full(),
    Causal(),
    LINEAR,
    FADING,
    Strided(back=3),
    Strided(back=0),
    Windowed(size=6),
    Dilated(back=2, step=3),
    SparseStrided(stride=4),
    SparseFixed(stride=5, summary=2),
    Global(first=3),
    Prefix(length=4),
    Documents(lengths=(7, 1, 12)),
    Blocks(size=6),
    Neighbourhood(rows=4, cols=5, reach=1),
    Axial(rows=4, cols=5),
    RandomBlocks(size=4, per_row=2, seed=3),
    Strided(back=3) | Global(first=2),
    ~Strided(back=2),
    ~Causal(),
    Windowed(size=6) & ~Strided(back=0) | Dilated(back=1, step=7),
]
POSITIONS = [Learned(), Natural(), Scaled(longest=20), Sinusoidal(), Rotary(), Alibi()]
BLOCKS = [PreNorm(), PostNorm(), CourseBlock(), PreNorm(norm=RMSNorm(), feedforward=SwiGLU())]
CLOSE = 1e-4  # a token is certain where the best logit leads by more


def lively(seed=2, **fields):
    """A model whose weights are large enough for its tokens to matter."""
    given = fields.get("pattern", Causal())
    given = given if isinstance(given, list | tuple) else [given]
    fields["pattern"] = [Causal() if one in MIXERS else one for one in given]
    fields["mixer"] = [MIXERS.get(one, Softmax()) for one in given]
    shape = {"vocab": 13, "context": T, "depth": 2, "width": 12, "heads": 3, **fields}
    model = GPT(GPTConfig(**shape), generator=torch.Generator().manual_seed(seed)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(8) if weight.ndim > 1 else weight.add_(0.1)
    return model


def draw(*shape, seed=6):
    return torch.randint(13, shape, generator=torch.Generator().manual_seed(seed))


def _both(width):
    """So many keys together, the first and the latest."""
    return Strided(back=width - 1) | Global(first=3)


@contextmanager
def prepacked_from(count):
    """Weights are laid out anew from so many tokens on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_prepacked, "PAYS_FROM", count)
        yield


def check_greedy(model, row, start, segments=None):
    """Every token from `start` on is the likeliest after those before it, by the full forward; the number
    of tokens that were certain."""
    geometry = any(atom.total for pattern in model.config.patterns for atom in pattern.atoms())
    padded = torch.cat([row, row.new_zeros(T - len(row))]) if geometry else row  # a grid wants all its cells
    with torch.no_grad():
        logits = model(padded[None], segments=None if segments is None else segments[None])[0]
    logits = logits[start - 1 : len(row) - 1]
    best = logits.topk(2).values
    certain = best[:, 0] - best[:, 1] > CLOSE
    assert torch.equal(logits.argmax(-1)[certain], row[start:][certain])
    return int(certain.sum())


@given(st.data())
@settings(max_examples=40)
def test_cached_decoding_equals_recomputation(data):
    position = data.draw(st.sampled_from(POSITIONS))
    allowed = [p for p in PATTERNS if p not in MIXERS or not isinstance(position, Alibi)]
    patterns = data.draw(st.lists(st.sampled_from(allowed), min_size=1, max_size=2))
    heads = data.draw(st.sampled_from([{}, {"heads": 4, "kv_heads": 2, "head_width": 4}]))
    model = lively(
        data.draw(st.integers(0, 5)),
        pattern=patterns,
        position=position,
        block=data.draw(st.sampled_from(BLOCKS)),
        head=data.draw(st.sampled_from([Tied(), Untied()])),
        **({"head_width": 4} | heads if isinstance(position, Rotary) else heads),
    )
    lengths = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    prompts = [draw(length, seed=i) for i, length in enumerate(lengths)]
    count = T - max(lengths)
    impl = data.draw(st.sampled_from(["plain", "lean", "prepacked", "auto"]))
    with prepacked_from(1 if impl == "prepacked" else 10**9):
        found = model.generate(prompts, max_new_tokens=count, impl="lean" if impl == "prepacked" else impl)
    for prompt, row in zip(prompts, found, strict=True):
        assert torch.equal(row[: len(prompt)], prompt)
        assert len(row) == len(prompt) + count
        assert check_greedy(model, row, len(prompt)) > 0


@pytest.mark.parametrize("pattern", [Causal(), LINEAR, Strided(back=3), Windowed(size=6), Global(first=8)])
@pytest.mark.parametrize("position", [Learned(), Rotary()])
@pytest.mark.parametrize("impl", ["plain", "lean"])
def test_padding_and_packed_prompts_follow_the_forward(pattern, position, impl):
    model = lively(pattern=[pattern, Strided(back=4)], position=position, head_width=4)
    prompts = draw(3, 8)
    segments = torch.tensor([[-1] * 3 + [0] * 5, [0] * 4 + [1] * 4, [0] * 8])
    found = model.generate(prompts, max_new_tokens=11, segments=segments, impl=impl)
    for row, own in zip(found, segments, strict=True):
        whole = torch.cat([own, own[-1:].expand(11)])
        assert check_greedy(model, row, 8, whole) > 0


def test_lean_logits_are_the_plain_ones():
    model = lively(pattern=[Strided(back=3), Causal(), LINEAR], depth=3, position=Rotary(), head_width=4)
    tokens = draw(2, T)
    decoder = obtain(model, 2, T)
    with torch.no_grad():
        want = model(tokens)
        torch.testing.assert_close(decoder.fill(model, list(tokens[:, :5]), None), want[:, 4])
        for t in range(5, T):
            decoder.token.copy_(tokens[:, t])
            decoder.at += 1
            decoder.together = t if t % 2 else None  # both ways of knowing where the rows stand
            torch.testing.assert_close(decoder.step(), want[:, t], atol=1e-4, rtol=1e-4)


def test_bfloat16_stays_near_float32():
    """The stated gap: 5% of the spread of the logits."""
    model = lively(pattern=[Strided(back=3), Causal(), LINEAR], depth=3, width=32, heads=4)
    tokens = draw(3, T)
    with torch.no_grad():
        want = model(tokens)
        low = GPT(model.config)
        low.load_state_dict(model.state_dict())
        low.bfloat16()
        decoder = obtain(low, 3, T)
        logits = [decoder.fill(low, list(tokens[:, :4]), None)]
        for t in range(4, T):
            decoder.token.copy_(tokens[:, t])
            decoder.at += 1
            decoder.together += 1
            logits.append(decoder.step())
    gap = (torch.stack(logits, 1).float() - want[:, 3:]).abs().max()
    assert gap < 0.05 * (want.max() - want.min())
    assert gap > 0


def test_memory_stays_and_grows_with_the_pattern():
    model = lively(pattern=Strided(back=3), position=Rotary(), head_width=4)
    decoder = obtain(model, 2, 4096)
    row = 2 * 3 * 4 * 4 * 2  # batch, heads, width, bytes, keys and values
    assert decoder.nbytes == 2 * 4 * row
    model = lively(pattern=LINEAR, position=Sinusoidal())
    assert obtain(model, 2, 4096).nbytes == obtain(model, 2, 4).nbytes
    model = lively(pattern=Causal(), position=Rotary(), head_width=4)
    assert obtain(model, 2, 100).nbytes == 2 * 128 * row


@pytest.mark.parametrize("pattern", [Causal(), Strided(back=70), Prefix(length=3)])
@pytest.mark.parametrize("prepacked", [1, 10**9])
def test_growing_loses_nothing(pattern, prepacked, monkeypatch):
    monkeypatch.setattr(decode_prepacked, "PAYS_FROM", prepacked)
    monkeypatch.setattr("regard.models.decode_loop.GROWS_BY", 8)
    model = lively(pattern=pattern, position=Rotary(), head_width=4)
    prompt = draw(2, 5)
    want = model.generate(prompt, max_new_tokens=120, impl="plain")
    assert torch.equal(model.generate(prompt, max_new_tokens=120, impl="lean"), want)


def test_a_pattern_that_forgets_has_no_end():
    """Nothing is made anew however far the stream goes."""
    for pattern in (Strided(back=3), LINEAR, FADING, [Strided(back=3), Global(first=2)]):
        assert obtain(lively(pattern=pattern, position=Sinusoidal()), 1, 64).capacity == ENDLESS
    assert obtain(lively(pattern=[Strided(back=3), Causal()]), 1, 64).capacity == 64
    assert obtain(lively(pattern=Strided(back=100)), 1, 64).capacity == 64


@pytest.mark.parametrize(
    "kind",
    [lambda w: Strided(back=w - 1), Windowed, Global, _both],
    ids=["strided", "windowed", "global", "both"],
)
def test_every_key_has_a_slot_for_every_window_and_room(kind):
    for width in range(1, 301):
        pattern = causal(kind(width))
        for capacity in (1, 2, 8, 32, 64, 127, 128, 129, 256, 512):
            place = PatternSlots(pattern, capacity)
            end = 1000 if place.endless else capacity
            slots = place.layout.slot(torch.arange(end))
            assert int(slots.max()) < place.layout.size, (width, capacity)
            held = place.layout.held(torch.tensor([end - 1]))[0]
            alive = (
                torch.arange(max(0, end - width), end)
                if kind is not Global
                else torch.arange(min(width, end))
            )
            assert set(held.tolist()) >= set(alive.tolist()), (width, capacity)


def test_a_stream_of_many_tokens_holds_still():
    model = lively(pattern=Strided(back=3), position=Sinusoidal())
    stream = model.stream(draw(1, 4), max_new_tokens=10**9)
    found = torch.stack([next(stream) for _ in range(300)])
    assert found.shape == (300, 1)
    assert len(found.unique()) > 3


def test_two_streams_of_one_model_do_not_meet():
    model = lively(position=Rotary(), head_width=4)
    want = [model.generate(draw(2, 5, seed=s), max_new_tokens=8, impl="plain")[:, 5:] for s in (1, 2)]
    streams = [model.stream(draw(2, 5, seed=s), max_new_tokens=8) for s in (1, 2)]
    pairs = list(zip(*streams, strict=True))
    for i in range(2):
        assert torch.equal(torch.stack([pair[i] for pair in pairs], 1), want[i])


@pytest.mark.parametrize("prepacked", [1, 10**9])
@pytest.mark.parametrize("segmented", [False, True])
def test_a_call_in_inference_mode_does_not_spoil_the_next(prepacked, segmented, monkeypatch):
    monkeypatch.setattr(decode_prepacked, "PAYS_FROM", prepacked)
    monkeypatch.setattr("regard.models.decode_loop.GROWS_BY", 8)
    model = lively(position=Rotary(), head_width=4)
    more = {"segments": torch.tensor([[-1, 0, 0]])} if segmented else {}
    want = model.generate(draw(1, 3), max_new_tokens=20, impl="plain", **more)
    for inside in (True, False, True, False):
        DECODERS.latest.pop(model, None) if inside else None
        with torch.inference_mode(inside):
            assert torch.equal(model.generate(draw(1, 3), max_new_tokens=20, **more), want)


@pytest.mark.parametrize("prepacked", [1, 10**9])
def test_new_weights_are_used(prepacked, monkeypatch):
    monkeypatch.setattr(decode_prepacked, "PAYS_FROM", prepacked)
    model = lively()
    prompt = draw(1, 5)
    model.generate(prompt, max_new_tokens=6)
    with torch.no_grad():
        model.embed.weight.copy_(model.embed.weight.flip(0))
    assert torch.equal(
        model.generate(prompt, max_new_tokens=6), model.generate(prompt, max_new_tokens=6, impl="plain")
    )
    model.load_state_dict({k: v.flip(0) for k, v in model.state_dict().items()}, assign=True)
    assert torch.equal(
        model.generate(prompt, max_new_tokens=6), model.generate(prompt, max_new_tokens=6, impl="plain")
    )


@given(st.data())
@settings(max_examples=30)
def test_sampling_is_the_same_both_ways(data):
    """Every choice of temperature, top-k, top-p, seed and stop tokens, any mix of rows, any pattern."""
    position = data.draw(st.sampled_from(POSITIONS))
    patterns = [Causal(), Strided(back=3), Windowed(size=6), Global(first=3)]
    patterns += [] if isinstance(position, Alibi) else [LINEAR]
    model = lively(
        data.draw(st.integers(0, 3)),
        pattern=data.draw(st.lists(st.sampled_from(patterns), min_size=1, max_size=2)),
        position=position,
        head_width=4,
    )
    lengths = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    prompts = [draw(length, seed=i) for i, length in enumerate(lengths)]
    how = {
        "temperature": data.draw(st.sampled_from([0.0, 0.5, 1.3])),
        "top_k": data.draw(st.sampled_from([None, 1, 3, 50])),
        "top_p": data.draw(st.sampled_from([None, 0.3, 0.7, 1.0])),
        "stop": data.draw(st.lists(st.integers(0, 12), max_size=3)),
        "ban": data.draw(st.lists(st.integers(0, 12), max_size=3)),
    }
    seed = data.draw(st.integers(0, 9))

    def run(impl, prepacked=False):
        g = torch.Generator().manual_seed(seed)
        with prepacked_from(1 if prepacked else 10**9):
            return model.generate(prompts, max_new_tokens=9, generator=g, impl=impl, **how)

    want = run("plain")
    for found in (run("lean"), run("lean", prepacked=True)):
        for prompt, a, b in zip(prompts, found, want, strict=True):
            assert torch.equal(a, b)
            assert not torch.isin(a[len(prompt) :], torch.tensor(how["ban"], dtype=torch.long)).any()
            met = torch.isin(a[len(prompt) :], torch.tensor(how["stop"], dtype=torch.long)).nonzero()
            if len(met):  # what has stopped repeats its stop
                assert (a[len(prompt) + met[0, 0] :] == a[len(prompt) + met[0, 0]]).all()


def test_another_seed_draws_other_tokens():
    model = lively()
    runs = [
        model.generate(
            draw(2, 5), max_new_tokens=9, temperature=1.3, generator=torch.Generator().manual_seed(s)
        )
        for s in (1, 1, 2)
    ]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_a_linear_model_learns():
    config = GPTConfig(
        vocab=13, context=T, depth=2, width=12, heads=3, pattern=[Causal(), Strided(back=2)],
        mixer=[LinearAttention(), Softmax()],
    )  # fmt: skip
    model = GPT(config, generator=torch.Generator().manual_seed(0))
    optimiser, x = torch.optim.AdamW(model.parameters(), lr=1e-2), draw(2, T)
    for _ in range(80):
        loss = torch.nn.functional.cross_entropy(model(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.5


def test_errors_and_reasons():
    model = lively()
    assert choose(model).impl == "lean"
    assert "no GPU" in model.decoding(batch=3).why
    with pytest.raises(ValueError, match="impl='graph' cannot run: there is no GPU"):
        model.generate(draw(1, 3), max_new_tokens=2, impl="graph")
    with pytest.raises(ValueError, match="impl must be auto, plain, lean, graph, int8, got impl='fast'"):
        model.generate(draw(1, 3), max_new_tokens=2, impl="fast")
    with pytest.raises(ValueError, match=r"tokens must be from 0 to 12, got 3 to 13"):
        model.generate(torch.tensor([[3, 13]]), max_new_tokens=2)
    with pytest.raises(ValueError, match=r"\(T,\) with T ≥ 1, got \(0,\) torch.int64 at 1"):
        model.generate([draw(2), draw(0)], max_new_tokens=2)
    with pytest.raises(ValueError, match="an empty list"):
        model.generate([], max_new_tokens=2)
    with pytest.raises(ValueError, match="need no padding"):
        model.generate([draw(2)], max_new_tokens=2, segments=draw(1, 2))
    with pytest.raises(ValueError, match="a prompt of 15 and max_new_tokens=6 must fit context=20"):
        model.generate([draw(2), draw(15)], max_new_tokens=6)
    with pytest.raises(ValueError, match="stop must hold tokens from 0 to 12, got stop=999"):
        model.generate(draw(1, 3), max_new_tokens=2, stop=999)
    grid = lively(pattern=[Causal(), Axial(rows=4, cols=5)], position=Rotary(), head_width=4)
    for impl in ("plain", "lean"):
        with pytest.raises(
            ValueError, match=r"a prompt of 3 and max_new_tokens=18 must fit the 20 positions"
        ):
            grid.generate(draw(1, 3), max_new_tokens=18, impl=impl)
        assert grid.generate(draw(1, 3), max_new_tokens=17, impl=impl).shape == (1, 20)
    assert [len(x) for x in model.generate([draw(2), draw(4)], max_new_tokens=0)] == [2, 4]


def test_a_decoder_goes_with_its_model():
    before = len(DECODERS.latest)
    model = lively()
    model.generate(draw(1, 3), max_new_tokens=2)
    del model
    assert len(DECODERS.latest) <= before


@pytest.mark.parametrize("impl", ["plain", "lean"])
def test_an_autocast_around_changes_nothing(impl):
    config = GPTConfig(vocab=11, context=32, depth=2, width=16, heads=2)
    model = GPT(config, generator=torch.Generator().manual_seed(0))
    prompt = torch.randint(11, (2, 5), generator=torch.Generator().manual_seed(1))
    want = model.generate(prompt, max_new_tokens=8, impl=impl)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(model.generate(prompt, max_new_tokens=8, impl=impl), want)
