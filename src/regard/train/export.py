"""A run as a folder that transformers, vLLM and TGI load: its weights, its config and its tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.tokenizers import SPECIALS, BytePairTokenizer, CharTokenizer
from regard.errors import need
from regard.models import GPT, Encoder, ViT, to_huggingface

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Library

    from regard.data.tokenizers import Tokenizer
    from regard.train.runs.run import Run


def export_huggingface(run: Run, folder: Path) -> bool:
    """Write a run for transformers; whether its tokenizer is there too: not all can be expressed."""
    model, tokenizer = run.model, run.tokenizer
    if not isinstance(model, GPT | Encoder | ViT):
        raise ValueError(f"{run.folder} is a {type(model).__name__}, which transformers has not")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} must be a new or an empty folder")
    to_huggingface(model, folder)
    library = None if tokenizer is None else _library(tokenizer)
    if tokenizer is None or library is None:
        return False
    start, pad, unknown = SPECIALS
    config: dict[str, object] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "bos_token": start,
        "pad_token": pad,
    }
    if tokenizer.unk is not None:
        config["unk_token"] = unknown
    if not isinstance(model, ViT):
        config["model_max_length"] = model.config.context
    (folder / "tokenizer.json").write_text(library.to_str(), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    return True


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
