"""Models of transformers called as ours are, so that what looks inside ours looks inside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.models.auto import modeling_auto

from regard.hub.maps import recorded
from regard.hub.models import attention_modules
from regard.layers.tracing import Trace

LANGUAGE, MASKED, CLASSES, PICTURES, NOTHING = "language", "masked", "texts", "images", "attention"
TEXT, IMAGE = "input_ids", "pixel_values"  # what a model's forward takes
HEADS: dict[str, Mapping[str, str | Sequence[str]]] = {
    LANGUAGE: modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MASKED: modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    CLASSES: modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
    PICTURES: modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
}


def answers(model: PreTrainedModel) -> str:
    """What a model answers with: a next token, a hidden one, a class of texts or of images, or nothing.

    >>> from transformers import ViTConfig, ViTModel
    >>> config = ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    >>> answers(ViTModel(config))
    'attention'
    """
    name = type(model).__name__
    for kind, names in HEADS.items():
        if any(name == one if isinstance(one, str) else name in one for one in names.values()):
            return kind if kind in (LANGUAGE, MASKED) or names_one(model) else NOTHING
    return NOTHING


def names_one(model: PreTrainedModel) -> bool:
    """Whether a classifier names one class of several, and not many at a time nor a number."""
    problem = getattr(model.config, "problem_type", None)
    return problem in (None, "single_label_classification") and len(classes_of(model)) > 1


def classes_of(model: PreTrainedModel) -> list[str]:
    """The names of the classes that a classifier tells apart."""
    names: dict[int, str] = model.config.id2label or {}  # type: ignore[assignment]
    return [str(names[i]) for i in sorted(names)]


@dataclass(frozen=True)
class ReadFrom:
    """Where a model's answer is read from: "class", "mean", "last", or the number of a token."""

    pool: str | int


class TextReader(nn.Module):
    """Token ids (B,N) to what is asked: logits of all tokens, of one, of classes, or none at all (B,0)."""

    records_attention = True

    def __init__(self, model: PreTrainedModel, kind: str, at: int | None = None) -> None:
        super().__init__()
        self.model, self.kind, self.at = model, kind, at
        self.config = ReadFrom(pooling(model, kind) if at is None else at)

    @property
    def embed(self) -> nn.Module:
        """The table of token vectors."""
        return self.model.get_input_embeddings()

    def forward(self, tokens: Tensor, *, trace: Trace | None = None) -> Tensor:
        """The logits; with a trace, the weights of every layer, in the order in which they ran."""
        out = run(self.model, trace, input_ids=tokens, attention_mask=torch.ones_like(tokens))
        if self.kind == NOTHING:
            return torch.zeros(len(tokens), 0, device=tokens.device)
        return out.logits if self.at is None else out.logits[:, self.at]  # type: ignore[attr-defined]


class ImageReader(nn.Module):
    """Images (B,C,rows,cols) to logits of classes, or none at all (B,0)."""

    records_attention = True

    def __init__(self, model: PreTrainedModel, kind: str) -> None:
        super().__init__()
        self.model, self.kind = model, kind
        self.patches = PatchSizes(model)
        # A class token, one of distillation, and registers.
        self.front = 2 + int(getattr(model.config, "num_register_tokens", 0))
        self.config = ReadFrom("class" if class_token(model) else "mean")

    def forward(self, images: Tensor, *, trace: Trace | None = None) -> Tensor:
        """The logits; with a trace, the weights of every layer."""
        out = run(self.model, trace, pixel_values=images)
        if self.kind == NOTHING:
            return torch.zeros(len(images), 0, device=images.device)
        return out.logits  # type: ignore[attr-defined]


class PatchSizes:
    """How a model of images cuts them."""

    def __init__(self, model: PreTrainedModel) -> None:
        size = getattr(model.config, "patch_size", None)
        if size is None:
            raise ValueError(f"{type(model).__name__} names no patch_size, so that no map fits over an image")
        self.size = (size, size) if isinstance(size, int) else (int(size[0]), int(size[1]))

    def grid(self, images: Tensor) -> tuple[int, int]:
        """How many patches (rows, cols) images (B,C,rows,cols) have."""
        rows, cols = images.shape[2:]
        return rows // self.size[0], cols // self.size[1]


def run(model: PreTrainedModel, trace: Trace | None, **inputs: Tensor) -> object:
    """What the model gives; its attention weights go into the trace by the number of their layer."""
    call: Callable[..., object] = model
    if trace is None:
        return call(**inputs)
    seen = Trace()
    with recorded(model, seen):
        out = call(**inputs)
    shapes = {tuple(weights.shape) for weights in seen.values()}
    if len(shapes) != 1:
        raise ValueError(
            f"{type(model).__name__} cannot be looked at: its layers have weights of "
            f"{len(shapes)} shapes, and one is needed"
        )
    for i, weights in enumerate(seen.values()):
        trace.record(f"{i}.attention.weights", weights)
    return out


def causal(model: PreTrainedModel) -> bool:
    """Whether no token sees a later one."""
    return any(getattr(module, "is_causal", False) for module in attention_modules(model).values())


def pooling(model: PreTrainedModel, kind: str) -> str:
    """Which tokens of a text the answer is read from."""
    if causal(model):
        return "last"
    if kind == NOTHING:
        return "mean"
    return "mean" if getattr(model.config, "classifier_pooling", "cls") == "mean" else "class"


def class_token(model: PreTrainedModel) -> bool:
    """Whether a model of images puts a token of its own before the patches."""
    return any(name.rpartition(".")[2] == "cls_token" for name, _ in model.named_parameters())


def context_of(model: PreTrainedModel) -> int | None:
    """How many tokens of a text the model has positions for; None where it names no end."""
    found = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if not isinstance(found, int) or found < 1:
        return None
    for part in model.modules():
        if hasattr(part, "create_position_ids_from_input_ids"):  # RoBERTa counts from behind its padding
            found -= int(part.padding_idx) + 1  # type: ignore[arg-type]
    return found
