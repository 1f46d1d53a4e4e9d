"""A stack of attention and feed-forward layers as the sheets define it, with the choices that students get wrong.

The tasks `Transformer`, `VisionTransformer` and `DialogueGPT` share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

import torch
from torch import Tensor
from torch.nn import functional

from regard.grade.attending import (
    HEAD_MISTAKES,
    ROLE_MISTAKES,
    SCALE_MISTAKES,
    SOFTMAX_MISTAKES,
    attend,
    mapped,
)
from regard.grade.readings import (
    MOST,
    HeadMaps,
    NormWeights,
    affine_maps,
    attention_readings,
    by_layer,
    norms,
)
from regard.grade.student import Entry
from regard.grade.task import Candidate, Case, Choices, Mistake, Views

PLAIN = NormWeights(None, None, 1e-5)
UNASKED = Mistake("attn-dim-ignored", "heads of width dim / num_heads, whatever attn_dim is", {}, "heads")
SHARED = Mistake(
    "layers-share-weights", "layers that all have the same weights: the same layer again and again"
)


@dataclass(frozen=True)
class StackSizes:
    """Sizes that are all different, so that shapes tell what a weight is for."""

    dim: int = 6
    attn: int = 4
    heads: int = 3
    mlp: int = 11
    layers: int = 2

    @property
    def given(self) -> tuple[int, int, int, int, int]:
        """As the constructors take them."""
        return self.dim, self.attn, self.mlp, self.heads, self.layers


UNRELATED = StackSizes()
FITTING = StackSizes(dim=12)  # num_heads × attn_dim, as nn.MultiheadAttention wants it


@dataclass(frozen=True)
class LayerMaps:
    """One layer: attention, the two maps of the FFN, and its norms, the FFN's own first."""

    heads: HeadMaps
    up: Tensor
    down: Tensor
    norms: tuple[NormWeights, ...]


@dataclass(frozen=True)
class StackMaps:
    """The layers, what is no part of them, and whether they are one layer several times."""

    layers: tuple[LayerMaps, ...]
    rest: tuple[Entry, ...] = ()
    shared: bool = False
    narrow: bool = False

    @property
    def flaw(self) -> Mistake | None:
        """What is wrong with layers such as these, whatever they compute."""
        return SHARED if self.shared else UNASKED if self.narrow else None


