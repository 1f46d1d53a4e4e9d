"""Weights from and to the folders of Hugging Face transformers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import nn

from regard.files import placed, write
from regard.layers.initial import without_memory
from regard.models.encoder import Encoder
from regard.models.gpt import GPT
from regard.models.huggingface.bert import BERT, ROBERTA
from regard.models.huggingface.dinov2 import DINOV2
from regard.models.huggingface.distilbert import DISTILBERT
from regard.models.huggingface.extras import copy_extras, labels, passed_on
from regard.models.huggingface.families import Family
from regard.models.huggingface.gemma import GEMMA, GEMMA2, GEMMA3
from regard.models.huggingface.gpt2 import GPT2
from regard.models.huggingface.llama import LLAMA, MISTRAL, QWEN2, QWEN3
from regard.models.huggingface.neox import NEOX
from regard.models.huggingface.settings import Config, Inexpressible
from regard.models.huggingface.shards import in_one_dtype, read_json, read_weights, write_weights
from regard.models.huggingface.starcoder2 import STARCODER2
from regard.models.huggingface.vit import DEIT, VIT
from regard.models.vit import ViT
from regard.models.weights import place

# The first family that can express a model is the one that it is written as.
WRITERS: dict[type, tuple[Family, ...]] = {
    GPT: (GPT2, LLAMA, MISTRAL, QWEN2, QWEN3, NEOX, STARCODER2, GEMMA, GEMMA2, GEMMA3),
    Encoder: (BERT, DISTILBERT, ROBERTA),
    ViT: (VIT, DEIT, DINOV2),
}
FAMILIES: dict[str, Family] = {family.name: family for some in WRITERS.values() for family in some}
SHARD_BYTES = 5_000_000_000


def from_huggingface(model_or_folder: object, drop: Sequence[str] = ()) -> GPT | Encoder | ViT:
    """Our model with the weights of a transformers model, or of a folder that one was saved to.

    It is in evaluation mode, as transformers' own `from_pretrained` leaves it. A folder needs no
    transformers, only safetensors. Weights that have no place in our model are named in a ValueError; `drop`
    lists beginnings of names to leave behind, such as "cls." for BERT's training heads. So is a field of the
    config that is not known and may change the result.
    """
    if isinstance(model_or_folder, str | Path):
        return _from_folder(Path(model_or_folder), drop)
    if not hasattr(model_or_folder, "save_pretrained"):
        raise ValueError(
            f"model_or_folder must be a folder or a transformers model, got {type(model_or_folder).__name__}"
        )
    # Names in memory change between versions of transformers; those on disk are the stable ones.
    with TemporaryDirectory() as folder:
        model_or_folder.save_pretrained(folder)
        return _from_folder(Path(folder), drop)


def to_huggingface(
    model: GPT | Encoder | ViT,
    folder: str | Path,
    *,
    family: str | None = None,
    like: str | Path | None = None,
    classes: Sequence[str] | None = None,
    shard_bytes: int = SHARD_BYTES,
) -> None:
    """Write a new folder that transformers loads, whole or not at all.

    A ValueError names what it cannot express. `family` is a model_type, the first that can express the model
    unless given. `like` is a folder of transformers from which the model came: its family, the names of its
    classes, tokenizer, chat template, generation config and image processor are kept. `classes` are names.

    >>> from regard.models import GPT, GPTConfig
    >>> with TemporaryDirectory() as folder:
    ...     to_huggingface(GPT(GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2)), folder)
    ...     print(from_huggingface(folder).config.vocab)
    9
    """
    folder = check_new(Path(folder))
    config = config_of(model, family=family, like=like, classes=classes)
    with placed(folder) as fresh:
        write_folder(model, config, fresh, shard_bytes)
        if like is not None:
            copy_extras(Path(like), fresh)


def check_new(folder: Path) -> Path:
    """The folder's whole path, or a ValueError unless it is new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} must be a new or an empty folder")
    if folder.resolve() == Path.cwd():
        raise ValueError(f"{folder} must be another folder than the one that you are in")
    return folder.resolve()


def config_of(
    model: nn.Module,
    *,
    family: str | None = None,
    like: str | Path | None = None,
    classes: Sequence[str] | None = None,
) -> Config:
    """The config.json of a model of ours."""
    if type(model) not in WRITERS:
        raise ValueError(f"model must be a GPT, Encoder or ViT, got {type(model).__name__}")
    origin = None if like is None else read_json(Path(like) / "config.json")
    if family is None and origin is not None:
        family = str(origin.get("model_type"))
    known = WRITERS[type(model)]
    if family is not None:
        known = tuple(one for one in known if one.name == family)
        if not known:
            names = ", ".join(one.name for one in WRITERS[type(model)])
            raise ValueError(
                f"family must be one of {names} for a {type(model).__name__}, got family={family!r}"
            )
    config = _expressed(known, model.config)
    kept = {} if origin is None else passed_on(origin, config)
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    named = labels(getattr(model.config, "classes", None), classes, kept)
    return {**config, **kept, **named, "dtype": dtype}


def _expressed(families: Sequence[Family], config: object) -> Config:
    """The config of the first family that can express ours, or what keeps it from the nearest."""
    nearest: Inexpressible | None = None
    for family in families:
        try:
            return family.write(config)
        except Inexpressible as error:
            if nearest is None or len(error.faults) < len(nearest.faults):
                nearest = error
    assert nearest is not None
    raise nearest


def write_folder(model: nn.Module, config: Config, folder: Path, shard_bytes: int = SHARD_BYTES) -> None:
    """Weights and config into a folder that is there."""
    family = FAMILIES[config["model_type"]]
    ours = {name: weight.detach().cpu() for name, weight in model.state_dict().items()}
    write_weights(family.written(model.config, ours), folder, shard_bytes)
    write(folder / "config.json", json.dumps(config, indent=2, ensure_ascii=False).encode())


def _from_folder(folder: Path, drop: Sequence[str]) -> GPT | Encoder | ViT:
    theirs = read_json(folder / "config.json")
    family = FAMILIES.get(str(theirs.get("model_type")))
    if family is None:
        kinds = theirs.get("architectures")
        names = ", ".join(map(str, kinds)) if isinstance(kinds, list) else "no architectures"
        found = f"{theirs.get('model_type')!r} ({names})"
        raise ValueError(f"{folder} holds a model of type {found}; supported: {', '.join(FAMILIES)}")
    weights = read_weights(folder)
    kept = {name: weight for name, weight in weights.items() if not name.startswith(tuple(drop))}
    named = in_one_dtype(family.named(kept), theirs.get("dtype", theirs.get("torch_dtype")))
    config = family.config_of(theirs, {name: tuple(weight.shape) for name, weight in named.items()})
    with without_memory():
        model: nn.Module = family.model(config)
    place(model, family.weights_of(config, named), str(folder))
    return model.eval()  # type: ignore[return-value]
