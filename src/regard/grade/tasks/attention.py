"""AttentionHead and MultiHeadedAttention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from regard.grade.attending import (
    HEAD_MISTAKES,
    MASK_MISTAKES,
    ROLE_MISTAKES,
    SCALE_MISTAKES,
    SOFTMAX_MISTAKES,
    attend,
)
from regard.grade.modules import first_of, properties, second_of, tried_case
from regard.grade.probing import probe_attention
from regard.grade.readings import MOST, HeadMaps, attention_readings
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
from regard.grade.wire import Handle

HEAD = '''"""One attention head. What the layers inside are called, biases, loops or einsum: all of it is yours."""

import torch
from torch import nn


class AttentionHead(nn.Module):
    def __init__(self, dim, n_hidden):
        """dim: width of the tokens; n_hidden: width of queries, keys and values."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x, attn_mask=None):
        """x (B, T, dim) -> (output (B, T, n_hidden), weights (B, T, T)).

        attn_mask (T, T), (1, T, T) or (B, T, T): 1 where query (row) may look at key (column), else 0.
        Row i of the weights is softmax over keys of q_i · k_j / sqrt(n_hidden).
        """
        raise NotImplementedError
'''
MANY = '''"""Several attention heads side by side. What the layers inside are called, and how, is yours."""

import torch
from torch import nn


class MultiHeadedAttention(nn.Module):
    def __init__(self, dim, n_hidden, num_heads):
        """dim: width of the tokens; n_hidden: width of each head."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x, attn_mask=None):
        """x (B, T, dim) -> (output (B, T, dim), weights (B, num_heads, T, T)).

        The heads' outputs, side by side (num_heads * n_hidden), are brought back to dim by a linear map W_O.
        attn_mask (T, T), (1, T, T) or (B, T, T): 1 where query (row) may look at key (column), else 0.
        """
        raise NotImplementedError
'''
UNREGISTERED = Mistake(
    "weights-not-registered",
    "values with weights that are no parameters of the module: nothing would train them",
)
IDLE = Mistake(
    "weights-idle", "values in which some of its maps have no part: a change of them changes nothing"
)
CONSTANT = Mistake("weights-constant", "weights that are the same whatever the input is")
SWAPPED = Mistake(
    "outputs-swapped",
    "the weights first and the output second: swapped",
    {"gives": "swapped"},
    hides=("gradient-stopped", "weights-idle"),
)
AVERAGED = Mistake(
    "weights-averaged",
    "weights averaged over the heads, (B, T, T), in place of those of every head",
    {"gives": "mean"},
    "heads",
)
UNSCALED = (
    "its weights were found by probing, which cannot tell the scale of the scores from that of the weights"
)


def masks_for(B: int, T: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The triangle, and a mask for each example; every query sees itself."""
    each = torch.rand(B, T, T, generator=generator) < 0.5
    return torch.ones(T, T).tril(), (each | torch.eye(T, dtype=torch.bool)).float()


def head_views(value: object, H: int, single: bool) -> Views:
    """Output and weights, those of a single head without its axis."""
    views: Views = {}
    alpha = second_of(value)
    if isinstance(alpha, Tensor):
        if single and alpha.ndim == 4 and alpha.shape[1] == 1:
            alpha = alpha[:, 0]
        views["weights"] = alpha
    elif single or not isinstance(value, Tensor):
        views["weights"] = "none"
    views["output"] = first_of(value)
    return views


