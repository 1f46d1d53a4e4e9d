"""From a built layer to its shape: modules are read for their sizes, never run."""

from __future__ import annotations

from typing import TypedDict, cast

from torch import nn

from regard import layers
from regard.layers.attention_shapes import AttentionShape
from regard.layers.feedforward import FeedForwardShape
from regard.layers.image_shapes import ConvolutionShape, PatchShape
from regard.layers.norms import OnePlusNorm
from regard.layers.position import Alibi
from regard.layers.recurrent_shapes import GridRNNShape, RNNShape
from regard.layers.shapes import EmbeddingShape, LinearShape, NormShape, Shape
from regard.models.course_shapes import shape_of_course
from regard.recurrence.activation import activation_name
from regard.sharing import LocallyConnected1d, LocallyConnected2d


def shape_of_module(m: nn.Module) -> Shape | None:  # noqa: PLR0911, PLR0912 - one case per layer
    """The shape of a layer of this package, of the course or of torch; None where it has none."""
    match m:
        case layers.TransformerBlock():
            return m.assembly.shape(_attention(m.attention))
        case layers.Attention():
            return _attention(m)
        case layers.FeedForward():
            bias = m.up.bias is not None
            return FeedForwardShape(width=m.up.in_features, hidden=m.up.out_features, bias=bias)
        case layers.GatedFeedForward():
            sizes = {"width": m.down.out_features, "hidden": m.down.in_features}
            bias = m.down.bias is not None
            return FeedForwardShape(**sizes, gated=True, bias=bias, gate=m.gate.partition(" ")[0])
        case layers.PatchProjection():
            return PatchShape(channels=m.channels, width=len(m.bias), patch=m.patch)
        case layers.RNN():
            return RNNShape(layers=len(m.layers), **_sizes(m.layers[0]))
        case layers.SequenceScan():
            return RNNShape(**_sizes(m))
        case layers.GridRNNStack():
            scans = cast(nn.ModuleList, m.layers[0])
            return GridRNNShape(layers=len(m.layers), starts=len(scans), **_sizes(scans[0]))
        case layers.GridScan():
            return GridRNNShape(**_sizes(m))
        case LocallyConnected1d() | LocallyConnected2d():
            return _convolution(m, m.kernel, m.stride, m.padding, flat=isinstance(m, LocallyConnected1d))
        case nn.Linear():
            return LinearShape(inputs=m.in_features, outputs=m.out_features, bias=m.bias is not None)
        case nn.Embedding():
            return EmbeddingShape(vocab=m.num_embeddings, width=m.embedding_dim)
        case nn.LayerNorm() if len(m.normalized_shape) == 1 and m.bias is not None:
            return NormShape(width=m.normalized_shape[0], norm=layers.LayerNorm())
        case nn.RMSNorm() if len(m.normalized_shape) == 1 and m.elementwise_affine:
            return NormShape(width=m.normalized_shape[0], norm=layers.RMSNorm())
        case OnePlusNorm():
            return NormShape(width=len(m.weight), norm=layers.ZeroCentredRMSNorm(m.eps))
        case nn.Conv1d() | nn.Conv2d() if m.groups == 1 and set(m.dilation) == {1}:
            if isinstance(m.padding, str):
                return None
            return _convolution(m, m.kernel_size, m.stride, m.padding, flat=isinstance(m, nn.Conv1d))
    return shape_of_course(m)


def _attention(m: layers.Attention) -> AttentionShape:
    return AttentionShape(
        width=m.out.out_features,
        heads=m.heads,
        kv_heads=m.kv_heads,
        head_width=m.head_width,
        pattern=m.pattern,
        mixer=m.mixer,
        position=m.rotary if m.rotary is not None else Alibi() if m.bias is not None else None,
        qkv_bias=m.projections.qkv_bias,
        out_bias=m.projections.out_bias,
        head_norm=m.projections.head_norm,
    )


def _convolution(
    m: nn.Conv1d | nn.Conv2d | LocallyConnected1d | LocallyConnected2d,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    *,
    flat: bool,
) -> ConvolutionShape:
    """A layer's sides (rows, cols); of a flat one only those along the tokens."""
    sides = (kernel, stride, padding)
    along = [side[-1] if flat else (side[0], side[-1]) for side in sides]
    return ConvolutionShape(
        inputs=m.in_channels,
        outputs=m.out_channels,
        bias=m.bias is not None,
        kernel=along[0],
        stride=along[1],
        padding=along[2],
        flat=flat,
        local=isinstance(m, LocallyConnected1d | LocallyConnected2d),
    )


class _ScanSizes(TypedDict):
    channels: int
    hidden: int
    activation: str
    bias: bool


def _sizes(scan: nn.Module) -> _ScanSizes:
    assert isinstance(scan, layers.SequenceScan | layers.GridScan)
    hidden, channels = (scan.W_x if isinstance(scan, layers.SequenceScan) else scan.W_in).shape
    name = activation_name(scan.activation) or "activation"
    return {"channels": channels, "hidden": hidden, "activation": name, "bias": scan.b is not None}
