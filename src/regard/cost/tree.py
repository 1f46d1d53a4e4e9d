"""The price of a tree of shapes: one rule per kind, and how each knot asks for what is below it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from regard.cost import attention, dense, elements, recurrent
from regard.cost.result import Cost, repeated, tree
from regard.cost.setting import Setting
from regard.layers import attention_shapes, image_shapes, recurrent_shapes, shapes
from regard.layers.letters import Number, is_letter, ratio
from regard.layers.linear_mixer import LinearMixShape
from regard.layers.shapes import HasShapes, Shape
from regard.layers.softmax_mixer import SoftmaxShape
from regard.sharing.sizes import pair

Rule = Callable[[Any, Setting], Cost]


def cost_of(shape: Shape, s: Setting) -> Cost:
    """What a shape costs in a setting: by its own rule, or by those of what it is made of.

    >>> cost_of(shapes.LinearShape(inputs=3, outputs=4) * 2, Setting(batch=5)).parameters
    32
    """
    if isinstance(shape, HasShapes):
        return cost_of(shape.shapes(), s)
    return RULES[type(shape)](shape, s)


def _parts(parts: tuple[tuple[str, Shape], ...], s: Setting) -> list[tuple[str, Cost]]:
    """The parts one after another; what follows something that learns passes a gradient back to it."""
    out, learns = [], s.inputs_learn
    for name, part in parts:
        cost = cost_of(part, replace(s, inputs_learn=learns))
        learns = learns or (cost.parameters != 0 and not isinstance(part, shapes.FrozenShape))
        out.append((name, cost))
    return out


def _sum(shape: shapes.SumShape, s: Setting) -> Cost:
    return replace(_tree(shape.terms, s), parts=())


def _tree(terms: tuple[Shape, ...], s: Setting) -> Cost:
    return tree([("", cost_of(term, s)) for term in terms], at_once=s.training)


def _repeated(shape: shapes.RepeatedShape, s: Setting) -> Cost:
    one = cost_of(shape.shape, s)
    all_of_them = repeated(one, shape.times, at_once=s.training or shape.beside)
    return replace(all_of_them, depth=one.depth) if shape.beside else all_of_them


def _experts(shape: shapes.ExpertsShape, s: Setting) -> Cost:
    """A token visits some of them; all are held."""
    one, resting = cost_of(shape.shape, s), shape.count - shape.chosen
    visited = repeated(one, shape.chosen, at_once=s.training)
    return replace(
        visited,
        parameters=one.parameters * shape.count,
        weight_bytes=one.weight_bytes * shape.count,
        idle_parameters=one.parameters * resting,
        parts=(),
    )


def _model(shape: shapes.ModelShape, s: Setting) -> Cost:
    s = replace(s, inputs_learn=False)
    parts = _parts(shape.tree.parts, s)
    if s.training and shape.loss is not None:
        parts.append(("loss", cost_of(shape.loss, s)))
    return tree(parts, at_once=s.training)


def _again(shape: shapes.AgainShape, s: Setting) -> Cost:
    """Products over 1, 2, … n tokens; the weights are still read once a step."""
    once = cost_of(shape.shape, s)
    if not s.decode:
        return once
    n = s.need_tokens()
    every = cost_of(shape.shape, replace(s, tokens=ratio(n * (n + 1), 2)))
    return replace(
        once,
        multiplies=every.multiplies,
        adds=every.adds,
        macs=every.macs,
        product_adds=every.product_adds,
        other=every.other,
        activation_bytes=cost_of(shape.shape, replace(s, decode=False)).activation_bytes,  # of the last step
    )


def _image(shape: shapes.ImageShape, s: Setting) -> Cost:
    if shape.resizes and is_letter(s.tokens):
        places = s.need_tokens() - shape.class_token
        return cost_of(shape.shape, replace(s, tokens=places, image=None, inputs_learn=False))
    rows, cols = dense.patch_grid(_size(shape, s), shape.patch)
    inner = replace(s, tokens=rows * cols, image=(rows, cols), inputs_learn=False)
    return cost_of(shape.shape, inner)


def _size(shape: shapes.ImageShape, s: Setting) -> tuple[Number, Number]:
    """The image that is asked for, or the model's own; another one is refused, as the model would."""
    if shape.size is None:
        if s.image is None:
            raise ValueError("image must be given for a model of images of any size, such as image=(28, 28)")
        return s.image
    asked = shape.size if s.image is None else pair("image", s.image, 1)
    if asked != shape.size and not shape.resizes:
        raise ValueError(f"the model takes images of {shape.size} alone, got image={s.image}")
    return asked


def _grid(shape: shapes.GridShape, s: Setting) -> Cost:
    rows, cols = shape.grid
    return cost_of(shape.shape, replace(s, tokens=rows * cols, image=shape.grid))


RULES: dict[type[Shape], Rule] = {
    shapes.TreeShape: lambda shape, s: tree(_parts(shape.parts, s), at_once=s.training),
    shapes.SumShape: _sum,
    shapes.RepeatedShape: _repeated,
    shapes.ExpertsShape: _experts,
    shapes.AgainShape: _again,
    shapes.PlainShape: lambda shape, s: cost_of(shape.shape, replace(s, stored=None)),
    shapes.PerRowShape: lambda shape, s: cost_of(shape.shape, replace(s, tokens=1)),
    shapes.ClassTokenShape: lambda shape, s: cost_of(shape.shape, replace(s, tokens=s.need_tokens() + 1)),
    shapes.FrozenShape: lambda shape, s: cost_of(shape.shape, replace(s, training=False)),
    shapes.ModelShape: _model,
    shapes.ImageShape: _image,
    shapes.GridShape: _grid,
    shapes.LinearShape: dense.linear_layer,
    image_shapes.PatchShape: dense.patch_layer,
    image_shapes.ConvolutionShape: dense.convolution_layer,
    shapes.ElementwiseShape: elements.elementwise,
    shapes.NormShape: elements.norm,
    shapes.EmbeddingShape: elements.embedding,
    shapes.TableShape: elements.table,
    shapes.PatchTableShape: elements.patch_table,
    shapes.WeightsShape: elements.weights_alone,
    shapes.MeanShape: elements.mean,
    shapes.MovedShape: elements.moved,
    shapes.LossShape: elements.loss,
    SoftmaxShape: attention.softmax_mix,
    LinearMixShape: attention.linear_mix,
    attention_shapes.PooledAttentionShape: attention.pooled,
    attention_shapes.WeightlessShape: attention.weightless,
    recurrent_shapes.ScanShape: recurrent.scan,
    recurrent_shapes.GRUShape: recurrent.gru,
}
