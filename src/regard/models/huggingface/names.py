"""One table of names per family serves both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.layers import Gelu
from regard.models.trunk import TrunkConfig
from regard.models.weights import listed
from regard.values import Json

Config = Json  # a config.json of theirs


@dataclass(frozen=True)
class WeightMatch:
    """One of our weights, and the ones of theirs that it holds one below the other.

    `transposed` are those that they keep as (in, out).
    """

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False


def pairs(ours: str, *theirs: str, transposed: bool = False) -> list[WeightMatch]:
    """The rows for the weight and the bias of a layer."""
    return [
        WeightMatch(f"{ours}.weight", tuple(f"{name}.weight" for name in theirs), transposed),
        WeightMatch(f"{ours}.bias", tuple(f"{name}.bias" for name in theirs)),
    ]


def read_rows(rows: Iterable[WeightMatch], theirs: dict[str, Tensor], source: str) -> dict[str, Tensor]:
    """Our weights from theirs, which are used up; a ValueError names what is missing or left over."""
    ours, missing = {}, []
    for row in rows:
        if absent := [name for name in row.theirs if name not in theirs]:
            missing += absent
            continue
        found = [theirs.pop(name) for name in row.theirs]
        whole = torch.cat(found) if len(found) > 1 else found[0]
        ours[row.ours] = whole.T if row.transposed else whole
    faults = [f"missing {listed(missing)}"] if missing else []
    faults += [f"left over {listed(sorted(theirs))}"] if theirs else []
    if faults:
        raise ValueError(f"the weights do not fit {source}: {'; '.join(faults)}")
    return ours


def write_rows(rows: Iterable[WeightMatch], ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their weights from ours."""
    theirs: dict[str, Tensor] = {}
    for row in rows:
        whole = ours[row.ours].T if row.transposed else ours[row.ours]
        parts = whole.chunk(len(row.theirs)) if len(row.theirs) > 1 else [whole]
        theirs |= dict(zip(row.theirs, parts, strict=True))
    return theirs


def strip(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The weights with the family's own prefix taken off where a name has it."""
    return {name.removeprefix(prefix): weight for name, weight in weights.items()}


def require(config: Config, family: str, **wanted: object) -> None:
    """Raise unless every setting has, or is absent and so defaults to, the value that our model computes."""
    for name, value in wanted.items():
        if config.get(name, value) != value:
            raise ValueError(f"{family} with {name}={config[name]!r} is not supported, only {value!r}")


def refuse(family: str, faults: Iterable[tuple[bool, str]]) -> None:
    """Raise with all that keeps a model of ours from being one of theirs."""
    found = [text for wrong, text in faults if wrong]
    if found:
        raise ValueError(f"transformers' {family} cannot express {'; '.join(found)}")


def trunk_settings(trunk: TrunkConfig, classes: int | None) -> Config:
    """What BERT's config and ViT's say in the same words: sizes, and names for the classes."""
    block, names = trunk.block, [f"LABEL_{i}" for i in range(2 if classes is None else classes)]
    assert isinstance(block.feedforward, Gelu)
    return {
        "num_hidden_layers": trunk.depth,
        "hidden_size": trunk.width,
        "num_attention_heads": trunk.heads,
        "intermediate_size": block.feedforward.hidden_of(trunk.width),
        "hidden_act": "gelu_new" if block.feedforward.tanh else "gelu",
        "layer_norm_eps": block.norm.eps,
        "hidden_dropout_prob": trunk.dropout,
        "attention_probs_dropout_prob": 0.0,
        "id2label": {str(i): name for i, name in enumerate(names)},
        "label2id": {name: i for i, name in enumerate(names)},
    }


GELUS = {"gelu": False, "gelu_new": True, "gelu_pytorch_tanh": True}


def tanh_of(config: Config, name: str, default: str, family: str) -> bool:
    """Whether an activation is GELU's approximation, or a ValueError where it is no GELU."""
    activation = config.get(name, default)
    if activation not in GELUS:
        raise ValueError(f"{family} with {name}={activation!r} is not supported, only {', '.join(GELUS)}")
    return GELUS[activation]
