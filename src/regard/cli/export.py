"""`regard export RUN --to huggingface FOLDER`: a run as a folder that transformers, vLLM and TGI load."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.generate import RunName
from regard.cli.options import AsJson, print_json
from regard.errors import need
from regard.models import GPT, Encoder, ViT, to_huggingface

FORMS = ("huggingface",)


def export(
    run: RunName,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write.", show_default=False)],
    to: Annotated[str, typer.Option(help=f"One of: {', '.join(FORMS)}.")] = "huggingface",
    as_json: AsJson = False,
) -> None:
    """Write weights, config and tokenizer in the form that other programs serve.

    Example: regard export runs/shakespeare-char --to huggingface served/
    """
    if to not in FORMS:
        raise ValueError(f"--to must be one of {', '.join(FORMS)}, got {to!r}")
    from regard.train import open_run

    found = open_run(run)
    if not isinstance(found.model, GPT | Encoder | ViT):
        raise ValueError(f"{run} is a {type(found.model).__name__}, which transformers has not")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} must be a new or an empty folder")
    to_huggingface(found.model, folder)
    kind = None if found.tokenizer is None else found.tokenizer.kind
    written = found.tokenizer is not None and write_tokenizer(found.tokenizer, folder, context(found.model))
    note = "" if written or kind is None else f"; no tokenizer: transformers has none that reads by {kind}"
    if as_json:
        print_json({"run": run, "folder": str(folder), "to": to, "tokenizer": bool(written)})
    else:
        print(f"written to {folder}{note}")


def context(model: Any) -> int | None:
    """How many positions a model has, where they are counted."""
    return getattr(model.config, "context", None)


def write_tokenizer(tokenizer: Any, folder: Path, longest: int | None) -> bool:
    """Write what AutoTokenizer loads, or give False for a tokenizer that it cannot express."""
    if tokenizer.kind == "char":
        library = character_library(tokenizer)
    elif tokenizer.kind == "byte-pair":
        library = tokenizer.library
    else:
        return False
    names = {"bos_token": "<START>", "pad_token": "<PAD>"}
    if tokenizer.unk is not None:
        names["unk_token"] = "<UNK>"
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        **names,
        **({} if longest is None else {"model_max_length": longest}),
    }
    (folder / "tokenizer.json").write_text(library.to_str(), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json_.dumps(config, indent=2), encoding="utf-8")
    return True


def character_library(tokenizer: Any) -> Any:
    """The characters as a vocabulary of words of length one."""
    hub = need("tokenizers", "text")
    ids = {name: i for i, name in enumerate(("<START>", "<PAD>", "<UNK>"))} | dict(tokenizer.ids)
    library = hub.Tokenizer(hub.models.WordLevel(ids, unk_token="<UNK>"))
    library.pre_tokenizer = hub.pre_tokenizers.Split(hub.Regex(r"[\s\S]"), "isolated")
    library.decoder = hub.decoders.Fuse()
    return library
