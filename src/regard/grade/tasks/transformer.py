"""Transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from regard.grade.attending import MASK_MISTAKES
from regard.grade.modules import first_of, properties, second_of, tried_case
from regard.grade.sandbox import StudentError
from regard.grade.student import Entry, Student
from regard.grade.task import (
    Assignment,
    Candidate,
    Case,
    Choices,
    Mistake,
    Observed,
    PartPoints,
    Tried,
    Views,
)
from regard.grade.tasks.stack import (
    FITTING,
    STACK_MISTAKES,
    UNRELATED,
    StackMaps,
    StackSizes,
    given_weights,
    normed,
    single_norms,
    stack_readings,
    transform,
)
from regard.grade.wire import Handle

SKELETON = '''"""A stack of layers. What the parts are called, biases, loops or einsum: all of it is yours."""

import torch
from torch import nn


class Transformer(nn.Module):
    def __init__(self, dim, attn_dim, mlp_dim, num_heads, num_layers):
        """dim: width of the tokens; attn_dim: width of each head; mlp_dim: width inside the FFN."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x, attn_mask=None, return_attn=False):
        """x (B, T, dim) -> (output (B, T, dim), weights (B, num_layers, num_heads, T, T), or None if not asked for).

        Every layer has weights of its own. It adds what multi-headed attention finds, without a norm before it,
        then what the FFN makes of that:

            x = x + attention(x)
            x = x + ffn(x)          # LayerNorm(dim), Linear(dim, mlp_dim), GELU, Linear(mlp_dim, dim)

        attn_mask (T, T), (1, T, T) or (B, T, T): 1 where query (row) may look at key (column), else 0.
        """
        raise NotImplementedError
'''
METHOD = (
    "the maps of every layer are found among the parameters by shape and search, whatever they are called; "
    "then outputs and weights are compared with the definition that has these maps"
)
NAMED = {"return_attn": True}


def fitting_sizes(student: Student, name: str, args: Callable[[StackSizes], Sequence[int]],
                  inputs: object) -> tuple[StackSizes, tuple[str, ...]]:  # fmt: skip
    """Widths that are unrelated, or those that nn.MultiheadAttention wants if the others are refused."""
    try:
        made = student.make(name, *args(UNRELATED))
        student.call(made, _input(inputs, UNRELATED))
        if any(
            one.kind == "attention" for one in student.weights(made)
        ):  # it has no width of its own for its heads
            return FITTING, (
                "nn.MultiheadAttention has heads of width dim / num_heads; attn_dim is chosen so",
            )
    except StudentError as first:
        try:
            student.call(student.make(name, *args(FITTING)), _input(inputs, FITTING))
        except StudentError:
            raise first from None
        said = f"it works only where dim = num_heads × attn_dim ({first.kind}: {first.text[:80]})"
        return FITTING, (said,)
    return UNRELATED, ()


def _input(inputs: object, sizes: StackSizes) -> object:
    return inputs(sizes) if callable(inputs) else inputs


def model_views(value: object, asked: bool) -> Views:
    """The output, or the weights where they were asked for; a bare tensor is an output without weights."""
    if asked and not isinstance(value, Tensor):
        alphas = second_of(value)
        return {"weights": "none" if alphas is None else alphas}
    return {"output": first_of(value)}


def asked(
    student: Student, made: Handle, part: str, call: str, *inputs: Tensor, weights: bool = False
) -> Tried:
    """One call of a model, with or without asking for its weights."""
    case = Case(part, f"{call}, return_attn=True" if weights else call, inputs)
    named = NAMED if weights else None
    return tried_case(student, case, lambda: model_views(student.call(made, *inputs, named=named), weights))


def _observe(student: Student) -> Observed:
    name = student.need("Transformer", "TransformerEncoder", "MyTransformer")
    sizes, notes = fitting_sizes(student, name, lambda s: s.given, lambda s: torch.zeros(1, 3, s.dim))
    made, entries = student.build(name, *sizes.given)
    generator = student.generator(1)
    one, small, x = (torch.randn(b, t, sizes.dim, generator=generator) for b, t in ((1, 1), (1, 3), (2, 5)))
    lower = torch.ones(5, 5).tril()
    each = ((torch.rand(2, 5, 5, generator=generator) < 0.5) | torch.eye(5, dtype=torch.bool)).float()
    triangle = torch.ones(3, 3).tril()
    tried = [
        asked(student, made, "without a mask", "x (1, 1, dim)", one),
        asked(student, made, "without a mask", "x (1, 3, dim)", small),
        asked(student, made, "without a mask", "x (2, 5, dim)", x),
        asked(student, made, "with a mask", "x (1, 3, dim), mask = triangle", small, triangle),
        asked(student, made, "with a mask", "x (2, 5, dim), mask (T, T)", x, lower),
        asked(student, made, "with a mask", "x (2, 5, dim), mask (B, T, T)", x, each),
        asked(student, made, "weights", "x (1, 3, dim)", small, weights=True),
        asked(student, made, "weights", "x (2, 5, dim), mask (T, T)", x, lower, weights=True),
        *properties(student, made, "as a module", (x,)),
    ]
    return Observed(tuple(tried), tuple(_candidates(entries, sizes)), notes)


def _candidates(entries: Sequence[Entry], sizes: StackSizes) -> Iterator[Candidate]:
    for maps in stack_readings(entries, sizes):
        yield Candidate(maps, maps.flaw)


def _predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
    if case.flaw is not None:
        return {"holds": True}
    maps = candidate.weights
    if not isinstance(maps, StackMaps):
        raise ValueError("no reading of the weights fits")
    x, mask = case.inputs[0], case.inputs[1] if len(case.inputs) > 1 else None
    assert isinstance(x, Tensor)
    assert mask is None or isinstance(mask, Tensor)
    chosen = {name: str(value) for name, value in choices.items() if name not in ("gives", "behind")}
    out, alphas = transform(x, maps.layers, mask, **chosen)
    if "behind" in choices:
        out = normed(out, single_norms(maps.rest, x.shape[-1])[0])
    return {"output": out, "weights": given_weights(alphas, str(choices.get("gives", "all")))}


TASK = Assignment(
    name="transformer", title="Transformer", skeleton=SKELETON, symbols=(("Transformer", "TransformerEncoder", "MyTransformer"),),
    parts=(PartPoints("without a mask", 2), PartPoints("with a mask", 2), PartPoints("weights", 1), PartPoints("as a module", 1)),
    lesson="attention-complexity", observe=_observe, predict=_predict, method=METHOD, accepts=({"activation": "tanh gelu"},),
    mistakes=(
        *MASK_MISTAKES,
        Mistake("mask-first-layer-only", "a mask that only the first layer uses", {"masks": "first"}, "masks-and-losses"),
        Mistake("mask-not-in-first-layer", "a mask that the first layer does not use", {"masks": "rest"}, "masks-and-losses"),
        Mistake("output-normed-by-own", "a LayerNorm of its own after the last layer, where the sheet has none", {"behind": "norm"}),
        *STACK_MISTAKES,
    ),
)  # fmt: skip
