"""Text into numbers and back: by words, by characters, by frequent pairs of bytes, or as a BERT does."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

from regard.course import MyTokenizer
from regard.data.files import read
from regard.data.spacing import spaced
from regard.errors import check_int, need
from regard.files import check, write
from regard.values import Json

if TYPE_CHECKING:
    from nltk.tokenize.api import TokenizerI
    from tokenizers import Tokenizer as Library

FILE = "tokenizer.json"
START, PAD, UNK = 0, 1, 2
SPECIALS = ("<START>", "<PAD>", "<UNK>")


class Tokenizer(ABC):
    """What all tokenizers share: `encode`, `decode`, `vocab`, `save`, and the ids of the special tokens."""

    kind: ClassVar[str]
    start: int | None = START
    pad: int | None = PAD
    unk: int | None = UNK
    end: int | None = None  # closes every text that is encoded, where there is one
    ends: tuple[int, ...] = ()  # with which a model that writes ends a text

    @property
    @abstractmethod
    def vocab(self) -> int:
        """The special tokens and the words."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without a start token."""

    @abstractmethod
    def _decode(self, ids: list[int]) -> str: ...

    @abstractmethod
    def _state(self) -> dict[str, object]: ...

    @classmethod
    @abstractmethod
    def _from_state(cls, state: dict[str, object]) -> Tokenizer: ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        ids = [int(i) for i in ids]
        if wrong := [i for i in ids if not 0 <= i < self.vocab]:
            raise ValueError(f"ids must be from 0 to {self.vocab - 1}, got {wrong[0]}")
        return self._decode(ids)

    def shown(self, ids: Sequence[int]) -> str:
        """The text of ids for people to read; more ids add to it, but for a character that is not whole."""
        return self.decode(ids)

    def strange(self, text: str) -> list[str]:
        """What of a text is unknown, each once and in its order, as far as the tokenizer can tell."""
        return []

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of many texts."""
        return [self.encode(text) for text in _several(texts)]

    def save(self, folder: str | Path) -> Path:
        """Write `tokenizer.json` into a folder, all of it or nothing."""
        path = Path(folder) / FILE
        write(path, self._written())
        return path

    def digest(self) -> str:
        """The SHA-256 of what `save` writes."""
        return sha256(self._written()).hexdigest()

    def _written(self) -> bytes:
        return json.dumps({"tokenizer": self.kind, **self._state()}, indent=0).encode("ascii")


class WordTokenizer(Tokenizer):
    """Words and signs by NLTK's rules: 0 <START>, 1 <PAD>, 2 <UNK>, then the words in sorted order.

    Like every tokenizer here, and unlike the course's, `encode` adds no <START>: who wants it adds `start`.

    >>> tokenizer = WordTokenizer.train(["I shall not die.", "I shall live!"])
    >>> tokenizer.encode("I shall sing.")
    [5, 9, 2, 4]
    >>> tokenizer.decode([0, 5, 9, 2, 4])
    '<START> I shall <UNK> .'
    """

    kind = "word"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = [*SPECIALS, *words]
        self.ids = _numbered(self.words)

    @classmethod
    def train(cls, texts: Iterable[str], vocab: int | None = None) -> WordTokenizer:
        """Number the words of these texts: all of them, or the most frequent so that `vocab` ids suffice."""
        if vocab is not None:
            check_int("vocab", vocab, least=len(SPECIALS))
        rules = WordRules("")
        counts: Counter[str] = Counter()
        for text in _several(texts):
            counts.update(rules.tokenize(text))
        # Equally frequent words are taken in sorted order, whatever the order of the texts.
        words = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(sorted(words if vocab is None else words[: vocab - len(SPECIALS)]))

    @property
    def vocab(self) -> int:
        """The special tokens and the characters."""
        return len(self.words)

    @cached_property
    def rules(self) -> WordRules:
        """NLTK's rules, which a tokenizer that only decodes does not need."""
        return WordRules("")

    def strange(self, text: str) -> list[str]:
        """The words that were never seen."""
        return list(dict.fromkeys(word for word in self.rules.tokenize(text) if word not in self.ids))

    def encode(self, text: str) -> list[int]:
        """The ids of a text's words, without <START>; a word never seen becomes <UNK>."""
        return [self.ids.get(word, UNK) for word in self.rules.tokenize(text)]

    def shown(self, ids: Sequence[int]) -> str:
        """The words as people write them, without the spaces before signs that `decode` has."""
        return spaced(self.decode([i]) for i in ids)

    def _decode(self, ids: list[int]) -> str:
        return " ".join(self.words[i] for i in ids)

    def _state(self) -> dict[str, object]:
        return {"words": self.words[len(SPECIALS) :]}

    @classmethod
    def _from_state(cls, state: dict[str, object]) -> WordTokenizer:
        return cls(_strings(state["words"]))


