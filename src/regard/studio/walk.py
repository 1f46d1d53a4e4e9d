"""One token's way through a GPT, step by step: the model runs as it always does, and all it makes is kept.

Where a mask is edited, that layer attends under the dense mask that results, and the rest follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from regard.attention import DistanceBias
from regard.attention.engine import run
from regard.attention.inputs import problem_of
from regard.attention.reference import capped
from regard.layers import LinearAttention, Mixer, Softmax, Trace
from regard.layers.block import TransformerBlock
from regard.layers.position import encode_at
from regard.models import GPT
from regard.pattern import Full, Pattern
from regard.probe.twin import twin


@dataclass(frozen=True)
class Mixed:
    """What one layer's attention worked with and gave; scores and masks are None where it mixes linearly."""

    query: Tensor  # H N D, as they meet the keys: normed and turned where the layer does so
    key: Tensor  # G N D
    value: Tensor  # G N D
    weights: Tensor  # H N N
    out: Tensor  # H N D
    scores: Tensor | None  # H N N
    bias: Tensor | None  # H N N, part of the scores
    own: Tensor | None  # N N, what the pattern shows
    mask: Tensor | None  # H N N, the same after the edits


class _Watched:
    """A mixer that mixes as another does, under the edits, and keeps what it saw."""

    def __init__(self, mixer: Mixer, edits: Tensor | None) -> None:
        self.mixer, self.edits = mixer, edits
        self.seen: Mixed | None = None

    def mix(
        self, q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, *, bias: DistanceBias | None, **_: object
    ) -> Tensor:
        """What the other gives, or would give under the edited mask."""
        if isinstance(self.mixer, LinearAttention):
            trace = Trace()
            given = {"bias": bias, "segments": None, "cache": None, "trace": trace}
            out = self.mixer.mix(q, k, v, pattern, **given)  # type: ignore[arg-type]
            self.seen = Mixed(q[0], k[0], v[0], trace["weights"][0], out[0], None, None, None, None)
            return out
        return self._softmax(self.mixer, (q, k, v), pattern, bias)

    def _softmax(
        self, mixer: Softmax, qkv: tuple[Tensor, Tensor, Tensor], pattern: Pattern, bias: DistanceBias | None
    ) -> Tensor:
        (q, k, v), heads = qkv, qkv[0].shape[1]
        problem = problem_of(q, k, v, pattern, scale=mixer.scale, bias=bias, softcap=mixer.softcap)
        own = problem.allowed()[0, 0]
        mask = own.expand(heads, *own.shape)
        if self.edits is not None:
            mask = mask ^ self.edits
            problem = problem_of(
                q, k, v, Full(), scale=mixer.scale, bias=bias, softcap=mixer.softcap, mask=mask[None]
            )
        out, weights = run(problem).out, run(problem.changed(weights=True)).weights
        assert weights is not None
        scores = capped(q @ k.repeat_interleave(heads // k.shape[1], dim=1).mT * problem.scale, mixer.softcap)
        added = problem.dense_bias()
        added = None if added is None else added.expand_as(scores)
        scores = scores if added is None else scores + added
        kept = None if added is None else added[0]
        self.seen = Mixed(q[0], k[0], v[0], weights[0], out[0], scores[0], kept, own, mask)
        return out


@dataclass(frozen=True)
class Walk:
    """Everything that a model made of one text, by module name: what went in and what came out.

    `before` holds what the embedding gave and the position that was added to it, None where none was.
    """

    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]
    mixed: tuple[Mixed, ...]
    before: tuple[Tensor, Tensor | None]
    stream: tuple[Tensor, ...]  # N C: what enters the first block, then what leaves each
    logits: Tensor  # N V

    def lens(self, model: GPT, token: int) -> Tensor:
        """The logits (1+L,V) that would follow if the model ended before the first block, or after each."""
        with torch.no_grad():
            return model.logits(model.output_norm(torch.stack([x[token] for x in self.stream])))


@torch.no_grad()
def walk(model: GPT, ids: list[int], edits: Mapping[int, Tensor] | None = None) -> Walk:
    """What the model makes of these tokens; `edits` (H,N,N) of a layer say which cells of its mask change.

    >>> from regard.models import GPTConfig
    >>> model = GPT(GPTConfig(vocab=9, context=8, depth=2, width=8, heads=2)).eval()
    >>> seen = walk(model, [1, 2, 3])
    >>> torch.equal(seen.logits, model(torch.tensor([[1, 2, 3]]))[0]), len(seen.stream)
    (True, 3)
    """
    edits = {} if edits is None else edits
    copy = cast(GPT, twin(model)).eval()
    inputs: dict[str, Tensor] = {}
    outputs: dict[str, Tensor] = {}
    mixers = []
    for i, block in enumerate(copy.blocks):
        attention = cast(TransformerBlock, block).attention
        mixers.append(_Watched(attention.mixer, edits.get(i)))
        attention.mixer, attention.packs = mixers[-1], False  # type: ignore[assignment]

    def watch(name: str) -> None:
        def keep(_: nn.Module, given: tuple[Tensor, ...], out: Tensor) -> None:
            inputs[name], outputs[name] = given[0][0], out[0]

        copy.get_submodule(name).register_forward_hook(keep)

    for name, part in copy.named_modules():
        if name and not isinstance(part, nn.ModuleList):
            watch(name)
    at = torch.arange(len(ids), device=next(model.parameters()).device)
    trace = Trace()
    logits = copy(torch.tensor([ids], device=at.device), trace=trace)[0]
    assert all(mixer.seen is not None for mixer in mixers)
    embedded = model.config.head.embedded(outputs["embed"])
    added = None if copy.position is None else encode_at(copy.position, at, embedded.shape[-1])
    return Walk(
        inputs, outputs, tuple(cast(Mixed, mixer.seen) for mixer in mixers),
        (embedded, None if added is None else added.expand_as(embedded)),
        (trace["embedding"][0], *(trace[f"blocks.{i}.output"][0] for i in range(len(mixers)))), logits,
    )  # fmt: skip
