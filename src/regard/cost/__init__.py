"""Exact costs: priced from a config alone, as numbers or formulas, and checked against what really ran."""

from regard.cost.executing import executed
from regard.cost.pricing import price
from regard.cost.result import CONVENTIONS, Cost
from regard.cost.shapes import (
    AttentionShape,
    ConvolutionShape,
    EmbeddingShape,
    FeedForwardShape,
    GridRNNShape,
    LinearAttentionShape,
    LinearShape,
    LossShape,
    NormShape,
    PatchShape,
    PooledAttentionShape,
    RNNShape,
    WeightlessShape,
)

__all__ = [
    "CONVENTIONS",
    "AttentionShape",
    "ConvolutionShape",
    "Cost",
    "EmbeddingShape",
    "FeedForwardShape",
    "GridRNNShape",
    "LinearAttentionShape",
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
