"""Rules of attention: over a pattern, linear, pooled, and without weights."""

from __future__ import annotations

from collections.abc import Iterable

from regard.cost.dense import kept, product, product_gradient, weights
from regard.cost.exchanging import sent
from regard.cost.pair_counts import PairCounts, keys_held, pair_counts
from regard.cost.result import Cost
from regard.cost.setting import Setting, less_one
from regard.layers.attention_shapes import PooledAttentionShape, WeightlessShape
from regard.layers.letters import Number, unless
from regard.layers.linear_mixer import LinearMixShape
from regard.layers.softmax_mixer import SoftmaxShape
from regard.layers.stack import causal


def attention(
    seen: PairCounts,
    heads: Number,
    width: Number,
    value_width: Number,
    *,
    scaled: bool | None = None,
    biased: bool = False,
    capped: bool = False,
) -> Cost:
    """Scores, softmax and weighted sums of all heads; `seen` is of one head over the batch.

    Unless told, scores are scaled by 1/√width, which of a width of 1 is no work; those that are `capped` are
    divided by the cap, and their tanh times it.

    >>> cost = attention(PairCounts(pairs=10, queries=4, keys=4), 2, 8, 8)
    >>> cost.multiplies, cost.adds, cost.pairs
    (340, 236, 20)
    """
    pairs, D, E = heads * seen.pairs, width, value_width
    macs = pairs * D + pairs * E
    sums = pairs * less_one(D) + (pairs - heads * seen.queries) * E
    return Cost(
        multiplies=macs + _scaling(pairs, D, scaled) + (2 * pairs if capped else 0),
        adds=sums + (pairs if biased else 0),
        macs=macs,
        product_adds=sums,
        pairs=pairs,
        computed_pairs=pairs,
        other={"softmax": pairs, "tanh": pairs} if capped else {"softmax": pairs},
    )


def _scaling(pairs: Number, width: Number, scaled: bool | None) -> Number:
    return unless(width, 1, pairs) if scaled is None else pairs if scaled else 0


def attention_gradient(
    seen: PairCounts,
    heads: Number,
    groups: Number,
    width: Number,
    value_width: Number,
    *,
    scaled: bool | None = None,
) -> Cost:
    """Four products: of the weights, of the values, of the queries, of the keys; nothing is recomputed."""
    pairs, D, E = heads * seen.pairs, width, value_width
    macs = 2 * pairs * (D + E)
    sums = pairs * less_one(E)  # weights
    sums += (pairs - groups * seen.keys) * (D + E)  # keys and values, summed over the heads of a group
    sums += (pairs - heads * seen.queries) * D  # queries
    return Cost(multiplies=macs + _scaling(pairs, D, scaled), adds=sums, macs=macs, product_adds=sums)


def linear_attention(
    queries: Number,
    keys: Number,
    runs: Number,
    heads: Number,
    groups: Number,
    width: Number,
    values: Number,
    *,
    decays: bool = False,
) -> Cost:
    """φ(q)·S / φ(q)·z with S = Σ φ(k) vᵀ and z = Σ φ(k), kept as running sums: linear in the length.

    `queries` and `keys` are totals of one head over the batch, `runs` the sums that start from nothing.
    Where they decay, sums that a key joins are multiplied by what is left of them.
    """
    D, E = width, values
    fading = groups * (keys - runs) * D * (E + 1) if decays else 0
    build = groups * keys * D * E
    build_adds = groups * (keys - runs) * D * E
    read = heads * queries * D * (E + 1)  # the numerator, and the denominator as one more column
    read_adds = heads * queries * less_one(D) * (E + 1)
    return Cost(
        multiplies=build + read + heads * queries * E + fading,  # each result times 1/denominator
        adds=build_adds + groups * (keys - runs) * D + read_adds,
        macs=build + read,
        product_adds=build_adds + read_adds,
    )


def linear_attention_gradient(
    queries: Number,
    keys: Number,
    runs: Number,
    heads: Number,
    groups: Number,
    width: Number,
    values: Number,
    *,
    decays: bool = False,
) -> Cost:
    """Every product of the forward gives two: one for each of its factors; decay has nothing to learn."""
    D, E = width, values
    fading = groups * (keys - runs) * D * (E + 1) if decays else 0
    read = 2 * heads * queries * D * (E + 1)
    build = 2 * groups * keys * D * E
    read_adds = heads * queries * D * E + (heads * queries - groups * runs) * D * (E + 1)
    build_adds = groups * keys * (D * less_one(E) + less_one(D) * E)
    return Cost(
        multiplies=read + build + fading,
        adds=read_adds + build_adds,
        macs=read + build,
        product_adds=read_adds + build_adds,
    )


