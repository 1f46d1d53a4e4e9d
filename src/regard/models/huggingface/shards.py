"""The weights of a folder of transformers: one safetensors file, or several with an index."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import torch
from torch import Tensor

from regard.files import write
from regard.models.files import read_tensors, write_tensors
from regard.models.weights import listed
from regard.values import Json

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def read_json(path: Path) -> Json:
    """An object in a file, or a ValueError in one line."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path.parent} needs a {path.name}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} must hold an object, got a {type(found).__name__}")
    return found


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All weights by their names, or a ValueError in one line."""
    if (folder / WHOLE).exists():
        return read_tensors(folder / WHOLE)[0]
    if (folder / INDEX).exists():
        return _read_shards(folder)
    if any((folder / name).exists() for name in PICKLES):
        raise ValueError(
            f"{folder} holds {PICKLES[0]}: pickled files can run code and are not read; "
            "load and save it with transformers for safetensors"
        )
    raise ValueError(f"{folder} needs a {WHOLE}, or a {INDEX} and what it names")


def _read_shards(folder: Path) -> dict[str, Tensor]:
    places = read_json(folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise ValueError(f"{folder / INDEX} needs a weight_map from names of weights to names of files")
    weights: dict[str, Tensor] = {}
    for shard in sorted(set(places.values())):
        if Path(shard).name != shard or "\\" in shard or not shard.endswith(".safetensors"):
            raise ValueError(f"{folder / INDEX} names {shard!r}, which is no safetensors file beside it")
        if not (folder / shard).exists():
            raise ValueError(f"{folder / INDEX} names {shard}, which is not there")
        found = read_tensors(folder / shard)[0]
        wanted = {name for name, place in places.items() if place == shard}
        if absent := sorted(wanted - set(found)):
            raise ValueError(f"{folder / shard} lacks what the index says it holds: {listed(absent)}")
        if surplus := sorted(set(found) - wanted):
            raise ValueError(f"{folder / shard} holds what the index does not place there: {listed(surplus)}")
        weights |= found
    return weights


def in_one_dtype(weights: dict[str, Tensor], said: object) -> dict[str, Tensor]:
    """All in the type that the config names, as transformers loads them; else in the widest that there is."""
    strange = [name for name, weight in weights.items() if weight.dtype not in DTYPES]
    if strange:
        kind = str(weights[strange[0]].dtype).removeprefix("torch.")
        raise ValueError(f"weights of type {kind} (quantised?) are not read: {listed(strange, 3)}")
    named = {str(dtype).removeprefix("torch."): dtype for dtype in DTYPES}
    dtype = named.get(str(said).removeprefix("torch."))
    if dtype is None:
        kinds = [weight.dtype for weight in weights.values()]
        dtype = reduce(torch.promote_types, kinds) if kinds else torch.float32
    return {name: weight.to(dtype) for name, weight in weights.items()}


def write_weights(weights: dict[str, Tensor], folder: Path, most: int) -> None:
    """Write one file, or several of at most so many bytes (but for a single weight) with an index."""
    shards: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, weight in weights.items():
        if shards[-1] and size + weight.nbytes > most:
            shards.append({})
            size = 0
        shards[-1][name] = weight
        size += weight.nbytes
    if len(shards) == 1:
        write_tensors(_whole(weights), folder / WHOLE, {"format": "pt"})
        return
    places: dict[str, str] = {}
    for i, shard in enumerate(shards, start=1):
        file = f"model-{i:05}-of-{len(shards):05}.safetensors"
        write_tensors(_whole(shard), folder / file, {"format": "pt"})
        places |= dict.fromkeys(shard, file)
    total = sum(weight.nbytes for weight in weights.values())
    index = {"metadata": {"total_size": total}, "weight_map": places}
    write(folder / INDEX, json.dumps(index, indent=2).encode())


def _whole(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Each in memory of its own, in order, as the format wants it."""
    return {name: weight.contiguous().clone() for name, weight in weights.items()}
