"""What a folder of transformers reads by: its tokenizer as ids and pieces, its processor as images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.data.pictures import opened
from regard.errors import need
from regard.probe import Piece, pieces_of
from regard.probe.inputs import cut

if TYPE_CHECKING:
    from transformers import BaseImageProcessor, PreTrainedTokenizerBase

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model",
              "sentencepiece.bpe.model")  # fmt: skip
PROCESSORS = ("preprocessor_config.json", "processor_config.json")


@dataclass(frozen=True)
class TokensRead:
    """The ids of a text and their pieces, what stands between those, and the token in front of it all."""

    ids: list[int]
    pieces: list[Piece]
    joined: str
    first: int | None


class TokenNames(Sequence[str]):
    """What each of so many tokens shows as; one is decoded when it is asked for."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, count: int) -> None:
        self.tokenizer, self.length = tokenizer, count

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i):  # type: ignore[no-untyped-def]
        # Models have more rows than their tokenizers have tokens.
        return str(self.tokenizer.decode([i])) if i < len(self.tokenizer) else f"token {i}"


def tokenizer_of(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a folder, or a ValueError of one line."""
    from regard.hub.models import quiet

    _check_there(folder, TOKENIZERS, "tokenizer", "no text can be read")
    from transformers import AutoTokenizer

    try:
        with quiet():
            found: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # of any kind: a folder is somebody else's
        raise ValueError(f"{folder} has a tokenizer that cannot be read: {_line(error)}") from error
    return found


def processor_of(folder: Path) -> BaseImageProcessor:
    """What makes images of a folder's model, or a ValueError of one line."""
    from regard.hub.models import quiet

    _check_there(folder, PROCESSORS, "image processor", "it is not known how images are made for it")
    need("PIL", "images")
    from transformers import AutoImageProcessor

    try:
        with quiet():
            found: BaseImageProcessor = AutoImageProcessor.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        raise ValueError(f"{folder} has an image processor that cannot be read: {_line(error)}") from error
    return found


def read_tokens(tokenizer: PreTrainedTokenizerBase, text: str) -> TokensRead:
    """A text as its tokenizer reads it; tokens that it adds stand for no part of the text."""
    if not text.strip():
        raise ValueError("text must hold something to read, got an empty text")
    if not tokenizer.is_fast:  # it cannot tell where its tokens stand
        ids = list(tokenizer(text)["input_ids"])
        return TokensRead(ids, *pieces_of(ids, lambda some: str(tokenizer.decode(some))), None)
    found = tokenizer(text, return_offsets_mapping=True)
    ids, spans = list(found["input_ids"]), list(found["offset_mapping"])
    real = [i for i, (start, stop) in enumerate(spans) if stop > start]
    if not real:
        raise ValueError(f"text must hold something that the tokenizer reads, got {text[:60]!r}")
    first = ids[0] if real[0] == 1 else None
    last = len(text), len(text)
    spans = [last if i > real[-1] else span for i, span in enumerate(spans)]
    pieces = cut(text, spans)
    return TokensRead(ids, pieces, "", None) if first is None else TokensRead(ids[1:], pieces[1:], "", first)


def read_pictures(processor: BaseImageProcessor, paths: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Image files as the model takes them, floats (B,3,rows,cols), and the same as people see them, uint8."""
    from PIL import ImageOps

    rows = []
    for path in paths:
        with opened(Path(path)) as image:
            image.load()
            one = processor(images=[ImageOps.exif_transpose(image).convert("RGB")], return_tensors="pt")
        rows.append(one["pixel_values"][0])
    if len({row.shape for row in rows}) > 1:
        raise ValueError(
            "these images come out of the model's processor in several sizes: look at one at a time"
        )
    pixels = torch.stack(rows)
    seen = pixels
    if getattr(processor, "do_normalize", False):
        mean, std = (
            torch.tensor(getattr(processor, f"image_{name}")).view(-1, 1, 1) for name in ("mean", "std")
        )
        seen = pixels * std + mean
    scale = 255 if getattr(processor, "do_rescale", False) else 1
    return (seen * scale).round().clamp(0, 255).to(torch.uint8), pixels


def _check_there(folder: Path, names: Sequence[str], what: str, so: str) -> None:
    if not any((folder / name).is_file() for name in names):
        raise ValueError(f"{folder} has no {what} ({names[0]} and the like), so that {so}")


def _line(error: Exception) -> str:
    return f"{' '.join(str(error).split()):.300}"
