"""Models on disk: one safetensors file that carries its config as JSON; nothing in it is ever executed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, get_args

from torch import Tensor, nn

from regard.errors import need
from regard.files import check, write
from regard.layers import Assembly, LayerScale, Mixer, Position, Projections
from regard.layers.feedforward import FeedForwardPart
from regard.layers.initial import without_memory
from regard.layers.norms import Norm
from regard.layers.rotary import RotaryScaling
from regard.models.bert_gru import BERTGRUConfig, BERTGRUSentiment
from regard.models.completion import GridCompletion, GridCompletionConfig
from regard.models.convnet import ConvNet, ConvNetConfig
from regard.models.encoder import Encoder, EncoderConfig
from regard.models.gpt import GPT, GPTConfig, Head
from regard.models.grid import GridRNN, GridRNNConfig
from regard.models.gru import GRUClassifier, GRUConfig
from regard.models.mlp import MLP, MLPConfig
from regard.models.own import MADE_BY, Own, build_own, is_own
from regard.models.pooling import ViTPool
from regard.models.vit import ViT, ViTConfig
from regard.models.weights import place
from regard.trust import Untrusted, granted
from regard.values import Json, Kinds, build, fields_of, from_data, names_in, to_data

MODELS: dict[str, tuple[type, type[nn.Module]]] = {
    "GPT": (GPTConfig, GPT),
    "ViT": (ViTConfig, ViT),
    "Encoder": (EncoderConfig, Encoder),
    "GridRNN": (GridRNNConfig, GridRNN),
    "GridCompletion": (GridCompletionConfig, GridCompletion),
    "ConvNet": (ConvNetConfig, ConvNet),
    "MLP": (MLPConfig, MLP),
    "GRUClassifier": (GRUConfig, GRUClassifier),
    "BERTGRUSentiment": (BERTGRUConfig, BERTGRUSentiment),
}
# What a config may hold; an Encoder's is part of another model's.
UNIONS = (Assembly, Norm, FeedForwardPart, Head, Mixer, Position, RotaryScaling, ViTPool)
PARTS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(one for union in UNIONS for one in get_args(union)),
        EncoderConfig,
        LayerScale,
        Projections,
    )
    if kind is not str
}

LINEAR = {"pattern": "linear"}  # as a file of old says it


def architecture(model: nn.Module) -> Json:
    """A model's class and config as plain data, from which `build_config` makes the config again."""
    kind = type(model).__name__
    if (made_by := getattr(model, MADE_BY, None)) is not None:
        facts = {name: to_data(one, PARTS) for name, one in made_by.facts.items()}
        return {"model": to_data(made_by.spec, PARTS), "facts": facts, "reads": made_by.reads}
    if kind not in MODELS or type(model) is not MODELS[kind][1]:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {kind}")
    return {"model": kind, "config": fields_of(model.config, PARTS)}


def build_config(data: Json, own: Kinds | None = None) -> tuple[object, Callable[[object], nn.Module]]:
    """The config that plain data describe and the class of its model, or what makes one of one's own.

    >>> build_config({"model": "MLP", "config": {"image": [2, 3], "classes": 4}})[0]
    MLPConfig(image=(2, 3), classes=4, channels=1, widths=(144, 144))
    """
    kinds = PARTS | dict(own or {})
    if isinstance(data.get("model"), dict):
        if not is_own(spec := from_data(data["model"], kinds)):
            raise ValueError(f"model must be made by a function or a value with build, got {spec!r}")
        facts = {str(name): from_data(one, kinds) for name, one in data.get("facts", {}).items()}
        return Own(spec, facts, data.get("reads", "")), build_own
    if data.get("model") not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {data.get('model')!r}")
    config, kind = MODELS[data["model"]]
    return build(config, with_mixers(data.get("config", {})), kinds), kind


