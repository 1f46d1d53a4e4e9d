"""VisionTransformer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from regard.grade.attending import mapped
from regard.grade.modules import properties
from regard.grade.readings import NormWeights, affine_maps
from regard.grade.student import Entry, Student
from regard.grade.task import Assignment, Candidate, Mistake, Observed, PartPoints
from regard.grade.tasks.patches import CUT_MISTAKES, PatchMaps, embed, patch_readings
from regard.grade.tasks.stack import (
    PLAIN,
    STACK_MISTAKES,
    StackMaps,
    StackSizes,
    normed,
    predicting,
    single_norms,
    stack_readings,
    transform,
)
from regard.grade.tasks.transformer import asked, fitting_sizes

SKELETON = '''"""Images as sentences of patches. PatchEmbed and Transformer, from the earlier tasks, belong into this file.

Their inner workings, the names of the parts, and biases are yours.
"""

import torch
from torch import nn


class VisionTransformer(nn.Module):
    def __init__(self, n_channels, nout, img_size, patch_size, dim, attn_dim, mlp_dim, num_heads, num_layers):
        """Square images of n_channels; nout classes; the rest as PatchEmbed and Transformer take it."""
        super().__init__()
        raise NotImplementedError

    def forward(self, img, return_attn=False):
        """img (B, n_channels, img_size, img_size) -> (logits (B, nout), weights (B, L, H, 1+P, 1+P) or None).

        Patches are embedded, and a learned position for each of them is added. A learned class token is put in
        front (a position for it, too, is the same model). After the transformer, LayerNorm(dim) and a linear map
        read the class token alone.
        """
        raise NotImplementedError
'''
CHANNELS, OUT, SIDE, PATCH = 2, 5, 6, 2
COUNT = (SIDE // PATCH) ** 2


@dataclass(frozen=True)
class VisionMaps:
    """What a vision transformer is made of; without a learned class token it is None."""

    patch: PatchMaps
    stack: StackMaps
    position: Tensor
    class_token: Tensor | None
    norm: NormWeights
    head: Tensor


def _readings(entries: Sequence[Entry], sizes: StackSizes) -> Iterator[VisionMaps]:
    patches = (
        list(patch_readings(entries, CHANNELS, PATCH, sizes.dim)) if sizes.dim != PATCH**2 * CHANNELS else []
    )
    for stack in stack_readings(entries, sizes):
        rest = stack.rest
        heads = [m.full for m in affine_maps(rest, sizes.dim) if len(m.full) == OUT]
        for norm in single_norms(rest, sizes.dim):
            for head in heads[:2]:
                for position, token in _tokens(rest, sizes.dim):
                    for patch in patches:
                        yield VisionMaps(patch, stack, position, token, norm, head)


def _tokens(entries: Sequence[Entry], dim: int) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Positions of the patches, or of the class token and the patches, and the class token."""
    tables = [one.value for one in entries if one.kind in ("own", "embedding") and one.value is not None]
    single: list[Tensor | None] = [one.reshape(dim) for one in tables if one.numel() == dim]
    single = single or [None]
    places = [one.reshape(-1, dim) for one in tables if one.numel() in (COUNT * dim, (COUNT + 1) * dim)]
    for place in places or [torch.zeros(COUNT, dim)]:
        for token in single:
            yield place, token
            if len(place) > COUNT:
                yield from ((place[:-1], token), (place[1:], token))