def softmax_mix(shape: SoftmaxShape, s: Setting) -> Cost:
    """Scores, weights and weighted sums over a pattern; the keys and values that a cache holds and reads."""
    n, H, G, D, E = s.need_tokens(), shape.heads, shape.kv_heads, shape.head_width, shape.values
    seen = pair_counts(s, shape.pattern, n)
    mix = attention(seen, H, D, E, scaled=shape.scaled, biased=shape.biased, capped=shape.softcap)
    read = H * D if s.decode else H * D + G * (D + E)  # decoding, keys and values come from the cache
    mix += kept(s, s.batch * n, H * E, read) + Cost(depth=s.steps)
    if shape.cached and causal(shape.pattern) == shape.pattern:
        held = G * (D + E) if shape.held is None else shape.held
        row = held * s.each
        size = s.batch * keys_held(shape.pattern, n, s.letters, early=shape.early) * row
        mix += Cost(cache_bytes=size, moved_bytes=seen.pairs * row if s.decode else 0)
    exchanged, where = sent(s, shape.pattern, n, G, D + E)
    mix += Cost(exchanged_bytes=exchanged, notices=(where,) if where else ())
    return mix + attention_gradient(seen, H, G, D, E, scaled=shape.scaled) if s.training else mix


def linear_mix(shape: LinearMixShape, s: Setting) -> Cost:
    """Linear attention: running sums in place of keys."""
    if s.over is not None:
        raise ValueError("ranks share softmax attention: linear attention sums along whole sequences")
    n, H, G, D = s.need_tokens(), shape.heads, shape.kv_heads, shape.head_width
    rows = s.batch * n
    queries, keys, runs = rows, rows, s.batch
    if s.segments is not None:
        queries = keys = int((s.segments >= 0).sum())
        runs = sum(len(row[row >= 0].unique()) for row in s.segments)
    sizes = (queries, keys, runs, H, G, D, D)
    state = s.batch * G * D * (D + 1) * max(s.each, 4)  # never in half precision
    mix = linear_attention(*sizes, decays=shape.decays) + kept(s, rows, H * D, (H + 2 * G) * D)
    mix += Cost(depth=s.steps, other={"feature": (H + G) * rows * D})
    if shape.looks_back:
        mix += Cost(cache_bytes=state, moved_bytes=2 * n * state if s.decode else 0)
    return mix + linear_attention_gradient(*sizes, decays=shape.decays) if s.training else mix


def weightless(shape: WeightlessShape, s: Setting) -> Cost:
    """Self-attention with queries = keys = values = x: every pair of n positions."""
    n, width = s.need_tokens(), shape.width
    seen = PairCounts(n * n, n, n).times(s.batch)
    out = attention(seen, 1, width, width, scaled=shape.scale != 1) + Cost(depth=1)
    out += kept(s, s.batch * n, width, width)
    if not s.training:
        return out
    return out + product_gradient(n, width, n, s.batch) + product_gradient(n, n, width, s.batch)


def pooled(shape: PooledAttentionShape, s: Setting) -> Cost:
    """The course sheet's attention, as written ("plain", n² products) or with the sum taken first."""
    n, B = s.need_tokens(), s.batch
    width, head, values = shape.width, shape.head_width, shape.value_width
    products = [(B * n, width, head, 1)]  # queries
    pairs: Number = 0
    if shape.arrangement == "plain":
        products += [(B * n, width, head, 1), (n, head, n, B)]
        summed, pairs = B * n * less_one(n), B * n**2
    else:
        products += [(B, width, head, 1), (n, head, 1, B)]
        summed = B * less_one(n) * width
    products += [(B * n, width, values, 1), (1, n, values, B)]
    out = Cost(multiplies=B * n, adds=summed, other={"softmax": B * n}, depth=1)  # scores by 1/√n
    out += Cost(pairs=pairs, computed_pairs=pairs)
    out += _products(s, products) + kept(s, B * n, head + 2 * values, width)
    return out + weights(s, 2 * width * head + width * values)


def _products(s: Setting, sizes: Iterable[tuple[Number, Number, Number, Number]]) -> Cost:
    out = Cost()
    for one in sizes:
        out += product(*one)
        if s.training:
            out += product_gradient(*one)
    return out