def with_mixers(data: Any) -> Any:
    """Plain data in which linear attention is a mixer; earlier versions wrote it as a pattern, `linear`.

    >>> with_mixers({"depth": 2, "pattern": [{"pattern": "strided(3)"}, {"pattern": "linear"}]})["mixer"]
    [{'part': 'Softmax'}, {'part': 'LinearAttention'}]
    """
    if isinstance(data, list):
        return [with_mixers(one) for one in data]
    if not isinstance(data, dict):
        return data
    found = {name: with_mixers(one) for name, one in data.items()}
    given = data.get("pattern")
    each = given if isinstance(given, list) else [given]
    if LINEAR not in each or "mixer" in data:
        return found
    patterns = [{"pattern": "causal"} if one == LINEAR else one for one in each]
    mixers = [{"part": "LinearAttention" if one == LINEAR else "Softmax"} for one in each]
    several = isinstance(given, list)
    return found | {
        "pattern": patterns if several else patterns[0],
        "mixer": mixers if several else mixers[0],
    }


def save(model: nn.Module, path: str | Path) -> None:
    """Write a model to one file, whole or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> model = GPT(GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2))
    >>> with TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/small.safetensors")
    ...     load(f"{folder}/small.safetensors").config == model.config
    True
    """
    header = json.dumps(architecture(model))
    write_tensors(untied(model.state_dict()), Path(path), {"regard": header})


def load(
    path: str | Path,
    into: nn.Module | None = None,
    *,
    trust: bool = False,
    roots: Mapping[str, str] | None = None,
) -> Any:
    """Read a model, in evaluation mode; with `into`, fill a model of the same config and keep its mode.

    Code of one's own that it names is imported from where this user ran it before; with `trust`, from
    wherever it is, first from `roots`.

    Whatever is wrong with the file is one ValueError, and then `into` is as it was. Where there are checksums
    beside it (`model/` of a run has them), it must be the file that was written.
    """
    check(Path(path))
    weights, metadata = read_tensors(Path(path))
    config, kind = _header(metadata.get("regard"), path, roots or {}, trust)
    if into is not None:
        here = getattr(into, MADE_BY, None) or getattr(into, "config", None)
        if (kind is not build_own and type(into) is not kind) or here != config:
            mine = f"{type(into).__name__} of {here}"
            raise ValueError(f"{path} holds another architecture: {kind.__name__} of {config}, not {mine}")
        old = into.state_dict()
        moved = {name: x.to(old[name]) if name in old else x for name, x in weights.items()}
        place(into, moved, str(path))
        return into
    # A stranger's buffers may be computed, and are not all in the file: such a model is made for good.
    with nullcontext() if kind is build_own else without_memory():
        model = kind(config)
    place(model, weights, str(path))
    return model.eval()


def _header(
    text: str | None, path: str | Path, roots: Mapping[str, str], trust: bool
) -> tuple[object, Callable[[object], nn.Module]]:
    if text is None:
        raise ValueError(f"{path} has no config of ours; is it from another library? see from_huggingface")
    try:
        data = json.loads(text)
        own = granted(names_in(data), path, roots=roots, trust=trust)
        return build_config(data, own)
    except Untrusted:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} has a config that cannot be read: {error}") from error


def untied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors on the CPU, each with memory of its own: tied ones, which the format does not know, are copied.

    >>> import torch
    >>> one = torch.zeros(2)
    >>> a, b = untied({"a": one, "b": one}).values()
    >>> a.data_ptr() == one.data_ptr(), b.data_ptr() == one.data_ptr()
    (True, False)
    """
    out: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        one = tensor.detach().cpu().contiguous()
        where = one.untyped_storage().data_ptr()
        out[name] = one.clone() if where in seen else one
        seen.add(where)
    return out


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file and its metadata, or a ValueError that says what it is instead."""
    safetensors = need("safetensors", "files")
    try:
        with path.open("rb") as file:
            start = file.read(9)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    # A whole file begins with the eight bytes of its header's length, which may be any, and a brace.
    if start.startswith((b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05")) and start[8:] != b"{":
        raise ValueError(
            f"{path} looks like a pickle, which can run code and is never loaded; use safetensors"
        )
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise ValueError(f"{path} is no whole safetensors file: {error}") from error


def write_tensors(weights: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> None:
    """Write a safetensors file in one step, and only when the disk has all of it."""
    write(path, need("safetensors.torch", "files").save(weights, metadata))
