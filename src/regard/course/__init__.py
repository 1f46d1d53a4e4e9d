"""The textbook's modules in plain sight; read attention, transformer, vision, text, then dialogue."""

from regard.course.attention import AttentionHead, MultiHeadedAttention
from regard.course.dialogue import DialogueGPT, DialogueLoss
from regard.course.text import DialogueDataset, MyTokenizer
from regard.course.transformer import FFN, AttentionResidual, Transformer
from regard.course.vision import PatchEmbed, VisionTransformer

__all__ = ["FFN", "AttentionHead", "AttentionResidual", "DialogueDataset", "DialogueGPT", "DialogueLoss",
           "MultiHeadedAttention", "MyTokenizer", "PatchEmbed", "Transformer",
           "VisionTransformer"]  # fmt: skip
