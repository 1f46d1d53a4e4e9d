"""A run as a folder that transformers, vLLM and TGI load: its weights, its config and its tokenizer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from regard.data.tokenizers import SPECIALS, BytePairTokenizer, CharTokenizer
from regard.errors import need
from regard.files import placed, write, write_json
from regard.models import GPT, Encoder, ViT
from regard.models.huggingface.folders import check_new, config_of, write_folder
from regard.models.weights import place
from regard.sharing.sizes import pair
from regard.train.runs.hub import HubRun
from regard.values import Json

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Library

    from regard.data.tokenizers import Tokenizer
    from regard.train.runs.run import Run

GREY = (0.299, 0.587, 0.114)  # of red, green and blue in a grey picture


def export_huggingface(run: Run, folder: Path) -> bool:
    """Write a run for transformers, whole or not at all; whether its tokenizer is there too: not all can be.

    Names of classes go along, and how pictures are prepared. A model of grey pictures becomes one of colours
    that weighs them as Pillow does when it makes a picture grey: pipelines give colours alone.
    """
    model, tokenizer = run.model, run.tokenizer
    if isinstance(run, HubRun):
        raise ValueError(f"{run.folder} is a folder of transformers already")
    if not isinstance(model, GPT | Encoder | ViT):
        raise ValueError(f"{run.folder} is a {type(model).__name__}, which transformers has not")
    folder = check_new(folder)
    model = coloured(model) if isinstance(model, ViT) and model.config.channels == 1 else model
    named = run.description.get("classes") if hasattr(model.config, "classes") else None
    config = config_of(model, classes=named)
    library = None if tokenizer is None else _library(tokenizer)
    with placed(folder) as fresh:
        write_folder(model, config, fresh)
        if isinstance(model, ViT) and "mean" in run.description:
            write_json(fresh / "preprocessor_config.json", _processor(model, run.description))
        if tokenizer is not None and library is not None:
            context = None if isinstance(model, ViT) else model.config.context
            write(fresh / "tokenizer.json", library.to_str().encode())
            write_json(fresh / "tokenizer_config.json", _tokenizer_config(tokenizer, context))
    return library is not None


def _tokenizer_config(tokenizer: Tokenizer, context: int | None) -> Json:
    start, pad, unknown = SPECIALS
    config: Json = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "bos_token": start,
        "pad_token": pad,
    }
    config |= {} if tokenizer.unk is None else {"unk_token": unknown}
    return config | ({} if context is None else {"model_max_length": context})


def _processor(model: ViT, description: Json) -> Json:
    """What transformers does to a picture before the model sees it."""
    rows, cols = pair("image", model.config.image, 1)
    mean, std = (list(description[name]) for name in ("mean", "std"))
    times = model.config.channels // len(mean)
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_convert_rgb": True,
        "do_resize": True,
        "size": {"height": rows, "width": cols},
        "resample": 2,  # bilinear
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": mean * times,
        "image_std": std * times,
    }


def coloured(model: ViT) -> ViT:
    """A model of grey pictures as one of colours, which gives the same for them."""
    shares = torch.tensor(GREY).view(1, 3, 1, 1)
    with torch.device("meta"):
        other = ViT(replace(model.config, channels=3))
    weights = dict(model.state_dict())
    grey = weights["patches.weight"]
    weights["patches.weight"] = grey * shares.to(grey)
    place(other, weights, "a model of grey pictures")
    return other.eval()


def _library(tokenizer: Tokenizer) -> Library | None:
    """The tokenizer as one of the library that AutoTokenizer reads; characters as words of length one."""
    if isinstance(tokenizer, BytePairTokenizer):
        return tokenizer.library
    if not isinstance(tokenizer, CharTokenizer):
        return None
    hub = need("tokenizers", "text")
    ids = {name: i for i, name in enumerate(SPECIALS)} | tokenizer.ids
    library: Library = hub.Tokenizer(hub.models.WordLevel(ids, unk_token=SPECIALS[-1]))
    library.pre_tokenizer = hub.pre_tokenizers.Split(hub.Regex(r"[\s\S]"), "isolated")
    library.decoder = hub.decoders.Fuse()
    return library