def look(
    img: Tensor, maps: VisionMaps, *, position: str = "added", token: str = "front", read: str = "class",
    head: str = "norm, map", sees: str = "all", enters: str = "as they are", **choices: str,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Logits (B, out) and weights (B, L, H, T, T)."""
    cutting = {name: choices.pop(name) for name in ("cut", "tokens", "pixels") if name in choices}
    x = embed(img, maps.patch, **cutting)
    B, P, d = x.shape
    place = maps.position
    if enters == "patches normed":
        x = normed(x, maps.norm)
    added = {
        "added": place, "reversed": place.flip(0), "same": place[:1].expand_as(place), "twice": 2 * place,
        "shifted": place.roll(1, 0), "subtracted": -place, "forgotten": 0 * place, "after": 0 * place, "multiplied": place,
        "turned": place[-P:].unflatten(0, (SIDE // PATCH, -1)).transpose(0, 1).flatten(0, 1),
    }[position]  # fmt: skip
    if position == "turned" and len(place) > P:
        added = torch.cat([place[:1], added])

    def placed(z: Tensor) -> Tensor:
        rows = added[: z.shape[1]]
        return z * rows if position == "multiplied" else z + rows

    x = placed(x) if len(place) == P else x
    cls = torch.zeros(d) if maps.class_token is None or token == "zero" else maps.class_token
    first = (torch.ones(d) if token == "one" else cls).expand(B, 1, d)
    x = {"end": lambda z: torch.cat([z, first], 1), "both ends": lambda z: torch.cat([first, z, first], 1), "none": lambda z: z,
         "added to all": lambda z: z + cls}.get(token, lambda z: torch.cat([first, z], 1))(x)  # fmt: skip
    x = placed(x) if len(place) > P else x
    x = normed(x, maps.norm) if enters == "normed" else normed(x, PLAIN) if enters == "normed plainly" else x
    T = x.shape[1]
    mask = {"all": None, "causal": torch.ones(T, T).tril(), "anti-causal": torch.ones(T, T).triu()}[sees]
    x, alphas = transform(x, maps.stack.layers, mask, **choices)
    if position == "after":
        x = torch.cat([x[:, :1], x[:, 1:] + place], 1) if len(place) < T else x + place[:T]
    chosen = {
        "class": lambda z: z[:, 0], "last": lambda z: z[:, -1], "mean": lambda z: z.mean(1), "first patch": lambda z: z[:, 1],
        "mean of patches": lambda z: z[:, 1:].mean(1), "all": lambda z: z, "sum": lambda z: z.sum(1), "max": lambda z: z.amax(1),
        "patches": lambda z: z[:, 1:], "with an axis": lambda z: z[:, :1],
    }[read](x)  # fmt: skip
    return classified(chosen, maps.norm, maps.head, head), alphas


def classified(x: Tensor, norm: NormWeights, head: Tensor, how: str) -> Tensor:
    """LayerNorm and a linear map, or what students write in their place."""
    if how in ("map", "map, softmax"):
        out = mapped(x, head)
    elif how == "map, norm":
        out = functional.layer_norm(mapped(x, head), (len(head),))
    elif how == "norm twice":
        out = mapped(normed(normed(x, norm), norm), head)
    elif how == "plain norm":
        out = mapped(normed(x, PLAIN), head)
    elif how == "activated norm":
        out = mapped(functional.gelu(normed(x, norm)), head)
    elif how == "without bias":
        out = normed(x, norm) @ head[:, :-1].mT
    else:
        out = mapped(normed(x, norm), head)
    last = {"softmax": lambda z: z.softmax(-1), "log softmax": lambda z: z.log_softmax(-1), "sigmoid": torch.sigmoid,
            "relu": torch.relu, "tanh": torch.tanh, "map, softmax": lambda z: z.softmax(-1), "gelu": functional.gelu,
            "softmax over the batch": lambda z: z.softmax(0), "argmax": lambda z: z.argmax(-1)}  # fmt: skip
    return last[how](out) if how in last else out


HEAD_MISTAKES = (
    Mistake("head-norm-missing", "a head without its LayerNorm", {"head": "map"}),
    Mistake("head-norm-twice", "a head with its LayerNorm twice", {"head": "norm twice"}),
    Mistake("head-norm-unlearned", "a LayerNorm without its weights in the head", {"head": "plain norm"}),
    Mistake("head-norm-after-map", "a head with the LayerNorm after its linear map", {"head": "map, norm"}),
    Mistake("head-without-bias", "a head whose bias is not added", {"head": "without bias"}),
    Mistake("softmax-added", "probabilities by a softmax in place of logits: the loss has its own", {"head": "softmax"}),
    Mistake("softmax-added-norm-missing", "probabilities by a softmax in place of logits, and no LayerNorm in the head", {"head": "map, softmax"}),
    Mistake("log-softmax-added", "log-probabilities in place of logits: the loss has its own softmax", {"head": "log softmax"}),
    Mistake("softmax-over-batch-added", "a softmax over the batch in place of logits", {"head": "softmax over the batch"}),
    Mistake("sigmoid-added", "a sigmoid of the logits", {"head": "sigmoid"}),
    Mistake("activation-added", "a relu of the logits", {"head": "relu"}),
    Mistake("gelu-added", "GELU of the logits", {"head": "gelu"}),
    Mistake("tanh-added", "tanh of the logits", {"head": "tanh"}),
    Mistake("head-activation-added", "GELU between the head's LayerNorm and its linear map", {"head": "activated norm"}),
    Mistake("classes-in-place-of-logits", "the likeliest class in place of logits", {"head": "argmax"}),
)  # fmt: skip
POSITION_MISTAKES = (
    Mistake("positions-forgotten", "patches without positions: it cannot see that they were moved", {"position": "forgotten"}, "positions"),
    Mistake("position-after-transformer", "positions that are added after the transformer, where attention no longer sees them", {"position": "after"}, "positions"),
    Mistake("positions-reversed", "the positions from the last to the first", {"position": "reversed"}, "positions"),
    Mistake("position-same", "the first position for every patch", {"position": "same"}, "positions"),
    Mistake("positions-multiplied", "positions that are multiplied in place of added", {"position": "multiplied"}, "positions"),
    Mistake("positions-twice", "positions that are added twice", {"position": "twice"}, "positions"),
    Mistake("positions-subtracted", "positions that are subtracted", {"position": "subtracted"}, "positions"),
    Mistake("positions-shifted", "every patch with the position of the one before it", {"position": "shifted"}, "positions"),
    Mistake("positions-column-order", "positions that count column by column while patches are read row by row", {"position": "turned"}, "positions"),
)  # fmt: skip
TOKEN_MISTAKES = (
    Mistake("class-token-at-end", "the class token behind the patches, while the first token is read", {"token": "end"}),
    Mistake("class-token-at-end-read-last", "the class token behind the patches: the weights have it last, too", {"token": "end", "read": "last"}),
    Mistake("class-token-forgotten", "the patches without a class token: the first patch is read", {"token": "none"}),
    Mistake("class-token-forgotten-mean-read", "no class token, and the mean of the patches is read", {"token": "none", "read": "mean"}),
    Mistake("class-token-zero", "a class token of zeros in place of a learned one", {"token": "zero"}),
    Mistake("class-token-not-learned", "a class token of ones in place of a learned one", {"token": "one"}),
    Mistake("class-token-added", "the class token added to every patch in place of being put before them", {"token": "added to all"}),
    Mistake("class-token-twice", "the class token before and behind the patches", {"token": "both ends"}),
    Mistake("last-token-read", "the last patch is read in place of the class token", {"read": "last"}),
    Mistake("mean-read", "the mean of all tokens is read in place of the class token", {"read": "mean"}),
    Mistake("mean-of-patches-read", "the mean of the patches is read in place of the class token", {"read": "mean of patches"}),
    Mistake("first-patch-read", "the first patch is read in place of the class token", {"read": "first patch"}),
    Mistake("all-tokens-read", "logits for every token in place of the class token alone", {"read": "all"}),
    Mistake("patches-read", "logits for every patch in place of the class token alone", {"read": "patches"}),
    Mistake("token-axis-kept", "logits of shape (B, 1, nout): the axis of tokens is still there", {"read": "with an axis"}),
    Mistake("sum-read", "the sum of all tokens is read in place of the class token", {"read": "sum"}),
    Mistake("max-read", "the greatest of all tokens is read in place of the class token", {"read": "max"}),
)  # fmt: skip
INPUT_MISTAKES = (
    Mistake(
        "input-normed", "a LayerNorm before the transformer, where the sheet has none", {"enters": "normed"}
    ),
    Mistake(
        "input-normed-plainly",
        "a LayerNorm without weights before the transformer, where the sheet has none",
        {"enters": "normed plainly"},
    ),
)


def _observe(student: Student) -> Observed:
    name = student.need("VisionTransformer", *SPELLINGS)
    sizes, notes = fitting_sizes(
        student, name, lambda s: (CHANNELS, OUT, SIDE, PATCH, *s.given), torch.zeros(1, CHANNELS, SIDE, SIDE)
    )
    made, entries = student.build(name, CHANNELS, OUT, SIDE, PATCH, *sizes.given)
    x = torch.randn(2, CHANNELS, SIDE, SIDE, generator=student.generator(1))
    tried = [
        asked(student, made, "logits", f"one image {tuple(x[:1].shape)}", x[:1]),
        asked(student, made, "logits", f"two images {tuple(x.shape)}", x),
        asked(student, made, "logits", "an image of ones", torch.ones_like(x[:1])),
        asked(student, made, "weights", f"one image {tuple(x[:1].shape)}", x[:1], weights=True),
        asked(student, made, "weights", f"two images {tuple(x.shape)}", x, weights=True),
        *properties(student, made, "as a module", (x,)),
    ]
    readings = _readings(entries, sizes)
    candidates = tuple(Candidate(one, one.stack.flaw) for one in readings)
    return Observed(tuple(tried), candidates, notes)


SPELLINGS = ("ViT", "VisionTransformerClassifier")
TASK = Assignment(
    name="vision-transformer", title="VisionTransformer", skeleton=SKELETON, symbols=(("VisionTransformer", *SPELLINGS),),
    lesson="positions", observe=_observe, predict=predicting(VisionMaps, look), accepts=({"activation": "tanh gelu"},),
    parts=(PartPoints("logits", 4), PartPoints("weights", 1), PartPoints("as a module", 1)),
    mistakes=(
        *TOKEN_MISTAKES, *POSITION_MISTAKES, *HEAD_MISTAKES, *INPUT_MISTAKES,
        Mistake("patches-normed", "a LayerNorm on the patches, where the sheet has none", {"enters": "patches normed"}),
        Mistake("causal-mask", "a causal mask: the class token sees itself alone", {"sees": "causal"}, "masks-and-losses"),
        Mistake("causal-mask-transposed", "a mask that hides earlier tokens", {"sees": "anti-causal"}, "masks-and-losses"),
        *CUT_MISTAKES, *STACK_MISTAKES,
    ),
    method=(
        "patches, positions, class token, layers and head are found among the parameters by shape and search; then "
        "logits and weights are compared with the definition that has them"
    ),
)  # fmt: skip