class WordRules(MyTokenizer):
    """The course's tokenizer without NLTK's trained sentence data, even where that is installed.

    A tokenizer that is saved on one machine must read a text in the same way on every other.
    """

    def splitter(self, rules: ModuleType) -> TokenizerI:
        """What cuts a text into sentences: at every full stop."""
        return rules.PunktSentenceTokenizer()


class CharTokenizer(Tokenizer):
    """Characters: 0 <START>, 1 <PAD>, 2 <UNK>, then the characters in the order of Unicode.

    >>> tokenizer = CharTokenizer.train(["abba"])
    >>> tokenizer.encode("bach"), tokenizer.decode([0, 4, 3, 2, 2])
    ([4, 3, 2, 2], 'ba��')
    """

    kind = "char"

    def __init__(self, characters: Sequence[str]) -> None:
        if long := [char for char in characters if len(char) != 1]:
            raise ValueError(f"characters must be single ones, got {long[0]!r}")
        self.characters = ["", "", "\N{REPLACEMENT CHARACTER}", *characters]
        self.ids = _numbered(characters, len(SPECIALS))

    @classmethod
    def train(cls, texts: Iterable[str]) -> CharTokenizer:
        """Number the characters of these texts."""
        found: set[str] = set()
        for text in _several(texts):
            found.update(text)
        return cls(sorted(found))

    @property
    def vocab(self) -> int:
        """The special tokens, the bytes and what was merged of them."""
        return len(self.characters)

    def strange(self, text: str) -> list[str]:
        """The characters that were never seen."""
        return list(dict.fromkeys(char for char in text if char not in self.ids))

    def encode(self, text: str) -> list[int]:
        """The ids of a text's characters; one never seen becomes <UNK>."""
        return [self.ids.get(char, UNK) for char in text]

    def _decode(self, ids: list[int]) -> str:
        return "".join(self.characters[i] for i in ids)

    def _state(self) -> dict[str, object]:
        return {"characters": self.characters[len(SPECIALS) :]}

    @classmethod
    def _from_state(cls, state: dict[str, object]) -> CharTokenizer:
        return cls(_strings(state["characters"]))


