"""Rules of what models are made of: norms, positions, embeddings, feed-forwards, attention layers, blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.cost.attention import (
    attention,
    attention_gradient,
    linear_attention,
    linear_attention_gradient,
)
from regard.cost.dense import kept, linear, weights
from regard.cost.result import Cost, Number, changed, together
from regard.cost.setting import Setting, is_symbolic, less_one, ratio
from regard.cost.sight import keys_held, sight
from regard.layers import Alibi, Learned, RMSNorm, Rotary, SwiGLU
from regard.layers.linear_mixer import Linear
from regard.models.gpt import causal
from regard.pattern import Pattern


def elements(kind: str, count: Number) -> Cost:
    """Elementwise work that is neither multiplies nor adds."""
    return Cost(other={kind: count})


def norm(s: Setting, part: Any, rows: Number, width: Number) -> Cost:
    """LayerNorm has a scale and a shift, RMSNorm a scale alone."""
    count = width if isinstance(part, RMSNorm) else 2 * width
    return weights(s, count) + elements("norm", rows * width) + kept(s, rows * width)


def embedding(s: Setting, rows: Number, vocab: Number, width: Number) -> Cost:
    """A look-up: of the table only the ids must be read."""
    table = Cost(parameters=vocab * width, weight_bytes=vocab * width * s.each, moved_bytes=rows * 8)
    return table + elements("embedding", rows * width) + kept(s, rows * width)


def position(s: Setting, part: Any, n: Number, context: Number, width: Number) -> Cost:
    """What is added to the inputs; a table that follows from arithmetic is a constant."""
    if isinstance(part, Rotary | Alibi) or part is None:
        return Cost()
    out = Cost(adds=s.batch * n * width) + kept(s, s.batch * n * width)
    if not isinstance(part, Learned):
        return out
    notices: tuple[str, ...] = ()
    if not is_symbolic(n) and not is_symbolic(context) and n > context:
        # The price is asked for to choose, often beyond what was trained; the model itself would refuse.
        notices = (f"the learned positions end at context={context}: {n} tokens are priced, not run",)
    return out + weights(s, context * width) + Cost(notices=notices)


def mean(s: Setting, count: Number, width: Number) -> Cost:
    """The mean of `count` vectors in each row of the batch."""
    return Cost(adds=s.batch * less_one(count) * width, multiplies=s.batch * width)


def feedforward(s: Setting, part: Any, rows: Number, width: Number, *, bias: bool | None = None) -> Cost:
    """Linear, GELU, Linear; or the gated form, without biases unless told otherwise."""
    hidden = part.hidden_of(width)
    if isinstance(part, SwiGLU):
        bias = False if bias is None else bias
        middle = elements("silu", rows * hidden) + Cost(multiplies=rows * hidden) + kept(s, 2 * rows * hidden)
        return together(
            gate_up=linear(s, rows, width, 2 * hidden, bias=bias),
            gate=middle,
            down=linear(s, rows, hidden, width, bias=bias),
        )
    bias = True if bias is None else bias
    return together(
        up=linear(s, rows, width, hidden, bias=bias),
        gelu=elements("gelu", rows * hidden) + kept(s, rows * hidden),
        down=linear(s, rows, hidden, width, bias=bias),
    )


@dataclass(frozen=True)
class Heads:
    """The sizes of an attention layer, filled in; the biases are those of its projections."""

    width: Number
    heads: Number
    kv_heads: Number
    head_width: Number
    qkv_bias: bool = True
    out_bias: bool = True
    head_norm: bool = False  # an RMSNorm on each query and key head


def heads_of(width: Number, heads: Number, kv_heads: Number | None, head_width: Number | None) -> Heads:
    """Unset sizes filled in as the layers do."""
    whole = ratio(width, heads) if head_width is None else head_width
    return Heads(width, heads, heads if kv_heads is None else kv_heads, whole)


def attention_layer(s: Setting, h: Heads, pattern: Pattern, part: Any, n: Number) -> Cost:
    """Projections, turned or biased scores, weighted sums, and the way back."""
    rows, D = s.batch * n, h.head_width
    outputs = (h.heads + 2 * h.kv_heads) * D
    turned = (h.heads + h.kv_heads) * rows * D
    mix = linear_mix(s, h, n, True) if isinstance(pattern, Linear) else softmax_mix(s, h, pattern, part, n)
    extra = {}
    if h.head_norm:
        extra["head_norms"] = weights(s, 2 * D) + elements("norm", turned) + kept(s, turned)
    if isinstance(part, Rotary):
        extra["rotary"] = Cost(multiplies=2 * turned, adds=turned) + kept(s, turned)
    return together(
        qkv=linear(s, rows, h.width, outputs, bias=h.qkv_bias),
        **extra,
        mix=mix,
        out=linear(s, rows, h.heads * D, h.width, bias=h.out_bias),
    )


def softmax_mix(s: Setting, h: Heads, pattern: Pattern, part: Any, n: Number) -> Cost:
    """Scores, weights and weighted sums over a pattern."""
    D = h.head_width
    seen = sight(s, pattern, n)
    scaled = is_symbolic(D) or D != 1
    mix = attention(seen, h.heads, D, D, scaled=scaled, biased=isinstance(part, Alibi))
    mix += kept(s, s.batch * n * h.heads * D) + Cost(depth=1, **_cache(s, h, pattern, n, seen.pairs))
    if s.training:
        mix += attention_gradient(seen, h.heads, h.kv_heads, D, D, scaled=scaled)
    return mix


def linear_mix(s: Setting, h: Heads, n: Number, featured: bool) -> Cost:
    """Linear attention: running sums in place of keys."""
    rows, D = s.batch * n, h.head_width
    queries, keys, runs = rows, rows, s.batch
    if s.segments is not None:
        queries = keys = int((s.segments >= 0).sum())
        runs = sum(len(row[row >= 0].unique()) for row in s.segments)
    sizes = (queries, keys, runs, h.heads, h.kv_heads, D, D)
    state = s.batch * h.kv_heads * D * (D + 1) * max(s.each, 4)  # never in half precision
    mix = linear_attention(*sizes) + kept(s, rows * h.heads * D)
    mix += Cost(depth=1, cache_bytes=state, moved_bytes=2 * n * state if s.decode else 0)
    if featured:
        mix += elements("feature", (h.heads + h.kv_heads) * rows * D)
    return mix + linear_attention_gradient(*sizes) if s.training else mix


def _cache(s: Setting, h: Heads, pattern: Pattern, n: Number, pairs: Number) -> dict[str, Number]:
    """Keys and values held after n positions, and those that decoding them one by one must read."""
    if not looks_back(pattern):
        return {}
    row = h.kv_heads * 2 * h.head_width * s.each
    held = s.batch * keys_held(pattern, n) * row
    return {"cache_bytes": held, "moved_bytes": pairs * row if s.decode else 0}


def looks_back(pattern: Pattern) -> bool:
    """Whether the pattern is one that a GPT applies: it never sees the future."""
    return causal(pattern) == pattern


def block(s: Setting, assembly: Any, h: Heads, pattern: Pattern, part: Any, n: Number) -> Cost:
    """Attention and feed-forward, each with its norm and added to what came in."""
    rows = s.batch * n
    residual = Cost(adds=rows * h.width) + kept(s, rows * h.width)
    normed = norm(s, assembly.norm, rows, h.width)
    return together(
        attention_norm=normed if assembly.norms_attention else Cost(),
        attention=attention_layer(s, h, pattern, part, n),
        attention_residual=residual,
        feedforward_norm=normed,
        feedforward=feedforward(s, assembly.feedforward, rows, h.width),
        feedforward_residual=residual,
    )


def stack(patterns: Sequence[Pattern], depth: Number, one: Any) -> list[tuple[str, Cost]]:
    """The blocks by their pattern: equal ones are priced once and multiplied."""
    kinds = list(dict.fromkeys(patterns))
    if is_symbolic(depth):
        if len(kinds) > 1:
            raise ValueError("depth can be a letter only where all blocks have one pattern")
        return [(f"blocks ×{depth}", one(kinds[0]) * depth)]
    counts = {kind: sum(pattern == kind for pattern in patterns) for kind in kinds}
    name = "blocks ×{1}" if len(kinds) == 1 else "blocks {0} ×{1}"
    return [(name.format(kind, count), one(kind) * count) for kind, count in counts.items()]


def decoded(s: Setting, cost: Cost) -> Cost:
    """One token after another: as much arithmetic, but n times in sequence, reading all weights each time."""
    if not s.decode:
        return cost
    # The parts' moved bytes hold each weight once; every further token reads them again.
    again = less_one(s.tokens) * cost.weight_bytes
    return changed(cost, depth=cost.depth * s.tokens, moved_bytes=cost.moved_bytes + again)


def loss(s: Setting, rows: Number, classes: Number) -> Cost:
    """Cross-entropy: the logits' exponentials, and one mean."""
    return elements("loss", rows * classes)
