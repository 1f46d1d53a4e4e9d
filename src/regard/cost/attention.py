"""Rules of attention: over a pattern, linear, pooled, and without weights."""

from __future__ import annotations

from collections.abc import Iterable

from regard.cost.dense import kept, product, product_gradient, weights
from regard.cost.pair_counts import PairCounts, keys_held, pair_counts
from regard.cost.result import Cost
from regard.cost.setting import Setting, less_one
from regard.layers.attention_shapes import PooledAttentionShape, WeightlessShape
from regard.layers.letters import Number, is_letter
from regard.layers.linear_mixer import LinearMixShape
from regard.layers.softmax_mixer import SoftmaxShape
from regard.layers.stack import causal


def attention(
    seen: PairCounts, heads: Number, width: Number, value_width: Number, *, scaled: bool, biased: bool
) -> Cost:
    """Scores, softmax and weighted sums of all heads; `seen` is of one head over the batch.

    >>> cost = attention(PairCounts(pairs=10, queries=4, keys=4), 2, 8, 8, scaled=True, biased=False)
    >>> cost.multiplies, cost.adds, cost.pairs
    (340, 236, 20)
    """
    pairs, D, E = heads * seen.pairs, width, value_width
    macs = pairs * D + pairs * E
    sums = pairs * less_one(D) + (pairs - heads * seen.queries) * E
    return Cost(
        multiplies=macs + (pairs if scaled else 0),
        adds=sums + (pairs if biased else 0),
        macs=macs,
        product_adds=sums,
        pairs=pairs,
        computed_pairs=pairs,
        other={"softmax": pairs},
    )


def attention_gradient(
    seen: PairCounts, heads: Number, groups: Number, width: Number, value_width: Number, *, scaled: bool
) -> Cost:
    """Four products: of the weights, of the values, of the queries, of the keys; nothing is recomputed."""
    pairs, D, E = heads * seen.pairs, width, value_width
    macs = 2 * pairs * (D + E)
    sums = pairs * less_one(E)  # weights
    sums += (pairs - groups * seen.keys) * (D + E)  # keys and values, summed over the heads of a group
    sums += (pairs - heads * seen.queries) * D  # queries
    return Cost(multiplies=macs + (pairs if scaled else 0), adds=sums, macs=macs, product_adds=sums)


def linear_attention(
    queries: Number, keys: Number, runs: Number, heads: Number, groups: Number, width: Number, values: Number
) -> Cost:
    """φ(q)·S / φ(q)·z with S = Σ φ(k) vᵀ and z = Σ φ(k), kept as running sums: linear in the length.

    `queries` and `keys` are totals of one head over the batch, `runs` the sums that start from nothing.
    """
    D, E = width, values
    build = groups * keys * D * E
    build_adds = groups * (keys - runs) * D * E
    read = heads * queries * D * (E + 1)  # the numerator, and the denominator as one more column
    read_adds = heads * queries * less_one(D) * (E + 1)
    return Cost(
        multiplies=build + read + heads * queries * E,  # each result times 1/denominator
        adds=build_adds + groups * (keys - runs) * D + read_adds,
        macs=build + read,
        product_adds=build_adds + read_adds,
    )


def linear_attention_gradient(
    queries: Number, keys: Number, runs: Number, heads: Number, groups: Number, width: Number, values: Number
) -> Cost:
    """Every product of the forward gives two: one for each of its factors."""
    D, E = width, values
    read = 2 * heads * queries * D * (E + 1)
    build = 2 * groups * keys * D * E
    read_adds = heads * queries * D * E + (heads * queries - groups * runs) * D * (E + 1)
    build_adds = groups * keys * (D * less_one(E) + less_one(D) * E)
    return Cost(
        multiplies=read + build,
        adds=read_adds + build_adds,
        macs=read + build,
        product_adds=read_adds + build_adds,
    )


def softmax_mix(shape: SoftmaxShape, s: Setting) -> Cost:
    """Scores, weights and weighted sums over a pattern; the keys and values that a cache holds and reads."""
    n, H, G, D = s.need_tokens(), shape.heads, shape.kv_heads, shape.head_width
    seen = pair_counts(s, shape.pattern, n)
    scaled = is_letter(D) or D != 1 if shape.scale is None else shape.scale != 1
    mix = attention(seen, H, D, D, scaled=scaled, biased=shape.biased)
    mix += kept(s, s.batch * n * H * D) + Cost(depth=1)
    if shape.cached and causal(shape.pattern) == shape.pattern:
        row = G * 2 * D * s.each
        held = s.batch * keys_held(shape.pattern, n) * row
        mix += Cost(cache_bytes=held, moved_bytes=seen.pairs * row if s.decode else 0)
    return mix + attention_gradient(seen, H, G, D, D, scaled=scaled) if s.training else mix


def linear_mix(shape: LinearMixShape, s: Setting) -> Cost:
    """Linear attention: running sums in place of keys."""
    n, H, G, D = s.need_tokens(), shape.heads, shape.kv_heads, shape.head_width
    rows = s.batch * n
    queries, keys, runs = rows, rows, s.batch
    if s.segments is not None:
        queries = keys = int((s.segments >= 0).sum())
        runs = sum(len(row[row >= 0].unique()) for row in s.segments)
    sizes = (queries, keys, runs, H, G, D, D)
    state = s.batch * G * D * (D + 1) * max(s.each, 4)  # never in half precision
    mix = linear_attention(*sizes) + kept(s, rows * H * D)
    mix += Cost(depth=1, other={"feature": (H + G) * rows * D})
    if shape.looks_back:
        mix += Cost(cache_bytes=state, moved_bytes=2 * n * state if s.decode else 0)
    return mix + linear_attention_gradient(*sizes) if s.training else mix


def weightless(shape: WeightlessShape, s: Setting) -> Cost:
    """Self-attention with queries = keys = values = x: every pair of n positions."""
    n, width = s.need_tokens(), shape.width
    products = ((n, width, n, s.batch), (n, n, width, s.batch))
    pairs = s.batch * n**2
    out = Cost(multiplies=pairs if shape.scale != 1 else 0, other={"softmax": pairs}, depth=1)
    return out + _products(s, products) + kept(s, s.batch * n * width)


def pooled(shape: PooledAttentionShape, s: Setting) -> Cost:
    """The course sheet's attention, as written ("plain", n² products) or with the sum taken first."""
    n, B = s.need_tokens(), s.batch
    width, head, values = shape.width, shape.head_width, shape.value_width
    products = [(B * n, width, head, 1)]  # queries
    if shape.arrangement == "plain":
        products += [(B * n, width, head, 1), (n, head, n, B)]
        summed = B * n * less_one(n)
    else:
        products += [(B, width, head, 1), (n, head, 1, B)]
        summed = B * less_one(n) * width
    products += [(B * n, width, values, 1), (1, n, values, B)]
    out = Cost(multiplies=B * n, adds=summed, other={"softmax": B * n}, depth=1)  # scores by 1/√n
    out += _products(s, products) + kept(s, B * n * (head + 2 * values))
    return out + weights(s, 2 * width * head + width * values)


def _products(s: Setting, sizes: Iterable[tuple[Number, Number, Number, Number]]) -> Cost:
    out = Cost()
    for one in sizes:
        out += product(*one)
        if s.training:
            out += product_gradient(*one)
    return out
