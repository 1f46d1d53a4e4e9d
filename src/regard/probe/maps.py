"""Where a model looked: its attention weights, and the maps made from them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.layers import Trace
from regard.layers.attention import Attention
from regard.models import BERTGRUSentiment
from regard.models.own_texts import OwnReader
from regard.probe.twin import evaluated

READERS = ("class", "mean", "last")


@dataclass(frozen=True)
class AttentionMaps:
    """One forward pass: logits, and the weights (B,L,H,N,M) of every layer and head.

    `reader` names the row whose attention tells what the answer was read from: "class" is token 0, "last"
    the last token, "mean" the mean of all rows that are no padding; a number is that of a token.
    """

    logits: Tensor
    weights: Tensor
    reader: str | int
    segments: Tensor | None = None

    def as_dict(self) -> dict[str, object]:
        """Logits, weights and reader as plain values."""
        return {"logits": self.logits.tolist(), "weights": self.weights.tolist(), "reader": self.reader}


@torch.no_grad()
def see(model: nn.Module, inputs: Tensor, *, segments: Tensor | None = None) -> AttentionMaps:
    """Run a model in evaluation mode and keep every attention map, on the CPU in float32.

    >>> from regard.models import ViT, ViTConfig
    >>> model = ViT(ViTConfig(image=(4, 6), patch=2, channels=1, classes=3, depth=2, width=8, heads=2))
    >>> see(model, torch.zeros(5, 1, 4, 6)).weights.shape
    torch.Size([5, 2, 2, 7, 7])
    """
    if not has_attention(model):
        raise ValueError(f"model must have attention to look at, got {type(model).__name__}")
    trace, place = Trace(), next(model.parameters()).device
    segments = None if segments is None else segments.to(place)
    extra = {} if segments is None else {"segments": segments}
    logits = evaluated(model)(inputs.to(place), trace=trace, **extra)
    kept = [trace[name].float().cpu() for name in trace if name.endswith("attention.weights")]
    if segments is not None and kept[0].shape[-1] == segments.shape[1] + 1:  # a ViT put its class token first
        segments = nn.functional.pad(segments, (1, 0))
    mask = None if segments is None else segments.cpu()
    return AttentionMaps(logits.float().cpu(), torch.stack(kept, 1), reader_of(model), mask)


def has_attention(model: nn.Module) -> bool:
    """Whether there is anything to look at: attention in a model that records it in a trace."""
    forward = model.inner.forward if isinstance(model, OwnReader) else model.forward
    traced = "trace" in inspect.signature(forward).parameters
    return traced and any(
        isinstance(part, Attention) or getattr(part, "records_attention", False) for part in model.modules()
    )


def reader_of(model: nn.Module) -> str | int:
    """Which tokens the model's answer is read from: its pooling, or the last token of a language model.

    GRUs over an encoder read all of its tokens, whatever the encoder itself was pooled by.
    """
    if isinstance(model, BERTGRUSentiment):
        return "mean"
    for part in (model, *model.children()):
        pool = getattr(getattr(part, "config", None), "pool", None)
        if isinstance(pool, int) or pool in READERS:
            return pool
    return "last"


def read(rows: Tensor, reader: str | int, segments: Tensor | None = None) -> Tensor:
    """The reader's row (…,M) of attention (…,N,M); B comes first.

    >>> read(torch.tensor([[[0.75, 0.25], [0.0, 1.0]]]), "mean").tolist()
    [[0.375, 0.625]]
    """
    if isinstance(reader, int):
        return rows[..., reader, :]
    if reader not in READERS:
        raise ValueError(f"reader must be one of {READERS}, got {reader=}")
    if reader == "class":
        return rows[..., 0, :]
    if segments is None:
        return rows[..., -1, :] if reader == "last" else rows.mean(-2)
    real = (segments >= 0).to(rows.dtype)  # B N
    if reader == "last":
        # The last real token, wherever padding stands.
        place = torch.arange(1, real.shape[1] + 1, dtype=rows.dtype) * real
        real = (place == place.amax(1, keepdim=True)).to(rows.dtype) * real
    share = real / real.sum(1, keepdim=True).clamp(min=1)
    share = share.reshape(len(share), *[1] * (rows.ndim - 3), share.shape[1], 1)
    return (rows * share).sum(-2)


def mean_attention(seen: AttentionMaps) -> Tensor:
    """The reader's attention averaged over all layers and heads, (B,M)."""
    return read(seen.weights.mean((1, 2)), seen.reader, seen.segments)


def head_attention(seen: AttentionMaps) -> Tensor:
    """The reader's attention in every layer and head, (B,L,H,M)."""
    return read(seen.weights, seen.reader, seen.segments)


def rollout(seen: AttentionMaps) -> Tensor:
    """Attention rollout (Abnar and Zuidema 2020) of the reader, (B,M).

    Heads are averaged; every layer passes half of a token on by its residual; rows are made to sum to 1
    again; the layers are multiplied.

    >>> weights = torch.tensor([[0.5, 0.5], [0.0, 1.0]]).expand(1, 2, 1, 2, 2)
    >>> rollout(AttentionMaps(torch.zeros(1, 1), weights, "class")).tolist()
    [[0.5625, 0.4375]]
    """
    B, L, _, N, M = seen.weights.shape
    if N != M:
        raise ValueError(f"rollout needs as many queries as keys, got {N=}, {M=}")
    own = torch.eye(N)
    flow = own.expand(B, N, N)
    for layer in range(L):
        mixed = 0.5 * seen.weights[:, layer].mean(1) + 0.5 * own
        flow = mixed / mixed.sum(-1, keepdim=True) @ flow
    return read(flow, seen.reader, seen.segments)


def patch_map(scores: Tensor, grid: tuple[int, int], front: int = 1) -> Tensor:
    """Scores (…,M) of tokens as maps (…,rows,cols) of patches; up to `front` tokens before are left out.

    >>> patch_map(torch.arange(7.0), (2, 3)).tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    """
    rows, cols = grid
    extra = scores.shape[-1] - rows * cols
    if not 0 <= extra <= front:
        others = "one class token" if front == 1 else f"{front} other tokens"
        raise ValueError(f"scores must cover {rows}×{cols} patches and at most {others}, "
                         f"got {scores.shape[-1]} tokens")  # fmt: skip
    return scores[..., extra:].unflatten(-1, (rows, cols))


def relative(maps: Tensor) -> Tensor:
    """Maps (…,rows,cols) as multiples of the even share: 1 where every patch would get the same.

    >>> relative(torch.tensor([[0.0, 0.1, 0.3]])).tolist()
    [[0.0, 0.75, 2.25]]
    """
    mean = maps.mean((-2, -1), keepdim=True)
    return torch.where(mean > 0, maps / mean, torch.ones_like(maps))
