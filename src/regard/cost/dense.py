"""Rules of matrix products: linear layers, convolutions, locally connected layers."""

from __future__ import annotations

from dataclasses import replace

from regard.cost.result import Cost
from regard.cost.setting import Setting, less_one
from regard.layers.image_shapes import ConvolutionShape, PatchShape
from regard.layers.letters import Number, divides, ratio
from regard.layers.shapes import LinearShape
from regard.sharing import output_size
from regard.sharing.sizes import pair


def product(
    rows: Number, inner: Number, cols: Number, batch: Number = 1, *, maybe_none: bool = False
) -> Cost:
    """(rows, inner) · (inner, cols), `batch` times; `maybe_none` where `inner` may be 0 for some letters.

    >>> product(2, 3, 5).multiplies, product(2, 3, 5).adds
    (30, 20)
    """
    multiplies = batch * rows * inner * cols
    adds = batch * rows * less_one(inner, maybe_none=maybe_none) * cols
    return Cost(multiplies=multiplies, adds=adds, macs=multiplies, product_adds=adds)


def product_gradient(rows: Number, inner: Number, cols: Number, batch: Number = 1) -> Cost:
    """The gradients of both factors of a product."""
    return product(rows, cols, inner, batch) + product(inner, rows, cols, batch)


def weights(s: Setting, count: Number, size: Number | None = None) -> Cost:
    """The weights of a layer: counted, held, and read at every step; training also writes gradients.

    `size` are their bytes, where they are not numbers as all others.
    """
    size = count * s.each if size is None else size
    moved = 2 * size if s.training else size * s.steps
    return Cost(parameters=count, weight_bytes=size, moved_bytes=moved)


def kept(s: Setting, rows: Number, made: Number, read: Number = 0) -> Cost:
    """Rows of numbers that a part makes of those it reads: training keeps what is made until the gradient.

    Otherwise both are there at once, and gone when the next part has begun; decoding has a row at a time.
    """
    if s.training:
        return Cost(activation_bytes=rows * made * s.each)
    return Cost(activation_bytes=ratio(rows, s.steps) * (made + read) * s.each)


def linear(
    s: Setting,
    rows: Number,
    inputs: Number,
    outputs: Number,
    *,
    bias: bool = True,
    split: tuple[Number, ...] = (),
) -> Cost:
    """Rows of `inputs` numbers to rows of `outputs`, made by one matrix or by several, `split` in outputs.

    >>> linear(Setting(), 5, 3, 4).adds, linear(Setting(), 5, 3, 4).parameters
    (60, 16)
    """
    out = product(rows, inputs, outputs) + kept(s, rows, outputs, inputs)
    shifts = outputs if bias else 0
    size: Number | None = None
    if s.stored is not None:
        size = sum(s.stored.matrix_bytes(inputs, one) for one in split or (outputs,)) + shifts * s.each
    out += weights(s, inputs * outputs + shifts, size)
    if bias:
        out += Cost(adds=rows * outputs)
    return out + linear_gradient(rows, inputs, outputs, bias, s.inputs_learn) if s.training else out


def linear_gradient(rows: Number, inputs: Number, outputs: Number, bias: bool, needs_input: bool) -> Cost:
    """The gradients of the weights, the bias and, where needed, the inputs."""
    out = product(outputs, rows, inputs)
    if needs_input:
        out += product(rows, outputs, inputs)
    return out + Cost(adds=less_one(rows) * outputs) if bias else out


def linear_layer(shape: LinearShape, s: Setting) -> Cost:
    """One product; a matrix that is another layer's weight is read, not counted again."""
    out = linear(s, s.rows, shape.inputs, shape.outputs, bias=shape.bias, split=shape.split)
    if not shape.tied:
        return out
    matrix = weights(replace(s, training=False), shape.inputs * shape.outputs)  # its gradient is elsewhere
    shift = weights(s, shape.outputs) if shape.bias else Cost()
    return replace(
        out,
        parameters=shift.parameters,
        weight_bytes=shift.weight_bytes,
        moved_bytes=matrix.moved_bytes + shift.moved_bytes,
    )


def patch_layer(shape: PatchShape, s: Setting) -> Cost:
    """One product over all patches."""
    grid = patch_grid(s.need_image(), pair("patch", shape.patch, 1))
    high, wide = pair("patch", shape.patch, 1)
    return linear(s, s.batch * grid[0] * grid[1], shape.channels * high * wide, shape.width)


def patch_grid(image: tuple[Number, Number], patch: tuple[int, int]) -> tuple[Number, Number]:
    """How many patches (rows, cols) an image has, or a ValueError where they do not tile it."""
    (rows, cols), (high, wide) = image, patch
    if not (divides(high, rows) and divides(wide, cols)):
        raise ValueError(f"patches must tile the image, got image={(rows, cols)}, patch={(high, wide)}")
    return ratio(rows, high), ratio(cols, wide)


def convolution_layer(shape: ConvolutionShape, s: Setting) -> Cost:
    """One product over all places; of a locally connected layer one product per place of an image."""
    size = (1, s.need_tokens()) if shape.flat else s.need_image()
    places, per_filter = _places(shape, size)
    taps, outputs = shape.inputs * per_filter, shape.outputs
    rows = s.batch * places
    out = product(s.batch, taps, outputs, places) if shape.local else product(rows, taps, outputs)
    out += kept(s, rows, outputs) + Cost(depth=1, adds=rows * outputs if shape.bias else 0)
    own = places if shape.local else 1
    out += weights(s, own * (taps * outputs + (outputs if shape.bias else 0)))
    if not s.training:
        return out + kept(s, s.batch * size[0] * size[1], shape.inputs)
    if not shape.local:
        inputs = s.batch * shape.inputs * size[0] * size[1]
        return out + convolution_gradient(rows, taps, outputs, inputs, shape.bias, s.inputs_learn)
    out += product(taps, s.batch, outputs, places)
    out += product(s.batch, outputs, taps, places) if s.inputs_learn else Cost()
    return out + Cost(adds=places * less_one(s.batch) * outputs if shape.bias else 0)


def _places(shape: ConvolutionShape, size: tuple[Number, Number]) -> tuple[Number, Number]:
    """(places of a filter in an image, weights of a filter for one channel)."""
    if shape.padding == "same":
        high, wide = shape.kernel if isinstance(shape.kernel, tuple) else (shape.kernel, shape.kernel)
        return size[0] * size[1], high * wide
    kernel, stride = pair("kernel", shape.kernel, 1), pair("stride", shape.stride, 1)
    padding = pair("padding", shape.padding, 0)
    cols = output_size(size[1], kernel[1], stride[1], padding[1])
    if shape.flat:
        return cols, kernel[1]
    return cols * output_size(size[0], kernel[0], stride[0], padding[0]), kernel[0] * kernel[1]


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
