"""Exact costs: priced from a config alone, as numbers or formulas, and checked against what really ran."""

from regard.cost.executed import executed
from regard.cost.pricing import price
from regard.cost.result import CONVENTIONS, Cost
from regard.layers.attention_shapes import AttentionShape, PooledAttentionShape, WeightlessShape
from regard.layers.feedforward import FeedForwardShape
from regard.layers.image_shapes import ConvolutionShape, PatchShape
from regard.layers.recurrent_shapes import GridRNNShape, RNNShape
from regard.layers.shapes import EmbeddingShape, LinearShape, LossShape, NormShape

__all__ = [
    "CONVENTIONS",
    "AttentionShape",
    "ConvolutionShape",
    "Cost",
    "EmbeddingShape",
    "FeedForwardShape",
    "GridRNNShape",
    "LinearShape",
    "LossShape",
    "NormShape",
    "PatchShape",
    "PooledAttentionShape",
    "RNNShape",
    "WeightlessShape",
    "executed",
    "price",
]
