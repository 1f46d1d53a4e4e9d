"""Weights from and to the folders of Hugging Face transformers: GPT-2, BERT and ViT."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import torch
from torch import Tensor, nn

from regard.files import write
from regard.models.encoder import Encoder
from regard.models.files import read_tensors, write_tensors
from regard.models.gpt import GPT
from regard.models.huggingface import bert, gpt2, vit
from regard.models.huggingface.names import Config
from regard.models.vit import ViT
from regard.models.weights import place

FAMILIES: dict[str, ModuleType] = {"gpt2": gpt2, "bert": bert, "vit": vit}
WRITERS: dict[type, ModuleType] = {GPT: gpt2, Encoder: bert, ViT: vit}


def from_huggingface(model_or_folder: object, drop: Sequence[str] = ()) -> GPT | Encoder | ViT:
    """Our model with the weights of a transformers model, or of a folder that one was saved to.

    It is in evaluation mode, as transformers' own `from_pretrained` leaves it. A folder needs no
    transformers, only safetensors. Weights that have no place in our model are named in a ValueError; `drop`
    lists beginnings of names to leave behind, such as "cls." for BERT's training heads.
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


def to_huggingface(model: GPT | Encoder | ViT, folder: str | Path) -> None:
    """Write a folder that transformers loads, or raise a ValueError that names what it cannot express.

    >>> from regard.models import GPT, GPTConfig
    >>> with TemporaryDirectory() as folder:
    ...     to_huggingface(GPT(GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2)), folder)
    ...     print(from_huggingface(folder).config.vocab)
    9
    """
    if type(model) not in WRITERS:
        raise ValueError(f"model must be a GPT, Encoder or ViT, got {type(model).__name__}")
    family = WRITERS[type(model)]
    config = family.write_config(model.config)
    ours = {name: weight.detach().cpu() for name, weight in model.state_dict().items()}
    weights = {name: weight.contiguous() for name, weight in family.write_weights(model.config, ours).items()}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config["dtype"] = str(next(iter(ours.values())).dtype).removeprefix("torch.")
    write_tensors(weights, folder / "model.safetensors", {"format": "pt"})
    write(folder / "config.json", json.dumps(config, indent=2).encode())


def _from_folder(folder: Path, drop: Sequence[str]) -> GPT | Encoder | ViT:
    theirs = _read_config(folder)
    family = FAMILIES.get(theirs.get("model_type", ""))
    if family is None:
        found = f"{theirs.get('model_type')!r} ({', '.join(theirs.get('architectures') or [])})"
        raise ValueError(f"{folder} holds a model of type {found}; supported: {', '.join(FAMILIES)}")
    weights = _read_weights(folder)
    for beginning in drop:
        weights = {name: weight for name, weight in weights.items() if not name.startswith(beginning)}
    kind, config, ours = family.read(theirs, weights)
    with torch.device("meta"):
        model: nn.Module = kind(config)
    place(model, ours, str(folder))
    return model.eval()  # type: ignore[return-value]


def _read_config(folder: Path) -> Config:
    try:
        config = json.loads((folder / "config.json").read_text())
    except OSError as error:
        raise ValueError(f"{folder} needs a config.json: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{folder}/config.json is no JSON: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{folder}/config.json must hold an object, got a {type(config).__name__}")
    return config


def _read_weights(folder: Path) -> dict[str, Tensor]:
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if whole.exists():
        return read_tensors(whole)[0]
    if index.exists():
        shards = sorted(set(json.loads(index.read_text())["weight_map"].values()))
        weights: dict[str, Tensor] = {}
        for shard in shards:
            weights |= read_tensors(folder / Path(shard).name)[0]
        return weights
    raise ValueError(f"{folder} needs a model.safetensors (pickled .bin files can run code and are not read)")