def _observe(student: Student, symbol: str, sizes: tuple[int, int, int], single: bool) -> Observed:
    d, h, H = sizes
    made, entries = student.build(symbol, d, h) if single else student.build(symbol, d, h, H)
    generator = student.generator(1)
    B, T = 2, 5
    small, x, many = (torch.randn(b, t, d, generator=generator) for b, t in ((1, 3), (B, T), (12, T)))
    lower, each = masks_for(B, T, generator)
    asked: list[tuple[str, str, tuple[Tensor, ...]]] = [
        ("without a mask", "x (1, 3, dim)", (small,)),
        ("without a mask", f"x ({B}, {T}, dim)", (x,)),
        ("with a mask", "x (1, 3, dim), mask = triangle", (small, torch.ones(3, 3).tril())),
        ("with a mask", f"x ({B}, {T}, dim), mask (T, T)", (x, lower)),
        ("with a mask", f"x ({B}, {T}, dim), mask (B, T, T)", (x, each)),
    ]
    tried: list[Tried] = []
    for part, call, inputs in asked:
        case = Case(part, call, inputs)

        def act(inputs: tuple[Tensor, ...] = inputs) -> Views:
            return head_views(student.call(made, *inputs), H, single)

        tried.append(tried_case(student, case, act))
    tried += properties(student, made, "as a module", (x,))
    again = (symbol, d, h) if single else (symbol, d, h, H)
    tried += _learned(student, made, entries, again, x)
    tried += _depending(student, made, x)
    candidates = [*_readings(entries, sizes), *_probed(student, made, many, single)]
    notes = tuple(f"never used: {case.inputs[0]}" for case, _ in tried if case.flaw is IDLE and case.inputs)
    return Observed(tuple(tried), tuple(candidates), notes)


def _learned(
    student: Student, made: Handle, entries: list[Entry], again: tuple[str, int, int, *tuple[int, ...]],
    x: Tensor,
) -> Iterator[Tried]:  # fmt: skip
    """All its numbers come from parameters, and all its maps have a part in them."""
    if not any(one.learned for one in entries):
        return

    def registered() -> Views:
        name, *sizes = again
        other = student.built_again(made, name, *sizes)
        one, two = (first_of(student.call(module, x)) for module in (made, other))
        fits = isinstance(one, Tensor) and isinstance(two, Tensor) and one.shape == two.shape
        return {"holds": fits and bool(torch.allclose(one, two, atol=1e-4, equal_nan=True))}  # type: ignore[arg-type]

    yield tried_case(
        student, Case("as a module", "a second one with the same parameters", (), UNREGISTERED), registered
    )
    try:
        idle = ", ".join(student.unreached(made, (x,))[1])
    except StudentError:
        return
    case = Case("as a module", "a change of every map", (idle,) if idle else (), IDLE)
    yield case, {"holds": f"{idle} changes nothing" if idle else True}


def _depending(student: Student, made: Handle, x: Tensor) -> Iterator[Tried]:
    """The weights that are given depend on the input."""
    try:
        one, two = (second_of(student.call(made, z)) for z in (x, 2 * x))
    except StudentError:
        return
    if isinstance(one, Tensor) and isinstance(two, Tensor) and one.shape == two.shape:
        case = Case("without a mask", "the weights of two inputs", (), CONSTANT)
        yield case, {"holds": not torch.allclose(one, two, atol=1e-6, equal_nan=True)}


def _readings(entries: list[Entry], sizes: tuple[int, int, int]) -> Iterator[Candidate]:
    d, h, H = sizes
    if any(one.kind == "attention" for one in entries) and d % H == 0:
        h = d // H  # nn.MultiheadAttention has no width of its own for its heads
    shared = Mistake("heads-share-weights", "heads that all have the same weights", {}, "heads")
    for count, maps in enumerate(attention_readings(entries, d, H, h)):
        if count >= MOST:
            return
        same = H > 1 and all(bool((one == one[:1]).all()) for one in (maps.q, maps.k, maps.v))
        yield Candidate(maps, shared if same else None)
        if maps.o is None and H > 1:
            for summed in (m for m in _small_outs(entries, h, d)):
                yield Candidate(replace(maps, o=summed))


def _small_outs(entries: list[Entry], h: int, d: int) -> list[Tensor]:
    """Maps from one head to the output, as a module has that sums its heads."""
    from regard.grade.readings import affine_maps

    return [m.full for m in affine_maps(entries, h) if m.full.shape[0] == d]


