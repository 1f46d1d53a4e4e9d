"""Small edits that turn a verdict: words left out, put in or exchanged, each tried on the model itself."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data import BytePairTokenizer, Tokenizer, WordTokenizer
from regard.probe.attribution import embedding_of
from regard.probe.inputs import spans_of
from regard.train.runs.texts import TextRun

WIDTH = 8  # texts that are edited further
SWAPS = 3  # words of the gradient for each word
NEGATION = "not"
AT_ONCE = 32  # texts in one call
COMMON = 6_000  # words to choose from
SPACE = "Ġ"  # how a byte-pair vocabulary writes the space before a word
ENOUGH = 8  # variants of two edits and more
PAIRS = (
    "good bad, great terrible, wonderful awful, best worst, better worse, love hate, loved hated, "
    "funny dull, warm cold, beautiful ugly, brilliant stupid, interesting boring, well badly, always never, "
    "more less, most least, with without, everything nothing, little much, strong weak, fresh stale, "
    "success failure, excellent poor, perfect flawed, exciting tedious, enjoyed endured, happy sad, "
    "clever silly, lively lifeless, tender cruel"
)
OPPOSITES = {a: b for pair in PAIRS.split(", ") for a, b in (pair.split(), pair.split()[::-1])}
KINDS = ("left out", "opposite", "put in", "exchanged")  # in the order in which they are tried
ARTICLE = re.compile(r"\b([Aa]n?)( +)$")
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True)
class Edit:
    """A change at a word of the text: one "left out" has no `new`, one "put in" stands before it."""

    at: int
    kind: str
    old: str
    new: str


@dataclass(frozen=True)
class Variant:
    """A text with some edits, and how likely each class is."""

    edits: tuple[Edit, ...]
    text: str
    chances: tuple[float, ...]


def words_of(text: str) -> list[tuple[int, int]]:
    """Where the words of a text stand: letters and apostrophes.

    >>> words_of("Don't go – now!")
    [(0, 5), (6, 8), (11, 14)]
    """
    return [found.span() for found in WORD.finditer(text)]


def applied(text: str, spans: Sequence[tuple[int, int]], edits: Sequence[Edit]) -> str:
    """The text with these edits, without the space that a word leaves behind.

    >>> applied("A dull film.", words_of("A dull film."), [Edit(1, "left out", "dull", "")])
    'A film.'
    >>> applied("It is fun.", words_of("It is fun."), [Edit(2, "put in", "", "not")])
    'It is not fun.'
    >>> applied("It is a fun film.", words_of("It is a fun film."), [Edit(3, "opposite", "fun", "awful")])
    'It is an awful film.'
    """
    out, end, edited = [], len(text), {spans[edit.at] for edit in edits}
    for edit in sorted(edits, key=lambda one: one.at, reverse=True):
        start, stop = spans[edit.at]
        rest = text[start:end] if edit.kind == "put in" else text[stop:end]
        made = f"{edit.new} {rest}" if edit.kind == "put in" else edit.new + rest
        if not edit.new:  # nor one of the spaces beside it
            made = rest.lstrip(" ") if not start or text[start - 1] == " " else rest
            start -= text[start - 1 : start] == " " and made[:1] in ".,;:!?…)"
        article = ARTICLE.search(text, 0, start)
        if article and article.span(1) not in edited and made[:1].isalpha():
            made = f"{article[1][0]}{'n' if made[0].lower() in 'aeio' else ''}{article[2]}{made}"
            start = article.start()
        out.append(made)
        end = start
    return "".join([text[:end], *reversed(out)])


def chances(run: TextRun, texts: Sequence[str]) -> Tensor:
    """Probabilities (N,classes) as `predict_text` gives them, the texts that one window holds at once."""
    fits = [len(run.reader.encode(text)) <= run.room for text in texts]
    out = torch.zeros(len(texts), len(run.classes))
    at = [i for i, fine in enumerate(fits) if fine]
    for part in (at[i : i + AT_ONCE] for i in range(0, len(at), AT_ONCE)):
        out[part] = run.logits([texts[i] for i in part]).softmax(1)
    for i in (i for i, fine in enumerate(fits) if not fine):
        out[i] = torch.tensor([run.predict_text(texts[i]).probabilities[name] for name in run.classes])
    return out


@dataclass(frozen=True)
class Depth:
    """How far the search has come: so many edits, variants tried in all, and whether none was left out."""

    edits: int
    tried: int
    whole: bool


def search(run: TextRun, text: str, seconds: float, most: int = 3) -> Iterator[Variant | Depth]:
    """Variants with another verdict, those of one edit first; after each number of edits its `Depth`.

    One edit leaves a word out, exchanges it for its opposite, puts “not” before it, or exchanges it for a
    word that by the gradient would move the verdict most. All of one edit are tried, then the nearest of
    them are edited further, up to `most` edits; it ends with the number of edits that turns the verdict, or
    in time.
    """
    end, spans = time.monotonic() + seconds, words_of(text)
    before = chances(run, [text])[0]
    label = int(before.argmax())
    single = _single([text[a:b] for a, b in spans], _swaps(run, text, spans, label))
    known, near = {text}, [Variant((), text, tuple(before.tolist()))]
    tried = flips = 0
    for depth in range(1, most + 1):
        fresh = _fresh(text, spans, near, single, known)
        level: list[Variant] = []
        for part in (fresh[i : i + AT_ONCE] for i in range(0, len(fresh), AT_ONCE)):
            if time.monotonic() > end or (depth > 1 and flips >= ENOUGH):
                break
            for (made, edits), row in zip(part, chances(run, [one for one, _ in part]), strict=True):
                level.append(Variant(edits, made, tuple(row.tolist())))
                if int(row.argmax()) != label:
                    flips += 1
                    yield level[-1]
        tried += len(level)
        whole = len(level) == len(fresh)
        yield Depth(depth, tried, whole)
        if flips or not whole or not level:
            return
        near = sorted(level, key=lambda one: one.chances[label])[:WIDTH]


def _fresh(
    text: str,
    spans: Sequence[tuple[int, int]],
    near: Sequence[Variant],
    single: Sequence[Edit],
    known: set[str],
) -> list[tuple[str, tuple[Edit, ...]]]:
    """Texts that one more edit makes of those, and that were not tried yet; they are known from now on."""
    out = []
    for edit in single:
        for base in near:
            if any(edit.at == one.at for one in base.edits):
                continue
            edits = tuple(sorted((*base.edits, edit), key=lambda one: one.at))
            made = applied(text, spans, edits)
            if made not in known and WORD.search(made):
                known.add(made)
                out.append((made, edits))
    return out


def _single(words: Sequence[str], swaps: Sequence[Sequence[str]]) -> list[Edit]:
    """All single edits, the plainest kinds first."""
    out = []
    for at, (word, others) in enumerate(zip(words, swaps, strict=True)):
        out.append(Edit(at, "left out", word, ""))
        if word.lower() != NEGATION:
            out.append(Edit(at, "put in", "", NEGATION))
        if other := OPPOSITES.get(word.lower()):
            out.append(Edit(at, "opposite", word, _cased(other, word)))
        out += [Edit(at, "exchanged", word, _cased(other, word)) for other in others if other != word.lower()]
    return sorted(out, key=lambda edit: KINDS.index(edit.kind))


def _cased(word: str, like: str) -> str:
    return word.capitalize() if like[:1].isupper() else word


def _swaps(run: TextRun, text: str, spans: Sequence[tuple[int, int]], label: int) -> list[list[str]]:
    """For each word the words whose vectors lie furthest along the gradient away from the verdict."""
    none: list[list[str]] = [[] for _ in spans]
    ids = run.reader.encode(text)
    places = spans_of(text, run.reader)
    if not ids or places is None or len(ids) > run.room:
        return none
    front = [] if run.reader.start is None else [run.reader.start]
    slope = _slope(run, torch.tensor([[*front, *ids]]), label)[len(front) :]
    table, names = embedding_of(run.model).weight.detach(), _whole_words(run.reader)
    if not names:
        return none
    numbers = torch.tensor(list(names))
    vectors = table[numbers]
    for i, (start, stop) in enumerate(spans):
        own = [j for j, (a, b) in enumerate(places) if a < stop and b > start]
        if len(own) == 1:  # a word in several tokens has no one vector to exchange
            gain = -(vectors - table[ids[own[0]]]) @ slope[own[0]]
            none[i] = [names[int(numbers[j])] for j in gain.topk(min(SWAPS, len(gain))).indices]
    return none


def _slope(run: TextRun, tokens: Tensor, label: int) -> Tensor:
    """The gradient (N,C) of a label's lead over the best other, with respect to the vectors of tokens."""
    embed, kept = embedding_of(run.model), []

    def keep(_: object, __: object, out: Tensor) -> Tensor:
        kept.append(out.detach().requires_grad_())
        return kept[0]

    handle = embed.register_forward_hook(keep)
    try:
        with torch.enable_grad():
            logits = run.model(tokens)[0]
            others = torch.cat([logits[:label], logits[label + 1 :]])
            (found,) = torch.autograd.grad(logits[label] - others.max(), kept[0])
    finally:
        handle.remove()
    return found[0].float()


def _whole_words(reader: Tokenizer) -> dict[int, str]:
    """The tokens that are words of letters by themselves, the more frequent where numbers tell so."""
    if isinstance(reader, WordTokenizer):
        found = dict(enumerate(reader.words))
    elif isinstance(reader, BytePairTokenizer):
        found = {i: word for word, i in reader.library.get_vocab().items()}
        if any(word.startswith(SPACE) for word in found.values()):
            found = {i: word[1:] for i, word in found.items() if word.startswith(SPACE)}
    else:
        return {}
    words = {i: found[i] for i in sorted(found) if len(found[i]) > 2 and found[i].isalpha()}
    return dict(
        list({i: word for i, word in words.items() if word.islower() and word.isascii()}.items())[:COMMON]
    )
