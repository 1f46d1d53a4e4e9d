import subprocess
import sys
import time

import pytest
import torch

from regard.cost import (
    AttentionShape,
    ConvolutionShape,
    GridRNNShape,
    LinearShape,
    PooledAttentionShape,
    RNNShape,
    price,
)
from regard.cost.pair_counts import all_take_part, counted, pair_counts, segmented
from regard.cost.setting import Setting
from regard.layers import Learned, Rotary
from regard.models import ConvNetConfig, GPTConfig, ViTConfig
from regard.models.presets import preset
from regard.pattern import Axial, Causal, Full, Global, Strided, Windowed

GPT2 = GPTConfig(vocab=50_257, context=1024, depth=12, width=768, heads=12)
HUGE = GPTConfig(
    vocab=200_000,
    context=1 << 20,
    depth=124,
    width=26_000,
    heads=200,
    pattern=[Strided(back=4095), Causal()],
    position=Rotary(),
)


def test_the_conventions_on_paper():
    # One head of width 2 over 3 tokens, causal: 6 pairs.
    cost = price(AttentionShape(width=2, heads=1, pattern=Causal()), tokens=3)
    mix = dict(cost.parts)["mix"]
    assert mix.multiplies == 6 * 2 + 6 + 6 * 2
    assert mix.adds == 6 * 1 + (6 - 3) * 2
    assert mix.pairs == mix.exps == 6
    assert dict(cost.parts)["qkv"].adds == 3 * (2 - 1) * 6 + 3 * 6


def test_the_grid_of_the_design():
    cost = price(GridRNNShape(channels=3, hidden=5), image=(4, 4))
    assert (cost.multiplies, cost.adds, cost.parameters, cost.depth) == (840, 760, 2 * 25 + 15, 7)


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 5), (3, 4), (4, 3)])
def test_grid_borders(rows, cols):
    h, c, B = 5, 3, 2
    links = rows * (cols - 1) + (rows - 1) * cols
    cost = price(GridRNNShape(channels=c, hidden=h), image=(rows, cols), batch=B)
    assert cost.multiplies == B * (rows * cols * h * c + links * h * h)
    assert cost.adds == B * (rows * cols * h * (c - 1) + links * h * h)


def test_a_trillion_parameters_in_no_time():
    spent = []
    for _ in range(3):  # other programs may hold the processor
        counted.cache_clear()
        start = time.perf_counter()
        cost = price(HUGE, tokens=1 << 20)
        spent.append(time.perf_counter() - start)
    assert cost.parameters > 10**12
    assert min(spent) < 0.05


def test_nothing_is_built_and_sympy_waits():
    code = (
        "import sys, torch\n"
        "from regard.cost import price\n"
        "from regard.models import GPTConfig\n"
        "torch.nn.Parameter.__new__ = None\n"
        "price(GPTConfig(vocab=9, context=8, depth=2, width=8, heads=2), tokens=8)\n"
        "assert 'sympy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_shared_weights_are_counted_once():
    from regard.models import Untied

    untied = GPTConfig(vocab=50_257, context=1024, depth=12, width=768, heads=12, head=Untied(bias=False))
    tied, own = price(GPT2, tokens=8), price(untied, tokens=8)
    assert own.parameters - tied.parameters == 50_257 * 768
    assert own.flops == tied.flops


def test_bytes():
    cost = price(GPT2, tokens=1000, batch=2, dtype=torch.bfloat16)
    assert cost.weight_bytes == 2 * cost.parameters
    assert cost.cache_bytes == 2 * 12 * 12 * 1000 * 2 * 64 * 2
    windowed = price(GPTConfig(vocab=9, context=1024, pattern=Strided(back=15)), tokens=1000)
    assert windowed.cache_bytes == 6 * 6 * 16 * 2 * 64 * 4
    decode = price(GPT2, tokens=1000, decode=True)
    assert decode.moved_bytes > 1000 * decode.weight_bytes
    assert decode.depth == 12 * 1000
    assert decode.flops == price(GPT2, tokens=1000).flops


def test_training_is_about_three_times_the_products():
    forward, training = price(GPT2, tokens=64), price(GPT2, tokens=64, training=True)
    assert training.macs == 3 * forward.macs
    assert training.pairs == forward.pairs
    assert training.parameters == forward.parameters


def test_tokens_of_an_image_model_are_ignored_with_a_notice():
    config = ViTConfig(image=28, patch=4, channels=1, classes=10)
    cost = price(config, tokens=9999)
    assert "tokens is ignored" in cost.notices[0]
    assert cost.flops == price(config).flops
    assert price(config).notices == ()


@pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=3), Windowed(size=5)])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 11, 100])
def test_quick_counts_are_the_patterns_own(pattern, n):
    assert counted(pattern, n, n).pairs == pattern.pairs(n)


