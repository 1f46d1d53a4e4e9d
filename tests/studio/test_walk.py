"""What the One token room shows is what the model computes, of every kind of layer, edited masks included."""

import pytest
import torch

from regard.layers import (
    Alibi,
    CourseBlock,
    Gelu,
    LayerNorm,
    Learned,
    LinearAttention,
    Parallel,
    PostNorm,
    PreNorm,
    Projections,
    RMSNorm,
    Rotary,
    Sinusoidal,
    Softmax,
    SwiGLU,
    Trace,
)
from regard.models import GPT, GPTConfig, Untied
from regard.pattern import Causal, Strided, Windowed
from regard.studio.walk import walk
from tests.train.runs.conftest import draw

IDS = [3, 1, 4, 1, 5, 9, 2]
KINDS = {
    "plain": {},
    "rotary, grouped": {"position": Rotary(), "kv_heads": 2, "pattern": Windowed(4)},
    "alibi": {"position": Alibi(), "pattern": [Strided(back=3), Causal()]},
    "linear beside softmax": {"mixer": [LinearAttention(), Softmax()], "position": Sinusoidal()},
    "scaled, capped": {
        "mixer": Softmax(scale=0.7, softcap=2.0),
        "head": Untied(softcap=5.0, embed_scale=3.0),
    },
    "norms after": {"block": PostNorm()},
    "side by side": {"block": Parallel(norm=RMSNorm(), feedforward=SwiGLU())},
    "of the course": {"block": CourseBlock(feedforward=Gelu(hidden=10))},
    "normed heads": {"block": PreNorm(projections=Projections(head_norm=LayerNorm()))},
}


def build(**kind):
    config = GPTConfig(vocab=13, context=12, depth=2, width=16, heads=4, **kind)
    return GPT(config, generator=draw()).eval()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@torch.no_grad()
def test_all_numbers_are_the_model_s_own(kind):
    model = build(**kind)
    trace = Trace()
    logits = model(torch.tensor([IDS]), trace=trace)[0]
    seen = walk(model, IDS)
    assert torch.equal(seen.logits, logits)
    embedded, position = seen.before
    if not isinstance(model.config.block, PostNorm):
        whole = embedded if position is None else embedded + position
        torch.testing.assert_close(whole, seen.stream[0])
    for i, mixed in enumerate(seen.mixed):
        assert torch.equal(mixed.weights, trace[f"blocks.{i}.attention.weights"][0])
        assert torch.equal(seen.stream[i + 1], trace[f"blocks.{i}.output"][0])
        value = mixed.value.repeat_interleave(4 // len(mixed.value), dim=0)
        torch.testing.assert_close(mixed.weights @ value, mixed.out)
        torch.testing.assert_close(
            mixed.out.transpose(0, 1).flatten(1), seen.inputs[f"blocks.{i}.attention.out"]
        )
        if isinstance(model.config.mixers[i], LinearAttention):
            assert mixed.scores is mixed.own is mixed.mask is None
            continue
        assert torch.equal(mixed.own, model.config.patterns[i].dense(len(IDS)))
        softmax = mixed.scores.masked_fill(~mixed.mask, -torch.inf).softmax(-1)
        torch.testing.assert_close(softmax, mixed.weights)
    torch.testing.assert_close(seen.lens(model, 4)[-1], logits[4])


def test_the_model_itself_is_left_as_it_was():
    model = build()
    before = (
        [block.attention.mixer for block in model.blocks],
        [block.attention.packs for block in model.blocks],
    )
    walk(model, IDS, {0: torch.ones(4, 7, 7, dtype=torch.bool)})
    after = (
        [block.attention.mixer for block in model.blocks],
        [block.attention.packs for block in model.blocks],
    )
    assert before == after
    assert all(not part._forward_hooks for part in model.modules())


def by_hand(model, masks):
    """Logits of a plain model whose layers and heads attend under these masks (H,N,N)."""
    x = model.embed.weight[IDS] + model.position.weight[: len(IDS)]
    for block, mask in zip(model.blocks, masks, strict=True):
        q, k, v = block.attention.qkv(block.attention_norm(x)).view(len(IDS), 3, 4, 4).permute(1, 2, 0, 3)
        weights = (q @ k.mT / 2).masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num()
        x = x + block.attention.out((weights @ v).transpose(0, 1).flatten(1))
        x = x + block.feedforward(block.feedforward_norm(x))
    return model.output_norm(x) @ model.embed.weight.T


@torch.no_grad()
def test_an_edited_mask_is_the_mask_that_is_attended_under():
    model = build(pattern=[Strided(back=3), Causal()])
    edits = {layer: torch.rand(4, 7, 7, generator=draw(layer)) < 0.3 for layer in (0, 1)}
    edits[1][2, 3] = Causal().dense(7)[3]  # a row that sees nothing
    own = [pattern.dense(7) for pattern in model.config.patterns]
    masks = [own[i] ^ edits[i] for i in (0, 1)]
    seen = walk(model, IDS, edits)
    torch.testing.assert_close(seen.logits, by_hand(model, masks))
    assert torch.equal(seen.mixed[1].mask, masks[1])
    assert torch.equal(seen.mixed[1].weights[2, 3], torch.zeros(7))
    assert not torch.allclose(seen.logits, by_hand(model, [mask.expand(4, 7, 7) for mask in own]))


def test_positions_are_told_apart_from_the_embedding():
    model = build(position=Learned())
    embedded, position = walk(model, IDS).before
    assert torch.equal(embedded, model.embed.weight[IDS])
    assert torch.equal(position, model.position.weight[:7])
    assert walk(build(position=Rotary()), IDS).before[1] is None
