"""BERT and its kin, and models of images, by family: what a config.json says of them."""

from __future__ import annotations

from regard.layers import Gelu, PostNorm, PreNorm
from regard.models.encoder import EncoderConfig
from regard.models.huggingface.keys import Keys
from regard.models.huggingface.shapes import BertShape, ViTShape
from regard.models.huggingface.storage import read_storage
from regard.models.vit import ViTConfig

TEXT_HEADS = {
    "ForMaskedLM": "masked-lm",
    "ForPreTraining": "pretraining",
    "ForNextSentencePrediction": "next",
    "ForSequenceClassification": "classifier",
    "ForMultipleChoice": "choice",
    "ForTokenClassification": "token",
    "ForQuestionAnswering": "question",
    "Model": "pooler",
}
# (the names of its sizes, what a classifier of texts reads first, whether the backbone has a pooler)
BERT_SIZES = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
CLASSES = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert"}
DISTIL_SIZES = ("n_layers", "dim", "n_heads", "hidden_dim")


def read_bert(keys: Keys) -> tuple[BertShape, str]:
    """BERT, RoBERTa, DistilBERT."""
    name = str(keys.data["model_type"])
    distil = name == "distilbert"
    keys.only("is_decoder", False)
    keys.only("add_cross_attention", False)
    keys.only("position_embedding_type", "absolute")
    keys.only("activation" if distil else "hidden_act", "gelu", "gelu_new", "relu")
    depth, width, heads, hidden = (keys.size(one) for one in (DISTIL_SIZES if distil else BERT_SIZES))
    backbone = EncoderConfig(
        vocab=keys.size("vocab_size"),
        context=keys.size("max_position_embeddings"),
        types=0 if distil else keys.size("type_vocab_size", default=2),
        depth=depth,
        width=width,
        heads=heads,
        block=PostNorm(feedforward=Gelu(hidden=hidden)),
    )
    head, labels = keys.head(TEXT_HEADS, "pooler", [CLASSES[name]]), keys.labels
    if head in ("pretraining", "next") and name != "bert":
        raise ValueError(f"{keys.source}: the class {keys.architecture} has no price here")
    tied = keys.flag("tie_word_embeddings", True)
    if head == "masked-lm" and not tied and name != "bert":
        raise ValueError(f"{keys.source}: a masked-LM head of its own of a {name} has no price here")
    first = {"bert": "pooler", "roberta": "tanh", "distilbert": "relu"}[name]
    if head in ("choice", "next"):
        head, labels = "classifier", 1 if head == "choice" else 2
        first = "pooler" if name == "roberta" else first
    if head == "pooler" and distil:
        head = "none"
    shape = BertShape(
        backbone=backbone, head=head, labels=labels, tied=tied, first=first,
        storage=read_storage(keys, packs=False),
    )  # fmt: skip
    return shape, f"{name} {_words(head, labels)}"


def _words(head: str, labels: int) -> str:
    return {
        "pooler": "backbone with its pooler",
        "none": "backbone",
        "masked-lm": "with its masked-LM head and no pooler (use BertModel for the backbone with its pooler)",
        "pretraining": "with its pooler, masked-LM head and next-sentence head",
        "classifier": f"with its pooler and a classifier of {labels}",
        "token": f"with a classifier of {labels} for each token",
        "question": "with the first and last word of an answer",
    }[head]


# What a Dinov2Backbone gives, a class that has no price; every DINOv2's config says it.
OF_BACKBONES = {"out_features", "out_indices", "stage_names", "apply_layernorm", "reshape_hidden_states"}
IMAGE_HEADS = {"ForImageClassification": "classifier", "Model": "pooler"}


def read_vit(keys: Keys) -> tuple[ViTShape, str]:
    """ViT and DINOv2."""
    dino, image = keys.data["model_type"] == "dinov2", keys.sides("image_size")
    width, swiglu = keys.size("hidden_size"), dino and keys.flag("use_swiglu_ffn", False)
    hidden = width * keys.size("mlp_ratio", default=4) if dino else keys.size("intermediate_size")
    if swiglu:
        hidden = (int(hidden * 2 / 3) + 7) // 8 * 8
    keys.only("hidden_act", "gelu", "gelu_new", "relu")
    if dino:
        keys.only("use_mask_token", True)
        keys.asked.update(OF_BACKBONES)
    backbone = ViTConfig(
        image=image,
        patch=keys.sides("patch_size"),
        channels=keys.size("num_channels", default=3),
        depth=keys.size("num_hidden_layers"),
        width=width,
        heads=keys.size("num_attention_heads"),
        block=PreNorm(feedforward=Gelu(hidden=hidden)),
    )
    head, labels = keys.head(IMAGE_HEADS, "pooler", ["Dinov2" if dino else "ViT"]), keys.labels
    pooler = 0 if dino else keys.maybe("pooler_output_size")
    keys.only("pooler_act", "tanh")
    shape = ViTShape(
        backbone=backbone,
        labels=labels if head == "classifier" else None,
        pooler=pooler,
        unbiased=not keys.flag("qkv_bias", True),
        dino=dino,
        swiglu=swiglu,
        storage=read_storage(keys, packs=False),
    )
    name, end = keys.data["model_type"], "" if dino else " with its pooler"
    return shape, f"{name} with a classifier of {labels}" if head == "classifier" else f"{name} backbone{end}"
