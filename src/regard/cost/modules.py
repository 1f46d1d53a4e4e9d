"""From a built layer to its shape: modules are read for their sizes, never run."""

from __future__ import annotations

from typing import Any

from torch import nn

from regard.cost import shapes
from regard.layers import (
    RNN,
    Attention,
    Block,
    FeedForward,
    GatedFeedForward,
    Gelu,
    GridRNN,
    GridScan,
    LayerNorm,
    PatchEmbed,
    RMSNorm,
    SequenceScan,
    SwiGLU,
)
from regard.layers.position import Alibi
from regard.recurrence.activation import activation_name
from regard.sharing import LocallyConnected1d, LocallyConnected2d


def shape_of_module(m: nn.Module) -> shapes.Shape | None:  # noqa: PLR0911, PLR0912 - one case per layer
    """The shape of a layer of this package or of torch, or None where there is no rule."""
    match m:
        case Attention():
            position = m.rotary if m.rotary is not None else Alibi() if m.bias is not None else None
            return shapes.AttentionShape(
                width=m.out.out_features,
                heads=m.heads,
                kv_heads=m.kv_heads,
                head_width=m.head_width,
                pattern=m.pattern,
                position=position,
            )
        case FeedForward():
            return shapes.FeedForwardShape(width=m.up.in_features, part=Gelu(hidden=m.up.out_features))
        case GatedFeedForward():
            return shapes.FeedForwardShape(width=m.down.out_features, part=SwiGLU(hidden=m.down.in_features))
        case PatchEmbed():
            return shapes.PatchShape(channels=m.channels, width=len(m.bias), patch=m.patch)
        case RNN():
            return _sequence([*m.layers], len(m.layers))
        case SequenceScan():
            return _sequence([m], 1)
        case GridRNN():
            return _grid(m.layers[0][0], len(m.layers), len(m.layers[0]))  # type: ignore[index, arg-type]
        case GridScan():
            return _grid(m, 1, 1)
        case LocallyConnected1d():
            sides = {"kernel": m.kernel[1], "stride": m.stride[1], "padding": m.padding[1]}
            return _local(m, flat=True, **sides)
        case LocallyConnected2d():
            return _local(m, kernel=m.kernel, stride=m.stride, padding=m.padding)
        case nn.Linear():
            return shapes.LinearShape(inputs=m.in_features, outputs=m.out_features, bias=m.bias is not None)
        case nn.Embedding():
            return shapes.EmbeddingShape(vocab=m.num_embeddings, width=m.embedding_dim)
        case nn.LayerNorm() if len(m.normalized_shape) == 1 and m.bias is not None:
            return shapes.NormShape(width=m.normalized_shape[0], norm=LayerNorm())
        case nn.RMSNorm() if len(m.normalized_shape) == 1 and m.elementwise_affine:
            return shapes.NormShape(width=m.normalized_shape[0], norm=RMSNorm())
        case nn.Conv1d() if plain(m):
            return _convolution(
                m, flat=True, kernel=m.kernel_size[0], stride=m.stride[0], padding=m.padding[0]
            )
        case nn.Conv2d() if plain(m):
            return _convolution(m, kernel=m.kernel_size, stride=m.stride, padding=m.padding)
    return None


def block_parts(m: Block) -> tuple[Any, shapes.AttentionShape]:
    """The assembly of a block and the shape of its attention."""
    shape = shape_of_module(m.attention)
    assert isinstance(shape, shapes.AttentionShape)
    return m.assembly, shape


def plain(m: nn.Conv1d | nn.Conv2d) -> bool:
    """Whether a convolution has one group, no dilation, and padding in numbers."""
    return m.groups == 1 and set(m.dilation) == {1} and not isinstance(m.padding, str)


def _convolution(m: nn.Conv1d | nn.Conv2d, **sides: Any) -> shapes.ConvolutionShape:
    return shapes.ConvolutionShape(
        inputs=m.in_channels, outputs=m.out_channels, bias=m.bias is not None, **sides
    )


def _local(m: LocallyConnected1d | LocallyConnected2d, **sides: Any) -> shapes.ConvolutionShape:
    return shapes.ConvolutionShape(
        inputs=m.in_channels, outputs=m.out_channels, bias=m.bias is not None, local=True, **sides
    )


def _sequence(layers: list[Any], count: int) -> shapes.RNNShape:
    hidden, channels = layers[0].W_x.shape
    name = activation_name(layers[0].activation)
    return shapes.RNNShape(
        channels=channels,
        hidden=hidden,
        layers=count,
        activation="activation" if name is None else name,
        bias=layers[0].b is not None,
    )


def _grid(scan: GridScan, layers: int, starts: int) -> shapes.GridRNNShape:
    hidden, channels = scan.W_in.shape
    name = activation_name(scan.activation)
    return shapes.GridRNNShape(
        channels=channels,
        hidden=hidden,
        layers=layers,
        starts=starts,
        activation="activation" if name is None else name,
        bias=scan.b is not None,
    )
