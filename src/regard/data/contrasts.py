"""Contrasts: sentences whose sentiment is decided by grammar, made by rule from words of labelled phrases.

A rule holds a judging word and keeps its sentiment ("never less than gripping") or turns it round ("anything
but gripping"); a second word of the contrary sentiment may stand beside it and does not decide ("for all its
padding, it moved me"). The same rule is filled with words of both sentiments, so that no judging word tells
the answer. Rules and words are in `embedded/contrasts.tsv`; adjectives and noun phrases come also from the
labelled phrases that are given, among which there must be none that is held out. All this was written
without the pairs in `embedded/pairs.tsv`, which measure what was learned.

The slots: {a} an adjective, {N} a noun phrase, {n} what a film has, {v} what it did, {V} what it did not do,
{f} how one felt, {b} and {B} how it compares (more so, most so), {g} what it does beside another, all of one
sentiment, and with an r before them of the contrary one, with an x of either; {t} a part of a film, {T}
another, {u} a bit of it, {k} a kind of film, {o} another film or book, {w} who says so; {l} and {h} what is
lovely and what is horrible, which films may be about.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import TypeVar

from regard.errors import check_int

SHARES = (0.42, 0.38)  # of the rules that keep and those that turn; the others hold one sentence of each
APART, OF = 4, 9  # of nine rules the fifth makes probes alone
BORROWED = 0.5  # how often a word comes from the phrases, one at most in a sentence
PLAIN = re.compile(r"[a-z]+(-[a-z]+)*|,")
TURNERS = {"not", "no", "n't", "never", "without", "but", "than", "yet", "nothing", "if", "little", "only"}
OPEN = re.compile(r"and|or|of|to|the|an?|as|at|in|on|for|with|that|so|is|by|,")  # no phrase ends with these
SHORT = {
    "is not": "isn't", "was not": "wasn't", "does not": "doesn't", "did not": "didn't", "do not": "don't",
    "has not": "hasn't", "will not": "won't", "would not": "wouldn't", "it is": "it's", "there is": "there's",
    "I would": "I'd", "it would": "it'd", "they are": "they're",
}  # fmt: skip
LONG = re.compile(rf"\b(?<!of )(?<!in )(?<!about )(?<!ing )(?<!for )({'|'.join(SHORT)})(?= \w)")
SHORTENED = 0.3  # how often a sentence is
SLOT = re.compile(r"\{([rx]?)(\w)\}")
Rule = TypeVar("Rule")
Word = tuple[str, int | None]  # with the number of the phrase that it is from


@dataclass(frozen=True)
class Contrast:
    """A sentence, its sentiment (0 negative, 1 positive) and of which phrase a word is."""

    text: str
    label: int
    source: int | None


@dataclass(frozen=True)
class Grammar:
    """The rules by what they do, and the words of each slot: negative, positive, or of neither kind."""

    keep: list[str]
    turn: list[str]
    each: list[tuple[str, str]]
    words: dict[str, tuple[list[str], list[str]]]


@cache
def grammar() -> Grammar:
    """Read the rules and words from their file."""
    text = files("regard.data.embedded").joinpath("contrasts.tsv").read_text(encoding="utf-8")
    out = Grammar([], [], [], {})
    for sort, positive, negative in (line.split("\t") for line in text.splitlines()[1:]):
        if sort in ("keep", "turn"):
            (out.keep if sort == "keep" else out.turn).append(positive)
        elif sort == "each":
            out.each.append((negative, positive))
        else:
            out.words[sort] = ([one for one in negative.split("; ") if one], positive.split("; "))
    return out


def contrasts(
    count: int, phrases: Sequence[tuple[str, int]] = (), *, seed: int = 0, probes: bool = False
) -> list[Contrast]:
    """So many different sentences; `phrases` are texts and labels, from some of which words are taken.

    `probes` are made by rules of their own, by which nothing else is made.

    >>> for one in contrasts(3, seed=4):
    ...     print(one.label, one.text)
    0 Believe me, the funniest man in the world is its hero, and the film is weak
    0 It makes the last one look fascinating.
    1 Not tedious at all but refreshing.
    """
    check_int("count", count, least=0)
    luck, borrowed = Random(seed), _borrowed(phrases)
    found: dict[str, Contrast] = {}
    for _ in range(50 * count):
        if len(found) == count:
            break
        one = _one(luck, borrowed, probes)
        found.setdefault(one.text.casefold(), one)
    if len(found) < count:
        raise ValueError(f"count must leave room for different sentences, got {count=}")
    return list(found.values())


def _one(luck: Random, borrowed: dict[str, tuple[list[Word], list[Word]]], probes: bool) -> Contrast:
    known = grammar()
    label, sort = luck.randrange(2), luck.random()
    side = label  # the sentiment of the words
    if sort < SHARES[0]:
        rule = _drawn(known.keep, luck, probes)
    elif sort < sum(SHARES):
        rule, side = _drawn(known.turn, luck, probes), 1 - label
    else:
        rule = _drawn(known.each, luck, probes)[label]
    parts = luck.sample(known.words["t"][1], 2)
    source: int | None = None

    def filled(found: re.Match[str]) -> str:
        nonlocal source
        slot, wanted = found[2], 1 - side if found[1] == "r" else side
        if found[1] == "x":
            wanted = luck.randrange(2)
        if slot in "tT":
            return parts[slot == "T"]
        there = borrowed[slot][wanted] if slot in borrowed and source is None else []
        if there and luck.random() < BORROWED:
            word, source = luck.choice(there)
            return word
        negative, positive = known.words[slot]
        return luck.choice(positive if wanted or not negative else negative)

    text = re.sub(r"(comed|documentar)ys\b", r"\1ies", SLOT.sub(filled, rule))
    text = re.sub(r"\b([Aa]) (?=[aeio]|u(?!ni|s))", r"\1n ", text)
    if luck.random() < SHORTENED:
        text = LONG.sub(lambda found: SHORT[found[1]], text)
    if luck.random() < 0.15:
        text = f"{luck.choice(known.words['opening'][1])} {text}"
    if luck.random() < 0.85:
        text = text[0].upper() + text[1:]
    mark = luck.choice(("", ".", ".", ".", "!", " ."))
    return Contrast(text if text.endswith("?") else text + mark, label, source)


def _drawn(rules: Sequence[Rule], luck: Random, probes: bool) -> Rule:
    return luck.choice([rule for i, rule in enumerate(rules) if (i % OF == APART) == probes])


def _borrowed(phrases: Sequence[tuple[str, int]]) -> dict[str, tuple[list[Word], list[Word]]]:
    """Adjectives and noun phrases, negative and positive, of phrases such as "is sly and tender".

    >>> _borrowed([("is sly , odd , tender ", 1), ("a dull film", 0), ("is not bad", 1)])
    {'a': ([], [('sly, odd, tender', 0)]), 'N': ([('a dull film', 1)], [])}
    """
    out: dict[str, tuple[list[Word], list[Word]]] = {"a": ([], []), "N": ([], [])}
    films = set(grammar().words["end"][1])
    for number, (phrase, label) in enumerate(phrases):
        words = phrase.split()
        if TURNERS & set(words) or not all(PLAIN.fullmatch(word) for word in words):
            continue
        if 3 <= len(words) <= 8 and words[0] in ("a", "an") and words[-1] in films:
            out["N"][label].append((" ".join(words).replace(" ,", ","), number))
        elif 2 <= len(words) <= 6 and words[0] in ("is", "was") and not OPEN.fullmatch(words[-1]):
            out["a"][label].append((" ".join(words[1:]).replace(" ,", ","), number))
    return out
