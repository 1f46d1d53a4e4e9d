"""Modules with weights, and the values from which configs choose them."""

from regard.layers.attention import Attention
from regard.layers.block import Assembly, Block, CourseBlock, PostNorm, PreNorm
from regard.layers.cache import Cache, LayerCache
from regard.layers.dropout import drop
from regard.layers.feedforward import FeedForward, GatedFeedForward, Gelu, SwiGLU
from regard.layers.initial import initialise
from regard.layers.norms import LayerNorm, RMSNorm
from regard.layers.patches import PatchEmbed
from regard.layers.position import Alibi, Learned, Natural, Position, Rotary, Scaled, Sinusoidal
from regard.layers.recurrent import RNN, GridRNN, GridScan, SequenceScan
from regard.layers.stack import Stack, cycle
from regard.layers.tracing import Trace

__all__ = [
    "RNN",
    "Alibi",
    "Assembly",
    "Attention",
    "Block",
    "Cache",
    "CourseBlock",
    "FeedForward",
    "GatedFeedForward",
    "Gelu",
    "GridRNN",
    "GridScan",
    "LayerCache",
    "LayerNorm",
    "Learned",
    "Natural",
    "PatchEmbed",
    "Position",
    "PostNorm",
    "PreNorm",
    "RMSNorm",
    "Rotary",
    "Scaled",
    "SequenceScan",
    "Sinusoidal",
    "Stack",
    "SwiGLU",
    "Trace",
    "cycle",
    "drop",
    "initialise",
]
