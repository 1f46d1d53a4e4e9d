"""Modules with weights, and the values from which configs choose them."""

from regard.layers.attention import Attention, Mixer
from regard.layers.block import Assembly, CourseBlock, PostNorm, PreNorm, TransformerBlock
from regard.layers.cache import Cache, LayerCache
from regard.layers.dropout import drop
from regard.layers.feedforward import FeedForward, GatedFeedForward, Gelu, SwiGLU
from regard.layers.initial import initialise
from regard.layers.linear_mixer import LinearAttention
from regard.layers.norms import LayerNorm, RMSNorm
from regard.layers.patches import PatchProjection
from regard.layers.position import Alibi, Learned, Natural, Position, Rotary, Scaled, Sinusoidal
from regard.layers.recurrent import RNN, GridRNNStack, GridScan, SequenceScan
from regard.layers.softmax_mixer import Softmax
from regard.layers.stack import Stack, cycle
from regard.layers.tracing import Trace

__all__ = [
    "RNN",
    "Alibi",
    "Assembly",
    "Attention",
    "Cache",
    "CourseBlock",
    "FeedForward",
    "GatedFeedForward",
    "Gelu",
    "GridRNNStack",
    "GridScan",
    "LayerCache",
    "LayerNorm",
    "Learned",
    "LinearAttention",
    "Mixer",
    "Natural",
    "PatchProjection",
    "Position",
    "PostNorm",
    "PreNorm",
    "RMSNorm",
    "Rotary",
    "Scaled",
    "SequenceScan",
    "Sinusoidal",
    "Softmax",
    "Stack",
    "SwiGLU",
    "Trace",
    "TransformerBlock",
    "cycle",
    "drop",
    "initialise",
]
