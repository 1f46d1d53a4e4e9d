"""Rules of matrix products: linear layers, convolutions, locally connected layers."""

from __future__ import annotations

from regard.cost.result import Cost, Number
from regard.cost.setting import Setting, less_one


def product(rows: Number, inner: Number, cols: Number, batch: Number = 1) -> Cost:
    """(rows, inner) · (inner, cols), `batch` times.

    >>> product(2, 3, 5).multiplies, product(2, 3, 5).adds
    (30, 20)
    """
    multiplies = batch * rows * inner * cols
    adds = batch * rows * less_one(inner) * cols
    return Cost(multiplies=multiplies, adds=adds, macs=multiplies, product_adds=adds)


def product_gradient(rows: Number, inner: Number, cols: Number, batch: Number = 1) -> Cost:
    """The gradients of both factors of a product."""
    return product(rows, cols, inner, batch) + product(inner, rows, cols, batch)


def weights(s: Setting, count: Number) -> Cost:
    """The weights of a layer: counted, held, and read at least once; training also writes gradients."""
    size = count * s.each
    return Cost(parameters=count, weight_bytes=size, moved_bytes=2 * size if s.training else size)


def kept(s: Setting, count: Number) -> Cost:
    """An intermediate result of so many numbers."""
    return Cost(activation_bytes=count * s.each)


def linear(
    s: Setting, rows: Number, inputs: Number, outputs: Number, *, bias: bool = True, first: bool = False
) -> Cost:
    """Rows of `inputs` numbers to rows of `outputs`; the first layer's inputs need no gradient.

    >>> linear(Setting(), 5, 3, 4).adds, linear(Setting(), 5, 3, 4).parameters
    (60, 16)
    """
    out = product(rows, inputs, outputs) + kept(s, rows * outputs)
    out += weights(s, inputs * outputs + (outputs if bias else 0))
    if bias:
        out += Cost(adds=rows * outputs)
    return out + linear_gradient(rows, inputs, outputs, bias, not first) if s.training else out


def linear_gradient(rows: Number, inputs: Number, outputs: Number, bias: bool, needs_input: bool) -> Cost:
    """The gradients of the weights, the bias and, where needed, the inputs."""
    out = product(outputs, rows, inputs)
    if needs_input:
        out += product(rows, outputs, inputs)
    return out + Cost(adds=less_one(rows) * outputs) if bias else out


def shared_product(s: Setting, rows: Number, inputs: Number, outputs: Number) -> Cost:
    """A product with a matrix that is another layer's weight: it is read, not counted again."""
    size = inputs * outputs * s.each
    out = product(rows, inputs, outputs) + kept(s, rows * outputs) + Cost(moved_bytes=size)
    return out + linear_gradient(rows, inputs, outputs, False, True) if s.training else out


def convolution(
    s: Setting,
    places: Number,
    taps: Number,
    outputs: Number,
    *,
    inputs: Number,
    bias: bool = True,
    first: bool = False,
) -> Cost:
    """`outputs` filters of `taps` weights at `places` places of the batch; `inputs` numbers come in."""
    out = product(places, taps, outputs) + kept(s, places * outputs) + Cost(depth=1)
    out += weights(s, taps * outputs + (outputs if bias else 0))
    if bias:
        out += Cost(adds=places * outputs)
    return out + convolution_gradient(places, taps, outputs, inputs, bias, not first) if s.training else out


def convolution_gradient(
    places: Number, taps: Number, outputs: Number, inputs: Number, bias: bool, needs_input: bool
) -> Cost:
    """Every weight sums over all places; every input over the products that it took part in."""
    out = product(outputs, places, taps)
    if needs_input:
        terms = places * taps * outputs
        sums = terms - inputs
        out += Cost(multiplies=terms, adds=sums, macs=terms, product_adds=sums)
    return out + Cost(adds=less_one(places) * outputs) if bias else out


def locally_connected(
    s: Setting, places: Number, taps: Number, outputs: Number, *, bias: bool = True, first: bool = False
) -> Cost:
    """As a convolution, but each of the `places` of one image has weights of its own."""
    B = s.batch
    out = product(B, taps, outputs, batch=places) + kept(s, B * places * outputs) + Cost(depth=1)
    out += weights(s, places * (taps * outputs + (outputs if bias else 0)))
    if bias:
        out += Cost(adds=B * places * outputs)
    if s.training:
        out += product(taps, B, outputs, batch=places)
        out += Cost() if first else product(B, outputs, taps, batch=places)
        out += Cost(adds=places * less_one(B) * outputs) if bias else Cost()
    return out
