"""A config.json priced, and held against the model itself where transformers is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

import torch

from regard.cost.pricing import price
from regard.layers.shapes import HasShapes, ImageShape
from regard.models.huggingface.config import READERS, read_config

# The classes that a family has where its config names none.
CLASSES = {"bert": "BertModel", "roberta": "RobertaModel", "distilbert": "DistilBertModel",
           "vit": "ViTModel", "dinov2": "Dinov2Model", "gpt2": "GPT2LMHeadModel"}  # fmt: skip


def read_checked(data: Mapping[str, object], source: str = "config.json") -> tuple[HasShapes, str]:
    """What `read_config` gives, refused where transformers builds a model with other parameters.

    Nothing is downloaded or filled: the model is built on the meta device. A field that is not known is
    refused, unless transformers is there and has no such field, or has the same by itself.
    """
    if find_spec("transformers") is None or data.get("model_type") not in READERS:
        return read_config(data, source)
    what, words = read_config(data, source, ignored=ignored_fields(data))
    theirs = built_parameters(data, source)
    of_image = isinstance(what.shapes(), ImageShape)
    ours = price(what, tokens=None if of_image else 2).parameters
    if ours != theirs:
        raise ValueError(
            f"{source}: no price that is sure: transformers builds {theirs:,} parameters, we count {ours:,}"
        )
    return what, words


def ignored_fields(data: Mapping[str, object]) -> set[str]:
    """The fields of a config that make no difference to transformers."""
    import transformers

    known = transformers.CONFIG_MAPPING[str(data["model_type"])]().to_dict()
    return {name for name, value in data.items() if name not in known or known[name] == value}


def built_parameters(data: Mapping[str, object], source: str = "config.json") -> int:
    """How many parameters the model has that transformers builds of a config."""
    import transformers

    family = str(data["model_type"])
    named = data.get("architectures")
    skipped = ("model_type", "quantization_config", "auto_map")
    fields = {name: value for name, value in data.items() if name not in skipped}
    level = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    try:
        config = transformers.CONFIG_MAPPING[family].from_dict(fields)
        if isinstance(named, list) and named:
            name = str(named[0])
        else:
            from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as LANGUAGE

            name = CLASSES.get(family) or str(LANGUAGE[family])
        kind = getattr(transformers, name, None)
        if kind is None:
            raise ValueError(f"{source}: transformers has no class {name}")
        with torch.device("meta"):
            model = kind(config)
    except Exception as error:  # of any kind: a config is somebody else's
        told = " ".join(str(error).split())
        raise ValueError(f"{source}: transformers does not build it: {told:.200}") from error
    finally:
        transformers.logging.set_verbosity(level)
    return sum(weight.numel() for weight in model.parameters())
