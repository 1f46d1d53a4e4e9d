"""Modules with weights, and the values from which configs choose them."""

from regard.layers.attention import Attention, Mixer
from regard.layers.block import Assembly, CourseBlock, Parallel, PostNorm, PreNorm, TransformerBlock
from regard.layers.cache import Cache, LayerCache
from regard.layers.dropout import drop
from regard.layers.feedforward import FeedForward, GatedFeedForward, GeGLU, Gelu, SwiGLU
from regard.layers.initial import initialise
from regard.layers.linear_mixer import LinearAttention
from regard.layers.norms import LayerNorm, LayerScale, RMSNorm, ZeroCentredRMSNorm
from regard.layers.patches import PatchProjection
from regard.layers.position import Alibi, Learned, Natural, Position, Rotary, Scaled, Sinusoidal
from regard.layers.projections import Projections
from regard.layers.recurrent import RNN, GridRNNStack, GridScan, SequenceScan
from regard.layers.rotary import DynamicScaling, LinearScaling, Llama3Scaling, YarnScaling
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
    "DynamicScaling",
    "FeedForward",
    "GatedFeedForward",
    "GeGLU",
    "Gelu",
    "GridRNNStack",
    "GridScan",
    "LayerCache",
    "LayerNorm",
    "LayerScale",
    "Learned",
    "LinearAttention",
    "LinearScaling",
    "Llama3Scaling",
    "Mixer",
    "Natural",
    "Parallel",
    "PatchProjection",
    "Position",
    "PostNorm",
    "PreNorm",
    "Projections",
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
    "YarnScaling",
    "ZeroCentredRMSNorm",
    "cycle",
    "drop",
    "initialise",
]
