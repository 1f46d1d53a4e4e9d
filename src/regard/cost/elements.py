"""Rules of what is done number by number, and of tables: norms, positions, embeddings, means, losses."""

from __future__ import annotations

from regard.cost.dense import kept, weights
from regard.cost.result import Cost
from regard.cost.setting import Setting, less_one
from regard.layers import shapes
from regard.layers.letters import Number, is_letter
from regard.layers.norms import LayerNorm


def elementwise(shape: shapes.ElementwiseShape, s: Setting) -> Cost:
    """So much of each per token."""
    rows = s.batch * s.need_tokens()

    def all_of(count: Number) -> Number:
        return rows * count if count != 0 else 0  # a letter times 0 would be an expression

    other = {} if shape.kind is None else {shape.kind: all_of(shape.elements)}
    out = Cost(multiplies=all_of(shape.multiplies), adds=all_of(shape.adds), other=other)
    return out + kept(s, rows, shape.kept, shape.kept) if shape.kept != 0 else out


def norm(shape: shapes.NormShape, s: Setting) -> Cost:
    """LayerNorm has a scale and a shift, the others a scale alone."""
    count = 2 * shape.width if isinstance(shape.norm, LayerNorm) else shape.width
    rows = s.batch * s.need_tokens()
    out = Cost(other={"norm": rows * shape.width}) + kept(s, rows, shape.width, shape.width)
    return out + weights(s, count)


def embedding(shape: shapes.EmbeddingShape, s: Setting) -> Cost:
    """A look-up: of the table only the ids must be read."""
    rows, count = s.batch * s.need_tokens(), shape.vocab * shape.width
    table = Cost(parameters=count, weight_bytes=count * s.each, moved_bytes=rows * 8)
    return table + Cost(other={"embedding": rows * shape.width}) + kept(s, rows, shape.width)


def table(shape: shapes.TableShape, s: Setting) -> Cost:
    """The trained vectors; beyond the last of them a price is told with a notice, or refused."""
    n, rows = s.need_tokens(), shape.rows
    notices: tuple[str, ...] = ()
    if not is_letter(n) and not is_letter(rows) and n > rows:
        if shape.limit is not None:
            raise ValueError(f"tokens must be at most {shape.limit}={rows}, got tokens={n}")
        # The price is asked for to choose, often beyond what was trained; the model itself would refuse.
        notices = (f"the learned positions end at context={rows}: {n} tokens are priced, not run",)
    looked_up = n * shape.width * s.each  # of the table only what stands at these positions must be read
    count = rows * shape.width
    moved = 2 * looked_up if s.training else looked_up
    return Cost(parameters=count, weight_bytes=count * s.each, moved_bytes=moved, notices=notices)


def patch_table(shape: shapes.PatchTableShape, s: Setting) -> Cost:
    """Of a formula the table is as large as it must be."""
    places, width, more = s.need_tokens(), shape.width, 1 if shape.class_token else 0
    rows = places if is_letter(places) else shape.places
    out = Cost(adds=s.batch * places * width) + kept(s, s.batch * (places + more), width, width)
    out += weights(s, (rows + more) * width)
    return out + Cost(other={"interpolate": places * width}) if rows != places else out


def weights_alone(shape: shapes.WeightsShape, s: Setting) -> Cost:
    """Counted and held; those that nobody reads move nowhere."""
    if shape.read:
        return weights(s, shape.count)
    return Cost(parameters=shape.count, weight_bytes=shape.count * s.each)


def mean(shape: shapes.MeanShape, s: Setting) -> Cost:
    """The mean over the tokens that are no padding; without segments over all."""
    n, width = s.need_tokens(), shape.width
    out = Cost(adds=s.batch * less_one(n) * width, multiplies=s.batch * width)
    if s.segments is None:
        return out
    # Padding is multiplied away, and the real tokens are counted.
    return out + Cost(multiplies=s.batch * n * width, adds=s.batch * (n - 1))


def moved(shape: shapes.MovedShape, s: Setting) -> Cost:
    """Bytes that come in or go out."""
    return Cost(moved_bytes=s.rows * shape.width * (s.each if shape.each is None else shape.each))


def loss(shape: shapes.LossShape, s: Setting) -> Cost:
    """Cross-entropy: the logits' exponentials, and one mean."""
    return Cost(other={"loss": s.rows * shape.classes})