class BytePairTokenizer(Tokenizer):
    """Bytes, and the pairs that were merged most often: 0 <START>, 1 <PAD>; nothing is unknown.

    >>> tokenizer = BytePairTokenizer.train(["low lower lowest"], vocab=262)
    >>> len(tokenizer.encode("slow lowest")), tokenizer.decode(tokenizer.encode("löwe 🦁"))
    (5, 'löwe 🦁')
    """

    kind = "byte-pair"
    unk: int | None = None
    LEAST = 2 + 256  # the special tokens and the bytes
    TOGETHER = 2_000  # texts encoded in one go: enough for all cores, few enough for their offsets to fit

    def __init__(self, library: Library) -> None:
        # Otherwise a text in which somebody wrote "<PAD>" would turn into padding.
        library.encode_special_tokens = True
        self.library = library

    @classmethod
    def train(cls, texts: Iterable[str], vocab: int = 8_192, *, lower: bool = False) -> BytePairTokenizer:
        """Merge pairs of bytes, the most frequent first, until there are `vocab` ids.

        With `lower`, capitals are read as small letters, here and ever after.
        """
        check_int("vocab", vocab, least=cls.LEAST)
        hub = need("tokenizers", "text")
        library = hub.Tokenizer(hub.models.BPE())
        if lower:
            library.normalizer = hub.normalizers.Lowercase()
        library.pre_tokenizer = hub.pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = hub.decoders.ByteLevel()
        trainer = hub.trainers.BpeTrainer(
            vocab_size=vocab,
            special_tokens=list(SPECIALS[:2]),
            initial_alphabet=sorted(hub.pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        library.train_from_iterator((_valid(text) for text in _several(texts)), trainer)
        return cls(library)

    @property
    def vocab(self) -> int:
        """How many different ids there are."""
        return self.library.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return self.library.encode(_valid(text)).ids

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        valid = [_valid(text) for text in _several(texts)]
        out = []
        for i in range(0, len(valid), self.TOGETHER):
            out += [done.ids for done in self.library.encode_batch_fast(valid[i : i + self.TOGETHER])]
        return out

    def _decode(self, ids: list[int]) -> str:
        return self.library.decode(ids, skip_special_tokens=True)

    def _state(self) -> dict[str, object]:
        return {"library": json.loads(self.library.to_str())}

    @classmethod
    def _from_state(cls, state: dict[str, object]) -> BytePairTokenizer:
        hub = need("tokenizers", "text")
        try:
            return cls(hub.Tokenizer.from_str(json.dumps(state["library"])))
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(str(error)) from error


class WordPieceTokenizer(BytePairTokenizer):
    """A BERT's own tokenizer, with the ids of its start, padding, unknown and end."""

    kind = "borrowed"  # as it stands in files
    end: int

    def __init__(self, library: Library, specials: dict[str, int]) -> None:
        super().__init__(library)
        self.start, self.pad = specials["start"], specials["pad"]
        self.unk, self.end = specials["unk"], specials["end"]

    @classmethod
    def read(cls, folder: Path) -> WordPieceTokenizer:
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

    def needed(self, ids: Iterable[int]) -> list[int]:
        """These ids in order, with the special tokens and the signs of ASCII, which spell other words."""
        known = self.library.get_vocab().items()
        spelled = {i for word, i in known if len(bare := word.removeprefix("##")) == 1 and bare.isascii()}
        special = {one for one in (self.start, self.pad, self.unk, self.end) if one is not None}
        return sorted({*ids} | spelled | special)

    def cut(self, kept: Sequence[int]) -> WordPieceTokenizer:
        """The tokenizer with these ids alone, numbered anew; other words are spelled with what is left."""
        state = json.loads(self.library.to_str())
        new = {old: i for i, old in enumerate(kept)}
        state["model"]["vocab"] = {word: new[i] for word, i in state["model"]["vocab"].items() if i in new}
        state["added_tokens"] = [
            {**one, "id": new[one["id"]]} for one in state["added_tokens"] if one["id"] in new
        ]
        library = need("tokenizers", "text").Tokenizer.from_str(json.dumps(state))
        ids = {"start": self.start, "pad": self.pad, "unk": self.unk, "end": self.end}
        return WordPieceTokenizer(library, {name: new[i] for name, i in ids.items() if i is not None})

    def encode(self, text: str) -> list[int]:
        """The ids of a text, closed by the end token."""
        return [*super().encode(text), self.end]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        return [[*ids, self.end] for ids in super().encode_batch(texts)]

    def _state(self) -> Json:
        specials = {"start": self.start, "pad": self.pad, "unk": self.unk, "end": self.end}
        return {**super()._state(), "specials": specials}

    @classmethod
    def _from_state(cls, state: Json) -> WordPieceTokenizer:
        library = BytePairTokenizer._from_state(state).library
        return cls(library, {name: int(state["specials"][name]) for name in ("start", "pad", "unk", "end")})


def _words_as_json(path: Path) -> str:
    """A tokenizer in BERT's first form: one word a line, and in a file beside it whether capitals matter."""
    settings = path.with_name("tokenizer_config.json")
    found = json.loads(settings.read_text("utf-8")) if settings.exists() else {}
    words = {word: i for i, word in enumerate(path.read_text("utf-8").splitlines())}
    kind = need("tokenizers.implementations", "text").BertWordPieceTokenizer
    return kind(words, lowercase=found.get("do_lower_case", True)).to_str()


KINDS: dict[str, type[Tokenizer]] = {
    kind.kind: kind for kind in (WordTokenizer, CharTokenizer, BytePairTokenizer, WordPieceTokenizer)
}


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """The tokenizer that was saved in a folder, which must be that one where there are checksums beside it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = CharTokenizer.train(["ab"]).save(folder)
    ...     load_tokenizer(folder).encode("ba")
    [4, 3]
    """
    path = Path(folder) / FILE
    check(path)
    data = read(path)
    try:
        state = json.loads(data)
        return KINDS[state["tokenizer"]]._from_state(state)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} holds no whole tokenizer: {type(error).__name__}: {error}") from error


def _several(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str):  # iterating over it would make a text of every character
        raise ValueError("texts must be several strings, got one str")
    return texts


def _numbered(tokens: Sequence[str], first: int = 0) -> dict[str, int]:
    ids = {token: i for i, token in enumerate(tokens, first)}
    if len(ids) != len(tokens):
        twice = next(token for token, count in Counter(tokens).items() if count > 1)
        raise ValueError(f"tokens must differ, got {twice!r} twice")
    return ids


def _strings(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("its tokens are not a list of strings")
    return value


def _valid(text: str) -> str:
    """The text with half characters (lone surrogates), which have no UTF-8 form, replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
