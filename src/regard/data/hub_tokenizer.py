"""The tokenizer of a language model's folder as transformers wrote it, which `tokenizers` reads alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.tokenizers import KINDS, BytePairTokenizer
from regard.errors import need
from regard.values import Json

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Library

SOURCE = "tokenizer.json"


class HubTokenizer(BytePairTokenizer):
    """What `AutoTokenizer` makes of a text: special tokens in it are meant, and a template may add some."""

    kind = "hub"
    start = None
    pad = None

    def __init__(self, library: Library, ends: Sequence[int] = ()) -> None:
        super().__init__(library)
        library.encode_special_tokens = False
        library.no_truncation()
        library.no_padding()
        self.ends = tuple(ends)

    @classmethod
    def read(cls, folder: Path) -> HubTokenizer:
        """The tokenizer of a folder, and the tokens with which its model ends a text."""
        path = folder / SOURCE
        if not path.exists():
            raise ValueError(
                f"{folder} has no {SOURCE}, so no text can be read; write it there with "
                f"AutoTokenizer.from_pretrained(…).save_pretrained({str(folder)!r})"
            )
        try:
            library = need("tokenizers", "text").Tokenizer.from_file(str(path))
        except ImportError:
            raise
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(f"{path} cannot be read: {error}") from error
        return cls(library, _ends(folder))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; a model may have more than its tokenizer, which are no text."""
        return self._decode([int(i) for i in ids])

    def _state(self) -> Json:
        return {**super()._state(), "ends": list(self.ends)}

    @classmethod
    def _from_state(cls, state: Json) -> HubTokenizer:
        return cls(BytePairTokenizer._from_state(state).library, [int(i) for i in state["ends"]])


def _ends(folder: Path) -> list[int]:
    """`eos_token_id` of the generation config, which may be several, or of the config."""
    for name in ("generation_config.json", "config.json"):
        try:
            found = json.loads((folder / name).read_text("utf-8")).get("eos_token_id")
        except (OSError, ValueError):
            continue
        if found is not None:
            return found if isinstance(found, list) else [found]
    return []


KINDS[HubTokenizer.kind] = HubTokenizer