@pytest.mark.parametrize(
    "pattern",
    [~Causal(), Global(first=1) & Causal(), Causal() & ~Strided(back=1), Axial(rows=2, cols=4), ~Full()],
)
def test_queries_and_keys_that_take_part(pattern):
    dense = pattern.dense(8)
    found = counted(pattern, 8, 8)
    assert (found.pairs, found.queries, found.keys) == (
        int(dense.sum()), int(dense.any(1).sum()), int(dense.any(0).sum()),
    )  # fmt: skip
    dense = pattern.dense(3, 8)
    found = counted(pattern, 3, 8)
    assert (found.queries, found.keys) == (int(dense.any(1).sum()), int(dense.any(0).sum()))


def test_segments_count_pairs_inside():
    segments = torch.tensor([[0, 0, 1, -1], [-1, 2, 2, 2]])
    assert segmented(Causal(), segments, segments).pairs == 3 + 1 + 6
    assert pair_counts(Setting(batch=2, segments=segments), Causal(), 4).queries == 6
    assert all_take_part(Causal() & Strided(back=1))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: price(GPT2), "tokens must be given"),
        (lambda: price(GPT2, tokens=-1), "tokens must be at least 1, got tokens=-1"),
        (lambda: price(GPT2, tokens=8, batch=0), "batch must be at least 1"),
        (lambda: price(GPT2, tokens=1.5), "tokens must be an integer"),
        (lambda: price("gpt2", tokens=8), "there is a rule for configs"),
        (lambda: price(torch.nn.LSTM(2, 3), tokens=8), "there is a rule for"),
        (lambda: price(GPT2, tokens=8, training=True, decode=True), "exclude each other"),
        (lambda: price(ViTConfig(image=8, patch=4), decode=True), "decode is for models that write"),
        (lambda: price(ViTConfig(image=8, patch=4), image=(9, 8)), "patches must tile the image"),
        (lambda: price(ConvNetConfig(image=8, classes=2, widths=(2,)), image=9), r"images of \(8, 8\) alone"),
        (lambda: price(GridRNNShape(channels=1, hidden=2)), "image must be given"),
        (lambda: price(AttentionShape(width=8, heads=3), tokens=4), "heads must divide width"),
        (lambda: price(AttentionShape(width=8, pattern=Axial(rows=2, cols=3)), tokens=4), "covers 6"),
        (lambda: price(LinearShape(inputs="a b", outputs=3)), "must be a whole number or a letter"),
        (lambda: RNNShape(channels=0, hidden=2), "channels must be at least 1"),
        (lambda: PooledAttentionShape(width=2, head_width=2, value_width=2, arrangement="x"), "arrangement"),
        (lambda: price(ConvolutionShape(inputs=1, outputs=1, kernel=9), image=4), "kernel must be at most"),
        (lambda: price(GPT2, tokens=5, segments=torch.zeros(2, 4, dtype=torch.long)), "that of segments, 4"),
        (lambda: price(GPT2, tokens=8).formula("wdith"), "no size is called 'wdith'"),
        (lambda: price(GPT2, tokens=8).order("flop"), "count must be one of"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(ValueError, match=message) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_a_gated_feedforward_has_three_matrices():
    from regard.cost import FeedForwardShape

    assert price(FeedForwardShape(width=96, gated=True), tokens=1).parameters == 3 * 96 * 256


def test_more_tokens_than_learned_positions_are_priced_with_a_notice():
    long = price(GPT2, tokens=2048)
    assert long.parameters == price(GPT2, tokens=1024).parameters
    assert long.notices == ("the learned positions end at context=1024: 2048 tokens are priced, not run",)
    assert price(GPT2, tokens=1024).notices == ()


@pytest.mark.parametrize("name", ["gpt2", "llama-3-8b", "bert-base-masked-lm", "gpt-small"])
def test_logits_are_bytes_that_move(name):
    one, two = (price(preset(name), tokens=n) for n in (10, 11))
    what = preset(name)
    inner = getattr(what, "backbone", what)
    row = 4 * inner.width if isinstance(getattr(inner, "position", None), Learned) else 0  # of its positions
    assert two.moved_bytes - one.moved_bytes == 8 + 4 * inner.vocab + row
