"""MyTokenizer: words to numbers and back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.grade.modules import tried_case
from regard.grade.sandbox import StudentError
from regard.grade.student import Student
from regard.grade.task import (
    Assignment,
    Candidate,
    Case,
    Choices,
    Mistake,
    Observed,
    PartPoints,
    Tried,
    Views,
)
from regard.grade.wire import Foreign, Handle

TEXT = '''"""Words to numbers and back."""

import torch
from nltk.tokenize import word_tokenize


class MyTokenizer:
    def __init__(self, raw_text):
        """ids 0 <START>, 1 <PAD>, 2 <UNK>, then the different words and signs of the text in sorted order.

        Words are those of word_tokenize, capitals as they are. Attributes: start, pad and unk, the ids of
        the three; vocab_size; id_to_tok, which gives a token for an id, and tok_to_id, a dict.
        """
        raise NotImplementedError

    def encode(self, text):
        """The ids (T,) of a text, <START> in front; words that are not in the vocabulary become <UNK>."""
        raise NotImplementedError

    def decode(self, ids):
        """The tokens of ids (T,), the three special ones too, with a space between them."""
        raise NotImplementedError

    def pad_examples(self, examples):
        """One batch (B, T) of ids from a list of B examples, filled up with <PAD> behind."""
        raise NotImplementedError
'''
SPECIALS = ("<START>", "<PAD>", "<UNK>")
RAW = "You shall not die. Shall I live? I shall, not you!"
KNOWN, STRANGE = "I shall not live, shall you?", "I shall sing and die."
NO_SIGNS = "I shall not live"


@dataclass(frozen=True)
class Vocabulary:
    """What a tokenizer knows: its tokens by id, its ids by token, and the three special ids."""

    tokens: tuple[str, ...]
    ids: Mapping[str, int]
    start: int
    pad: int
    unk: int


def words_of(text: str, split: str) -> list[str]:
    """The words and signs, or what is taken for them."""
    found = re.findall(r"\w+|[^\w\s]", text)
    if split == "words":
        return found
    if split == "sentence":  # the full stop of the last sentence alone is a token of its own
        return [one for word in text.split() for one in _apart(word, text.endswith(word))]
    ways: dict[str, Callable[[], list[str]]] = {
        "spaces": text.split, "one space": lambda: text.split(" "), "characters": lambda: list(text),
        "lower": lambda: [one.lower() for one in found],
        "lower spaces": lambda: text.lower().split(), "no signs": lambda: re.findall(r"\w+", text),
        "lower, no signs": lambda: re.findall(r"\w+", text.lower()), "lines": text.splitlines,
        "letters": lambda: [one for one in text if not one.isspace()],
        "letters only": lambda: [one for one in found if one.isalpha()],
    }  # fmt: skip
    return ways[split]()


def _apart(word: str, last: bool) -> list[str]:
    signs = re.fullmatch(r"(\w+)([^\w\s])", word)
    return [word] if signs is None or (signs[2] == "." and not last) else [signs[1], signs[2]]


def vocabulary(raw: str, *, split: str = "words", order: str = "sorted", specials: str = "first",
               numbers: str = "from zero") -> Vocabulary:  # fmt: skip
    """The vocabulary of a text."""
    found = words_of(raw, split)
    own = {
        "sorted": lambda: sorted(set(found)), "as they come": lambda: list(dict.fromkeys(found)),
        "all": lambda: sorted(found), "all, as they come": lambda: list(found),
        "frequent first": lambda: [one for one, _ in Counter(found).most_common()],
        "frequent, then sorted": lambda: sorted(set(found), key=lambda one: (-found.count(one), one)),
        "backwards": lambda: sorted(set(found), reverse=True), "by length": lambda: sorted(sorted(set(found)), key=len),
        "without case": lambda: sorted(sorted(set(found)), key=str.lower),
        "rare first": lambda: [one for one, _ in Counter(found).most_common()][::-1],
    }[order]()  # fmt: skip
    three = {"pad first": ("<PAD>", "<START>", "<UNK>"), "unk second": ("<START>", "<UNK>", "<PAD>"),
             "pad, unk, start": ("<PAD>", "<UNK>", "<START>"), "unk first": ("<UNK>", "<START>", "<PAD>"),
             "unk, pad, start": ("<UNK>", "<PAD>", "<START>"), "bare": ("START", "PAD", "UNK"),
             "small": ("<start>", "<pad>", "<unk>"), "brackets": ("[START]", "[PAD]", "[UNK]")}.get(specials, SPECIALS)  # fmt: skip
    tokens = {"last": [*own, *three], "sorted in": sorted({*own, *three}), "none": own,
              "four": [*three, "<END>", *own], "without <UNK>": [*three[:2], *own]}.get(specials, [*three, *own])  # fmt: skip
    first = 1 if numbers == "from one" else 0
    ids = {one: i for i, one in enumerate(tokens, first)}
    names = three if specials in ("bare", "small", "brackets") else SPECIALS
    start, pad, unk = (tokens.index(one) if one in tokens else -1 for one in names)
    return Vocabulary(tuple(tokens), ids, start, pad, unk)


def encoded(text: str, known: Vocabulary, split: str, start: str, unknown: str) -> object:
    """The ids of a text; a text in place of them where this way would raise."""
    out: list[int] = []
    fresh: dict[str, int] = {}
    for one in words_of(text, split):
        if one in known.ids:
            out.append(known.ids[one])
        elif unknown == "raises":
            return "raises"
        elif unknown == "new":
            out.append(fresh.setdefault(one, len(known.ids) + len(fresh)))
        elif unknown != "dropped":
            out.append({"pad": known.pad, "start": known.start, "minus one": -1}.get(unknown, known.unk))
    return {"added": [known.start, *out], "none": out, "twice": [known.start, known.start, *out],
            "behind": [*out, known.start], "end": [known.start, *out, known.pad],
            "end is start": [known.start, *out, known.start], "axis": [[known.start, *out]]}.get(start, out)  # fmt: skip


def decoded(ids: Sequence[int], known: Vocabulary, show: str) -> object:
    """The text of ids."""
    three = {known.start, known.pad, known.unk}
    hidden = {"no specials": three, "no start": {known.start}, "no pad": {known.pad},
              "no start, no pad": {known.start, known.pad}}.get(show, set())  # fmt: skip
    tokens = [known.tokens[i] for i in ids if i not in hidden]
    if show == "list":
        return tokens
    if show == "until pad":
        tokens = tokens[: tokens.index("<PAD>")] if "<PAD>" in tokens else tokens
    if show == "first left out":
        tokens = tokens[1:]
    return {"joined": "".join, "lines": "\n".join, "commas": ", ".join, "space behind": lambda t: " ".join(t) + " "}.get(
        show, " ".join)(tokens)  # fmt: skip


def padded(examples: Sequence[Sequence[int]], pad: int, side: str, fill: str, length: str) -> object:
    """The examples as one batch."""
    T = {"shortest": min, "longest": max}.get(length, max)(map(len, examples)) + (length == "one more")
    value = {"zero": 0, "minus one": -1, "minus hundred": -100, "two": 2}.get(fill, pad)
    rows = []
    for one in examples:
        rest = [value] * (T - len(one))
        rows.append([*rest, *one] if side == "front" else [*one[:T], *rest])
    return [list(line) for line in zip(*rows, strict=True)] if side == "time first" else rows


IDS = (0, 5, 2, 4, 1)
BATCH = ((0, 5, 4), (0, 6, 4, 3, 5), (0,))


@dataclass(frozen=True)
class Trial:
    """One thing that is asked of a tokenizer."""

    does: str
    text: str = ""


def _observe(student: Student) -> Observed:
    name = student.need("MyTokenizer", "Tokenizer")
    made = student.make(name, RAW)
    known = _known(student, made)
    tried: list[Tried] = [
        tried_case(student, Case("vocabulary", f"MyTokenizer({RAW!r})", (Trial("vocabulary"),)), lambda: _shown(student, made)),
        tried_case(student, Case("vocabulary", "its start, pad and unk", (Trial("specials"),)),
                   lambda: {"start, pad, unk": [student.get(made, one) for one in ("start", "pad", "unk")]}),
    ]  # fmt: skip
    kinds = []
    for text in (NO_SIGNS, KNOWN, STRANGE):

        def encode(text: str = text) -> Views:
            fresh = student.make(name, RAW)
            try:
                ids = student.call(fresh, text, method="encode")
            except StudentError as error:
                if text is STRANGE and error.kind in ("KeyError", "ValueError", "IndexError"):
                    return {"ids": "raises"}
                raise
            kinds.append(isinstance(ids, Tensor))
            return {"ids": ids}

        tried.append(
            tried_case(student, Case("encode", f"encode({text!r})", (Trial("encode", text),)), encode)
        )
    as_given: Callable[[Sequence[int]], object] = torch.tensor if not kinds or kinds[0] else list
    tried.append(tried_case(student, Case("decode", f"decode({list(IDS)})", (Trial("decode"),)),
                            lambda: {"text": student.call(made, as_given(IDS), method="decode")}))  # fmt: skip
    batch = [as_given(one) for one in BATCH]
    tried.append(tried_case(student, Case("pad_examples", f"pad_examples({[list(one) for one in BATCH]})", (Trial("pad"),)),
                            lambda: {"batch": student.call(made, batch, method="pad_examples")}))  # fmt: skip
    return Observed(tuple(tried), (Candidate(known),))


def _shown(student: Student, made: Handle) -> Views:
    tokens = student.get(made, "id_to_tok")
    if isinstance(tokens, Mapping) and set(tokens) == set(range(len(tokens))):
        tokens = [tokens[i] for i in range(len(tokens))]
    size = student.get(made, "vocab_size")
    if isinstance(size, Foreign):  # a method
        size = student.call(made, method="vocab_size")
    listed = list(tokens) if isinstance(tokens, tuple | list) else tokens
    return {"id_to_tok": listed, "vocab_size": size, "tok_to_id": student.get(made, "tok_to_id")}


def _known(student: Student, made: Handle) -> Vocabulary:
    """The student's own vocabulary, by which the rest is judged; the definition's where theirs is none."""
    views, own = _shown(student, made), vocabulary(RAW)
    tokens, ids = views["id_to_tok"], views["tok_to_id"]
    three = [student.get(made, one) for one in ("start", "pad", "unk")]
    numbers = [
        int(one) if isinstance(one, int) or (isinstance(one, Tensor) and one.numel() == 1) else None
        for one in three
    ]
    if not isinstance(tokens, list) or not all(isinstance(one, str) for one in tokens) or len(tokens) < 7:
        tokens = list(own.tokens)
    if not isinstance(ids, Mapping) or not all(isinstance(one, int) for one in ids.values()):
        ids = {one: i for i, one in enumerate(tokens)}
    start, pad, unk = (
        ids.get(word, 0) if one is None else one for one, word in zip(numbers, SPECIALS, strict=True)
    )
    return Vocabulary(tuple(tokens), {str(key): int(one) for key, one in ids.items()}, start, pad, unk)


def predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
    """What the tokenizer gives under these choices."""
    trial, known = case.inputs[0], candidate.weights
    assert isinstance(trial, Trial)
    assert isinstance(known, Vocabulary)
    how = {name: str(one) for name, one in choices.items()}
    split = how.get("split", "words")
    asked = {name: how[name] for name in ("split", "order", "specials", "numbers") if name in how}
    if trial.does in ("vocabulary", "specials"):
        own = vocabulary(RAW, **asked)
        if how.get("own order"):
            own = _shuffled(known)
        if trial.does == "specials":
            return {"start, pad, unk": [own.start, own.pad, own.unk]}
        size = len(own.tokens) + {"without specials": -3, "one more": 1, "one less": -1}.get(
            how.get("size", ""), 0
        )
        return {"id_to_tok": list(own.tokens), "vocab_size": size, "tok_to_id": dict(own.ids)}
    if trial.does == "encode":
        split = how.get("encode split", split)
        if how.get("start") == "tokens":
            return {"ids": ["<START>", *words_of(trial.text, split)]}
        return {
            "ids": encoded(trial.text, known, split, how.get("start", "added"), how.get("unknown", "unk"))
        }
    if trial.does == "decode":
        return {"text": decoded(IDS, known, how.get("show", "all"))}
    return {
        "batch": padded(
            BATCH, known.pad, how.get("side", "behind"), how.get("fill", "pad"), how.get("length", "")
        )
    }


def _shuffled(known: Vocabulary) -> Vocabulary:
    """The student's own vocabulary where its order alone is wrong."""
    own = vocabulary(RAW)
    tokens = (*SPECIALS, *known.tokens[3:])
    if sorted(tokens) != sorted(own.tokens) or tokens == own.tokens:
        return own
    return Vocabulary(tokens, {one: i for i, one in enumerate(tokens)}, 0, 1, 2)