def stack_readings(entries: Sequence[Entry], sizes: StackSizes) -> Iterator[StackMaps]:
    """All ways to see these parameters as layers, the likeliest by their names first."""
    found = list(_stacks(entries, sizes))
    if not found and sizes.dim % sizes.heads == 0:
        found = [
            replace(one, narrow=True)
            for one in _stacks(entries, replace(sizes, attn=sizes.dim // sizes.heads))
        ]
    yield from found


def _stacks(entries: Sequence[Entry], sizes: StackSizes) -> Iterator[StackMaps]:
    groups, rest = by_layer(entries, sizes.layers)
    shared = not groups
    found = [list(islice(_layers(group, sizes), MOST)) for group in groups or [list(entries)]]
    for layers in zip(*found, strict=False):
        made = layers * (sizes.layers if shared else 1)
        yield StackMaps(made, tuple(rest), shared)


def _layers(entries: Sequence[Entry], sizes: StackSizes) -> Iterator[LayerMaps]:
    ups = [m.full for m in affine_maps(entries, sizes.dim) if len(m.full) == sizes.mlp]
    downs = [m.full for m in affine_maps(entries, sizes.mlp) if len(m.full) == sizes.dim]
    ways = norms(entries, sizes.dim)
    first = ways[:1] if ways[0] == () else ways
    for some in (first, ways[len(first) :]):
        rotations = [there[i:] + there[:i] for there in some for i in range(max(1, len(there)))]
        for heads in attention_readings(_by_name(entries), sizes.dim, sizes.heads, sizes.attn):
            for up, down in product(ups[:2], downs[:2]):
                for one in rotations:
                    yield LayerMaps(heads, up, down, one)


def _by_name(entries: Sequence[Entry]) -> list[Entry]:
    """Queries before keys before values where names tell: it changes what is tried first, and nothing else."""

    def place(one: Entry) -> int:
        words = [
            word for word in one.full.lower().replace("_", ".").split(".") if word not in ("weight", "bias")
        ]
        last = words[-1].removeprefix("w").removeprefix("to") if words else ""
        return next((i for i, letter in enumerate("qkv") if last.startswith(letter)), 3)

    if {place(one) for one in entries if one.value is not None and one.value.ndim > 1} < {0, 1, 2}:
        return list(entries)
    parents = {one.full: one.full.rpartition(".")[0].rpartition(".")[0] for one in entries}
    order = {name: i for i, name in enumerate(dict.fromkeys(parents.values()))}
    return sorted(entries, key=lambda one: (order[parents[one.full]], place(one)))


def single_norms(entries: Sequence[Entry], width: int) -> list[NormWeights]:
    """Every LayerNorm that there may be; the plain one where that is none for sure."""
    return [one for way in norms(entries, width) for one in way or (PLAIN,)]


def normed(x: Tensor, norm: NormWeights) -> Tensor:
    """LayerNorm of the last axis."""
    return functional.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps or 1e-5)


def ffn(x: Tensor, layer: LayerMaps, activation: str, norm: NormWeights | None) -> Tensor:
    """LayerNorm, Linear, GELU, Linear."""
    hidden = mapped(x if norm is None else normed(x, norm), layer.up)
    acts = {
        "gelu": functional.gelu, "relu": torch.relu, "none": lambda z: z, "tanh": torch.tanh, "silu": functional.silu,
        "sigmoid": torch.sigmoid, "tanh gelu": lambda z: functional.gelu(z, approximate="tanh"),
        "gelu twice": functional.gelu, "elu": functional.elu, "leaky": functional.leaky_relu, "after": lambda z: z,
        "softmax": lambda z: z.softmax(-1), "double gelu": lambda z: 2 * functional.gelu(z),
    }  # fmt: skip
    out = mapped(acts[activation](hidden), layer.down)
    return functional.gelu(out) if activation in ("gelu twice", "after") else out


def transform(
    x: Tensor,
    layers: Sequence[LayerMaps],
    mask: Tensor | None = None,
    *,
    residual: str = "both",
    order: str = "attention, ffn",
    axis: str = "time",
    norm: str = "ffn",
    activation: str = "gelu",
    stack: str = "own",
    masks: str = "all",
    final: str = "none",
    **attention: str,
) -> tuple[Tensor, Tensor]:
    """Outputs (B, T, d) and the weights of every layer (B, L, H, T, T)."""
    whole = list(layers)
    used = {
        "own": whole, "first": [whole[0]] * len(whole), "last": [whole[-1]] * len(whole), "reversed": whole[::-1],
        "without the last": whole[:-1], "without the first": whole[1:], "twice": whole * 2, "unchained": whole,
        "summed": whole, "attention of the first": whole, "ffn of the first": whole,
    }[stack]  # fmt: skip
    seen, start, total = [], x, x
    for i, one in enumerate(used):
        layer = one
        if stack == "attention of the first":
            layer = LayerMaps(whole[0].heads, one.up, one.down, one.norms)
        elif stack == "ffn of the first":
            layer = LayerMaps(one.heads, whole[0].up, whole[0].down, whole[0].norms)
        given = mask if masks == "all" or (i == 0) == (masks == "first") else None
        into = start if stack in ("unchained", "summed") else x
        x, alphas = _layer(into, layer, given, residual, order, norm, activation, attention | {"axis": axis})
        total = total + x - start
        seen.append(alphas)
    if stack == "summed":
        x = total
    if final == "normed":
        x = normed(x, PLAIN)
    elif final == "normed by the layer's":
        x = normed(x, used[-1].norms[0])
    return x, torch.stack(seen, 1)


def _layer(
    x: Tensor, layer: LayerMaps, mask: Tensor | None, residual: str, order: str, norm: str, activation: str,
    attention: dict[str, str],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    own = layer.norms[0] if layer.norms else PLAIN
    other = layer.norms[1] if len(layer.norms) > 1 else own

    axis = attention.pop("axis")

    def attended(z: Tensor) -> tuple[Tensor, Tensor]:
        z = normed(z, other) if norm in ("pre", "attention") else z
        out, alphas = attend(z.transpose(0, 1) if axis == "batch" else z, layer.heads, mask, **attention)
        out = out.transpose(0, 1) if axis == "batch" else out
        return (normed(out, other) if norm in ("outputs", "attention output") else out), alphas

    def fed(z: Tensor) -> Tensor:
        out = ffn(z, layer, activation, own if norm in ("ffn", "pre", "twice") else None)
        return normed(out, own) if norm in ("outputs", "ffn output") else out

    if order == "ffn, attention":
        x = x + fed(x)
        found, alphas = attended(x)
        return x + found, alphas
    found, alphas = attended(x)
    if order == "parallel":
        return x + found + fed(x), alphas
    if order == "attention":
        return x + found, alphas
    if order == "ffn":
        return x + fed(x), alphas
    first = found if residual in ("ffn", "none") else 2 * x + found if residual == "twice" else x + found
    kept: Tensor | float
    if residual == "times":
        first = x * found
    first = normed(first, other) if norm in ("post", "post attention") else first
    if norm == "stream":
        first = normed(first, own)
    second = fed(normed(first, other) if norm == "twice" else first)
    others = {
        "input": x,
        "found": found,
        "inner": normed(first, own),
        "around": x,
        "ffn twice": 2 * first,
        "minus": -first,
    }
    kept = 0.0 if residual in ("attention", "none") else others.get(residual, first)
    if residual == "around":  # one residual around both
        second = fed(found)
    elif residual == "times":
        second, kept = first * second, 0.0
    out = kept + second
    return (normed(out, own) if norm in ("post", "post ffn") else out), alphas


def given_weights(alphas: Tensor, gives: str) -> object:
    """The weights (B, L, H, T, T) as a student's code may return them."""
    ways = {
        "all": lambda a: a, "last layer": lambda a: a[:, -1], "first layer": lambda a: a[:, 0],
        "last of the list": lambda a: a[:, -1:],
        "layers first": lambda a: a.transpose(0, 1), "heads first": lambda a: a.transpose(1, 2),
        "concatenated": lambda a: a.flatten(1, 2), "heads averaged": lambda a: a.mean(2),
        "layers averaged": lambda a: a.mean(1), "averaged": lambda a: a.mean((1, 2)), "none": lambda _: "none",
        "transposed": lambda a: a.mT, "layers last": lambda a: a.movedim(1, -1), "layers reversed": lambda a: a.flip(1),
        "batch concatenated": lambda a: a.transpose(0, 1).flatten(0, 1), "first head": lambda a: a[:, :, 0],
    }  # fmt: skip
    return ways[gives](alphas)


def predicting(
    kind: type[object], run: Callable[..., tuple[Tensor, Tensor]]
) -> Callable[[Candidate, Case, Choices], Views]:
    """What a stack answers under some choices: `run(input, maps, **choices)` of weights read as this kind."""

    def predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
        if case.flaw is not None:
            return {"holds": True}
        given = case.inputs[0]
        if not isinstance(candidate.weights, kind):
            raise ValueError("no reading of the weights fits")
        assert isinstance(given, Tensor)
        chosen = {name: str(value) for name, value in choices.items() if name != "gives"}
        out, alphas = run(given, candidate.weights, **chosen)
        return {"output": out, "weights": given_weights(alphas, str(choices.get("gives", "all")))}

    return predict


RESIDUAL_MISTAKES = (
    Mistake("residual-attention-forgotten", "layers without the residual around attention", {"residual": "ffn"}),
    Mistake("residual-ffn-forgotten", "layers without the residual around the FFN", {"residual": "attention"}),
    Mistake("residuals-forgotten", "layers without residuals", {"residual": "none"}),
    Mistake("residual-from-input", "layers whose second residual adds the layer's input, from before attention", {"residual": "input"}),
    Mistake("residual-of-attention-output", "layers whose second residual adds what attention found alone", {"residual": "found"}),
    Mistake("residual-around-both", "layers with one residual around attention and FFN together", {"residual": "around"}),
    Mistake("residual-of-norm", "layers whose second residual adds the normed input of the FFN", {"residual": "inner"}),
    Mistake("residual-twice", "layers that add their input twice to what attention found", {"residual": "twice"}),
    Mistake("residual-ffn-twice", "layers that add the FFN's input twice to its output", {"residual": "ffn twice"}),
    Mistake("residual-subtracted", "layers whose second residual is subtracted", {"residual": "minus"}),
    Mistake("residual-multiplied", "layers that multiply where they should add", {"residual": "times"}),
)  # fmt: skip
ORDER_MISTAKES = (
    Mistake("ffn-before-attention", "layers with the FFN before attention", {"order": "ffn, attention"}),
    Mistake(
        "parallel-branches",
        "layers whose FFN reads the layer's input and not what attention made of it",
        {"order": "parallel"},
    ),
    Mistake("ffn-forgotten", "layers without their FFN", {"order": "attention"}),
    Mistake("attention-forgotten", "layers without their attention", {"order": "ffn"}),
    Mistake(
        "batch-as-time",
        "attention along the batch in place of the tokens: batch_first is missing",
        {"axis": "batch"},
    ),
)
NORM_MISTAKES = (
    Mistake("ffn-norm-missing", "an FFN without its LayerNorm", {"norm": "none"}),
    Mistake("pre-norm", "a LayerNorm before attention too, where the sheet has none", {"norm": "pre"}),
    Mistake("norm-before-attention-only", "the LayerNorm before attention and not in the FFN", {"norm": "attention"}),
    Mistake("post-norm", "LayerNorms after the residuals in place of the one in the FFN", {"norm": "post"}),
    Mistake("norm-after-ffn", "the LayerNorm after the FFN's residual in place of before the FFN", {"norm": "post ffn"}),
    Mistake("norm-after-attention", "the LayerNorm after the residual of attention, so that the FFN's residual adds the normed tokens", {"norm": "post attention"}),
    Mistake("norm-in-residual", "an FFN whose residual adds the normed tokens", {"norm": "stream"}),
    Mistake("norm-of-ffn-output", "the LayerNorm on the FFN's output", {"norm": "ffn output"}),
    Mistake("norm-of-outputs", "LayerNorms on the outputs of attention and FFN", {"norm": "outputs"}),
    Mistake("norm-of-attention-output", "the LayerNorm on the output of attention", {"norm": "attention output"}),
    Mistake("ffn-norm-twice", "an FFN with two LayerNorms", {"norm": "twice"}),
    Mistake("output-normed", "a LayerNorm after the last layer, where the sheet has none", {"final": "normed"}),
    Mistake("output-normed-by-layer", "the last layer's own LayerNorm on the output once more", {"final": "normed by the layer's"}),
)  # fmt: skip
ACTIVATION_MISTAKES = (
    Mistake("relu-in-place-of-gelu", "an FFN with relu in place of GELU", {"activation": "relu"}),
    Mistake("activation-missing", "an FFN without GELU: two linear maps in a row are one", {"activation": "none"}),
    Mistake("tanh-in-place-of-gelu", "an FFN with tanh in place of GELU", {"activation": "tanh"}),
    Mistake("sigmoid-in-place-of-gelu", "an FFN with a sigmoid in place of GELU", {"activation": "sigmoid"}),
    Mistake("silu-in-place-of-gelu", "an FFN with SiLU in place of GELU", {"activation": "silu"}),
    Mistake("leaky-relu-in-place-of-gelu", "an FFN with a leaky relu in place of GELU", {"activation": "leaky"}),
    Mistake("elu-in-place-of-gelu", "an FFN with ELU in place of GELU", {"activation": "elu"}),
    Mistake("softmax-in-place-of-gelu", "an FFN with a softmax in place of GELU", {"activation": "softmax"}),
    Mistake("gelu-twice", "an FFN with GELU after its second linear map, too", {"activation": "gelu twice"}),
    Mistake("gelu-after-second-map", "an FFN with GELU after its second linear map in place of between the two", {"activation": "after"}),
    Mistake("gelu-not-halved", "an FFN with twice GELU: the ½ in its definition is missing", {"activation": "double gelu"}),
)  # fmt: skip
LAYER_MISTAKES = (
    Mistake("first-layer-repeated", "the first layer L times in place of L layers", {"stack": "first"}),
    Mistake("last-layer-repeated", "the last layer L times in place of L layers", {"stack": "last"}),
    Mistake("layers-not-chained", "layers that all read the input: the output is the last layer's", {"stack": "unchained"}),
    Mistake("layers-summed", "layers that all read the input and are summed", {"stack": "summed"}),
    Mistake("layers-reversed", "the layers from the last to the first", {"stack": "reversed"}),
    Mistake("last-layer-skipped", "all layers but the last", {"stack": "without the last"}),
    Mistake("first-layer-skipped", "all layers but the first", {"stack": "without the first"}),
    Mistake("layers-twice", "all layers, and all of them again", {"stack": "twice"}),
    Mistake("attention-of-first-layer", "the first layer's attention in every layer", {"stack": "attention of the first"}),
    Mistake("ffn-of-first-layer", "the first layer's FFN in every layer", {"stack": "ffn of the first"}),
)  # fmt: skip
WEIGHT_MISTAKES = (
    Mistake("weights-last-layer", "the weights of the last layer in place of those of all layers", {"gives": "last layer"}),
    Mistake("weights-first-layer", "the weights of the first layer in place of those of all layers", {"gives": "first layer"}),
    Mistake("weights-layers-first", "weights with the axis of layers before that of the batch", {"gives": "layers first"}),
    Mistake("weights-heads-before-layers", "weights with the axis of heads before that of layers", {"gives": "heads first"}),
    Mistake("weights-layers-last", "weights with the axis of layers at the end", {"gives": "layers last"}),
    Mistake("weights-concatenated", "weights with layers and heads on one axis", {"gives": "concatenated"}),
    Mistake("weights-batch-concatenated", "weights with layers and batch on one axis", {"gives": "batch concatenated"}),
    Mistake("weights-averaged", "weights averaged over heads", {"gives": "heads averaged"}),
    Mistake("weights-averaged-over-layers", "weights averaged over layers", {"gives": "layers averaged"}),
    Mistake("weights-averaged-over-all", "weights averaged over layers and heads", {"gives": "averaged"}),
    Mistake("weights-first-head", "the weights of the first head alone", {"gives": "first head"}),
    Mistake("weights-returned-transposed", "transposed weights: keys in rows", {"gives": "transposed"}),
    Mistake("weights-layers-reversed", "the weights of the layers from the last to the first", {"gives": "layers reversed"}),
    Mistake("weights-one-of-list", "the last layer's weights with an axis of length one for the layers", {"gives": "last of the list"}),
    Mistake("weights-missing", "no weights although return_attn=True asks for them", {"gives": "none"}),
)  # fmt: skip
STACK_MISTAKES = (
    *RESIDUAL_MISTAKES, *ORDER_MISTAKES, *NORM_MISTAKES, *ACTIVATION_MISTAKES, *LAYER_MISTAKES, *WEIGHT_MISTAKES,
    *SCALE_MISTAKES, *SOFTMAX_MISTAKES, *HEAD_MISTAKES, *(one for one in ROLE_MISTAKES if one.name != "input-added"),
)  # fmt: skip