def _probed(student: Student, made: Handle, x: Tensor, single: bool) -> Iterator[Candidate]:
    try:
        value = student.call(made, x)
    except StudentError:
        return
    out, alphas = first_of(value), second_of(value)
    if not isinstance(out, Tensor) or not isinstance(alphas, Tensor) or not out.is_floating_point():
        return
    alphas = alphas[:, None] if alphas.ndim == 3 and single else alphas
    if alphas.ndim == 4 and alphas.shape[0] == len(x) and alphas.shape[-1] == x.shape[1] and out.ndim == 3:
        maps = probe_attention(x, out, alphas)
        if maps is not None:
            yield Candidate(maps, free=UNSCALED, last=True)


def _observe_head(student: Student) -> Observed:
    return _observe(student, student.need("AttentionHead"), (6, 4, 1), True)


def _observe_many(student: Student) -> Observed:
    """Head width and model width are unrelated first; a module that wants them to fit is tried so, too."""
    name = student.need("MultiHeadedAttention", *MANY_NAMES)
    try:
        student.call(student.make(name, 6, 4, 3), torch.zeros(1, 3, 6))
    except StudentError as first:
        try:
            student.call(student.make(name, 12, 4, 3), torch.zeros(1, 3, 12))
        except StudentError:
            raise first from None
        found = _observe(student, name, (12, 4, 3), False)
        note = f"it works only where dim = num_heads × n_hidden ({first.kind}: {first.text[:80]})"
        return replace(found, notes=(*found.notes, note))
    return _observe(student, name, (6, 4, 3), False)


MANY_NAMES = ("MultiHeadAttention", "MultiheadedSelfAttention", "MultiHeadSelfAttention", "MHA")


def predict_attention(candidate: Candidate, case: Case, choices: Choices) -> Views:
    """What attention with these weights and choices gives."""
    maps = candidate.weights
    if case.flaw is IDLE and case.inputs and isinstance(maps, HeadMaps) and not maps.probed:
        return {"holds": f"{case.inputs[0]} changes nothing"}  # every map that is asked for was found
    if case.flaw is not None:
        return {"holds": True}
    if not isinstance(maps, HeadMaps):
        raise ValueError("no reading of the weights fits")
    x, mask = case.inputs[0], case.inputs[1] if len(case.inputs) > 1 else None
    assert isinstance(x, Tensor)
    assert mask is None or isinstance(mask, Tensor)
    rest = {name: value for name, value in choices.items() if name != "gives"}
    out, alphas = attend(x, maps, mask, **rest)  # type: ignore[arg-type]
    alphas = alphas[:, 0] if len(maps.q) == 1 else alphas
    if choices.get("gives") == "swapped":
        return {"output": alphas, "weights": out}
    return {"output": out, "weights": alphas.mean(1) if choices.get("gives") == "mean" else alphas}


_PARTS = (PartPoints("without a mask", 2), PartPoints("with a mask", 2), PartPoints("as a module", 1))
_METHOD = (
    "queries, keys and values are found among the parameters by shape and search, else by probing "
    "(log-weights are bilinear, outputs linear); then outputs and weights are compared with the definition"
)
HEAD_TASK = Assignment(
    name="attention-head", title="AttentionHead", skeleton=HEAD, symbols=(("AttentionHead",),), parts=_PARTS,
    lesson="attention-complexity", observe=_observe_head, predict=predict_attention, method=_METHOD,
    mistakes=(SWAPPED, *MASK_MISTAKES, *SCALE_MISTAKES, *SOFTMAX_MISTAKES, *ROLE_MISTAKES),
)  # fmt: skip
MANY_TASK = Assignment(
    name="multi-headed-attention", title="MultiHeadedAttention", skeleton=MANY, parts=_PARTS, lesson="heads",
    symbols=(("MultiHeadedAttention", *MANY_NAMES),), observe=_observe_many, predict=predict_attention,
    mistakes=(SWAPPED, AVERAGED, *HEAD_MISTAKES, *MASK_MISTAKES, *SCALE_MISTAKES, *SOFTMAX_MISTAKES, *ROLE_MISTAKES), method=_METHOD,
)  # fmt: skip