TOKENIZER_TASK = Assignment(
    name="tokenizer", title="MyTokenizer", skeleton=TEXT, symbols=(("MyTokenizer", "Tokenizer"),), lesson="masks-and-losses",
    parts=(PartPoints("vocabulary", 2), PartPoints("encode", 2), PartPoints("decode", 1), PartPoints("pad_examples", 2)),
    observe=_observe, predict=predict,
    method="values at a small text; encode, decode and pad_examples are judged given the student's own vocabulary",
    mistakes=(
        Mistake("not-sorted", "a vocabulary in the order of the text, which is not sorted", {"order": "as they come"}),
        Mistake("not-unique", "a vocabulary in which words stand as often as in the text", {"order": "all"}),
        Mistake("not-unique-nor-sorted", "a vocabulary that is the text itself, word by word", {"order": "all, as they come"}),
        Mistake("by-frequency", "a vocabulary with frequent words first", {"order": "frequent first"}),
        Mistake("by-frequency-then-sorted", "a vocabulary with frequent words first, in sorted order where they tie", {"order": "frequent, then sorted"}),
        Mistake("sorted-backwards", "a vocabulary from z to a", {"order": "backwards"}),
        Mistake("sorted-by-length", "a vocabulary sorted by length", {"order": "by length"}),
        Mistake("sorted-without-case", "a vocabulary sorted as if there were no capitals", {"order": "without case"}),
        Mistake("not-sorted-at-all", "a vocabulary in no order, as a set gives it: ids differ from run to run", {"own order": "kept"}),
        Mistake("split-at-spaces", "words cut at spaces: signs stick to them", {"split": "spaces"}),
        Mistake("lowercased", "a vocabulary in small letters", {"split": "lower"}),
        Mistake("lowercased-at-spaces", "small letters, cut at spaces", {"split": "lower spaces"}),
        Mistake("lowercased-in-encode", "an encode in small letters, beside a vocabulary with capitals", {"encode split": "lower"}),
        Mistake("split-at-spaces-in-encode", "an encode that cuts at spaces, beside a vocabulary of words and signs", {"encode split": "spaces"}),
        Mistake("signs-dropped-in-encode", "an encode without signs, beside a vocabulary that has them", {"encode split": "no signs"}),
        Mistake("signs-dropped", "words alone: signs are no tokens", {"split": "no signs"}),
        Mistake("lowercased-signs-dropped", "words alone, in small letters", {"split": "lower, no signs"}),
        Mistake("characters", "single characters in place of words", {"split": "characters"}),
        Mistake("characters-without-spaces", "single characters in place of words, without spaces", {"split": "letters"}),
        Mistake("sentences-not-cut", "full stops inside the text that stick to their words: sentences are not cut first", {"split": "sentence"}),
        Mistake("specials-at-end", "the special tokens behind the words", {"specials": "last"}),
        Mistake("specials-sorted-in", "the special tokens sorted in among the words", {"specials": "sorted in"}),
        Mistake("fourth-special", "a fourth special token, which nobody asked for", {"specials": "four"}),
        Mistake("unk-missing", "a vocabulary without <UNK>", {"specials": "without <UNK>"}),
        Mistake("specials-bare", "special tokens START, PAD, UNK without < and >, which a text may hold as words", {"specials": "bare"}),
        Mistake("specials-in-small-letters", "special tokens in small letters", {"specials": "small"}),
        Mistake("specials-in-brackets", "special tokens in square brackets", {"specials": "brackets"}),
        Mistake("specials-missing", "a vocabulary without special tokens", {"specials": "none"}),
        Mistake("pad-first", "<PAD> as 0 and <START> as 1", {"specials": "pad first"}),
        Mistake("unk-second", "<UNK> as 1 and <PAD> as 2", {"specials": "unk second"}),
        Mistake("pad-unk-start", "<PAD>, <UNK>, <START> in this order", {"specials": "pad, unk, start"}),
        Mistake("unk-first", "<UNK> as 0", {"specials": "unk first"}),
        Mistake("ids-from-one", "ids of tok_to_id that count from 1, beside an id_to_tok that counts from 0", {"numbers": "from one"}),
        Mistake("vocab-size-without-specials", "a vocab_size without the three special tokens", {"size": "without specials"}),
        Mistake("vocab-size-one-more", "a vocab_size that is one too large", {"size": "one more"}),
        Mistake("start-missing", "ids without <START>", {"start": "none"}),
        Mistake("start-doubled", "ids with <START> twice", {"start": "twice"}),
        Mistake("start-behind", "ids with <START> at the end", {"start": "behind"}),
        Mistake("ids-with-batch-axis", "ids (1, T) in place of (T,)", {"start": "axis"}),
        Mistake("tokens-not-ids", "an encode that gives tokens, not their ids", {"start": "tokens"}),
        Mistake("end-added", "ids with <PAD> at the end, which nobody asked for", {"start": "end"}),
        Mistake("unknown-raises", "words that are not in the vocabulary raise an error in place of becoming <UNK>", {"unknown": "raises"}),
        Mistake("unknown-dropped", "words that are not in the vocabulary are left out in place of becoming <UNK>", {"unknown": "dropped"}),
        Mistake("unknown-is-pad", "words that are not in the vocabulary become <PAD> in place of <UNK>", {"unknown": "pad"}),
        Mistake("unknown-is-start", "words that are not in the vocabulary become <START> in place of <UNK>", {"unknown": "start"}),
        Mistake("unknown-gets-a-new-id", "words that are not in the vocabulary get ids of their own, which no model has seen", {"unknown": "new"}),
        Mistake("specials-dropped", "a decode that leaves the special tokens out", {"show": "no specials"}),
        Mistake("start-dropped-in-decode", "a decode that leaves <START> out", {"show": "no start"}),
        Mistake("pad-dropped-in-decode", "a decode that leaves <PAD> out", {"show": "no pad"}),
        Mistake("start-and-pad-dropped-in-decode", "a decode that leaves <START> and <PAD> out", {"show": "no start, no pad"}),
        Mistake("first-dropped-in-decode", "a decode that leaves the first token out, whatever it is", {"show": "first left out"}),
        Mistake("joined-without-spaces", "a decode without spaces between tokens", {"show": "joined"}),
        Mistake("space-at-the-end", "a decode with a space at the end", {"show": "space behind"}),
        Mistake("decode-gives-list", "a decode that gives a list of tokens, not a text", {"show": "list"}),
        Mistake("padded-left", "a batch that is filled up in front", {"side": "front"}),
        Mistake("batch-time-first", "a batch (T, B) in place of (B, T)", {"side": "time first"}),
        Mistake("padded-with-zero", "a batch that is filled up with 0, which is <START>", {"fill": "zero"}),
        Mistake("padded-with-minus-one", "a batch that is filled up with −1", {"fill": "minus one"}),
        Mistake("padded-with-minus-hundred", "a batch that is filled up with −100", {"fill": "minus hundred"}),
        Mistake("padded-with-unk", "a batch that is filled up with 2, which is <UNK>", {"fill": "two"}),
        Mistake("padded-to-shortest", "a batch that is cut to the shortest example", {"length": "shortest"}),
        Mistake("padded-one-more", "a batch that is one longer than the longest example", {"length": "one more"}),
    ),
)  # fmt: skip
