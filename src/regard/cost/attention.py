"""Rules of attention: over a pattern, linear, pooled, and without weights."""

from __future__ import annotations

from collections.abc import Iterable

from regard.cost.dense import kept, product, product_gradient
from regard.cost.result import Cost, Number
from regard.cost.setting import Setting, less_one
from regard.cost.sight import Sight


def attention(
    seen: Sight, heads: Number, width: Number, value_width: Number, *, scaled: bool, biased: bool
) -> Cost:
    """Scores, softmax and weighted sums of all heads; `seen` is of one head over the batch.

    >>> cost = attention(Sight(pairs=10, queries=4, keys=4), 2, 8, 8, scaled=True, biased=False)
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
    seen: Sight, heads: Number, groups: Number, width: Number, value_width: Number, *, scaled: bool
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


def weightless(s: Setting, n: Number, width: Number, scaled: bool) -> Cost:
    """Self-attention with queries = keys = values = x: every pair of n positions."""
    products = ((n, width, n, s.batch), (n, n, width, s.batch))
    pairs = s.batch * n**2
    out = Cost(multiplies=pairs if scaled else 0, other={"softmax": pairs}, depth=1)
    return out + _products(s, products) + kept(s, s.batch * n * width)


def pooled(s: Setting, n: Number, width: Number, head: Number, values: Number, plain: bool) -> Cost:
    """The course sheet's attention, as written ("plain", n² products) or with the sum taken first."""
    B = s.batch
    products = [(B * n, width, head, 1)]  # queries
    if plain:
        products += [(B * n, width, head, 1), (n, head, n, B)]
        summed = B * n * less_one(n)
    else:
        products += [(B, width, head, 1), (n, head, 1, B)]
        summed = B * less_one(n) * width
    products += [(B * n, width, values, 1), (1, n, values, B)]
    out = Cost(multiplies=B * n, adds=summed, other={"softmax": B * n}, depth=1)  # scores by 1/√n
    return out + _products(s, products) + kept(s, B * n * (head + 2 * values))


def _products(s: Setting, sizes: Iterable[tuple[Number, Number, Number, Number]]) -> Cost:
    out = Cost()
    for one in sizes:
        out += product(*one)
        if s.training:
            out += product_gradient(*one)
    return out
