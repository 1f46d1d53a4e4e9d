"""Verdicts: a small review language in which composition, and no single word, decides the label.

A verdict has a meaning, +1 or −1. It is drawn first; the words are then drawn so that they compose to it:

- A *frame* holds one judging word and keeps its polarity or turns it round. "The plot is dull" keeps, "there
  is not one dull minute in the plot" turns; so do "far from", "anything but", "hardly a" and "could not be
  less", whereas "nothing but", "nothing if not", "could not be more" and the double negations ("there is not
  one line in it that is not dull", "nobody could call it anything but dull") keep.
- A *head* before a frame does the same once more: "it is true that" keeps, "it is wrong to say that" turns.
- *Contrast*: of two clauses joined by "but", "although" or "even if", the main clause decides, and the other
  says the opposite. Joined by "and" or "what is more", both say the same.
- *Scope*: "nobody who loves a warm drama could call the plot dull" is about dull; warm does not count.
- *Promise*: "they promised a clever script and broke their word" turns, "and kept their word" keeps.
- *Distractors*, such as "after a tedious western", hold a word that does not count at all.

Whether a head keeps or turns is a fair coin. A frame keeps more often than it turns (`LEAN`), for where words
told nothing at all a model would be long in finding out that they mean anything; contrast, heads, scope and
distractors leave so little of this that no word, taken alone, is right six times in ten.

>>> for text, label in sentences(4, seed=4):
...     print(label, text)
1 Even those who came for a bad thriller must call the cast very lively.
1 It is true that hardly a minute of the story is stale.
0 The trailer is a bore, although the ending could not be more graceful.
1 One warm minute after another in the whole ending.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from regard.errors import check_int

LEAN = 0.7  # how often a frame keeps the polarity of its word

GOOD = ("good", "clever", "warm", "funny", "tender", "fresh", "lively", "graceful")
BAD = ("bad", "dull", "cold", "clumsy", "tedious", "false", "stale", "silly")
JOYS = ("joy", "treat", "triumph", "wonder")
BORES = ("bore", "mess", "chore", "failure")
PARTS = (
    *("plot", "script", "ending", "score", "story", "cast"),
    *("opening", "sequel", "finale", "trailer", "romance", "soundtrack"),
)
BITS = ("minute", "scene", "line", "moment")
KINDS = ("comedy", "thriller", "drama", "western")
PEOPLE = ("my sister", "my neighbour", "the critic", "our teacher")
DEGREES = ("very", "truly", "really")

# {A} a decisive adjective with perhaps a degree, {a} one without, {W} a decisive noun, {D} an adjective that
# does not count, {N} the part of the film that is judged, {T} a bit of it, {K} a kind of film, {P} a person.
KEEP = (
    "the {N} is {A}",
    "every {T} of the {N} is {A}",
    "the {N} is nothing but {A}",
    "the {N} is nothing if not {A}",
    "the {N} could not be more {a}",
    "there is not one {T} in the {N} that is not {A}",
    "nobody could call the {N} anything but {A}",
    "the {N} is a {W}",
)
TURN = (
    "the {N} is not {A}",
    "hardly a {T} of the {N} is {A}",
    "the {N} is anything but {A}",
    "the {N} is far from {A}",
    "the {N} could not be less {a}",
    "there is not one {A} {T} in the {N}",
    "nobody could call the {N} {A}",
    "the {N} is no {W}",
)
HEADS = {1: "it is true that {C}", -1: "it is wrong to say that {C}"}
SCRAPS_KEEP = (
    "a {A} {N} from start to finish",
    "one {A} {T} after another in the whole {N}",
    "nothing if not {A}, this {N}",
    "nothing but {A}, this {N}",
)
SCRAPS_TURN = (
    "not one {A} {T} in the whole {N}",
    "hardly a {A} {T} in the whole {N}",
    "far from {A}, this {N}",
    "anything but {A}, this {N}",
)
SCOPES_KEEP = (
    "anyone who loves a {D} {K} will call the {N} {A}",
    "even those who came for a {D} {K} must call the {N} {A}",
    "nobody who loves a {D} {K} could call the {N} anything but {A}",
)
SCOPES_TURN = (
    "nobody who loves a {D} {K} could call the {N} {A}",
    "not even those who came for a {D} {K} could call the {N} {A}",
    "only a man who has never seen a {D} {K} would call the {N} {A}",
)
PROMISES_KEEP = (
    "they promised a {A} {N} and kept their word",
    "I expected the {N} to be {A}, and I was right",
    "{P} calls the {N} {A} and is never wrong",
)
PROMISES_TURN = (
    "they promised a {A} {N} and broke their word",
    "I expected the {N} to be {A}, and I was wrong",
    "{P} calls the {N} {A} and is never right",
)
CONTRASTS = (
    "{other}, but {main}",
    "although {other}, {main}",
    "{main}, although {other}",
    "{main}, even if {other}",
)
CHORUSES = ("{other}, and {main}", "{other}; what is more, {main}")
DISTRACTORS = ("after a {D} {K}, {C}", "the last one was {D}; {C}", "{P} wanted something {D}; {C}")

# What verdicts are made of, and how often.
SHARES = {"claim": 40, "scrap": 16, "scope": 9, "promise": 11, "contrast": 13, "chorus": 4, "distractor": 7}
WHOLE = {
    "scrap": (SCRAPS_KEEP, SCRAPS_TURN),
    "scope": (SCOPES_KEEP, SCOPES_TURN),
    "promise": (PROMISES_KEEP, PROMISES_TURN),
}
JOINED = {"contrast": CONTRASTS, "chorus": CHORUSES}
BAG = tuple(kind for kind, share in SHARES.items() for _ in range(share))

Item = TypeVar("Item")


def sentences(count: int, seed: int) -> list[tuple[str, int]]:
    """Return `count` different verdicts with their labels, 1 for good and 0 for bad.

    They come in random order, so that any part of one list may serve to test what another has taught.

    >>> texts = [text for text, label in sentences(1000, seed=0)]
    >>> len(set(texts)), texts == [text for text, label in sentences(1000, seed=0)]
    (1000, True)
    """
    # At most far below the number of sentences, so that new ones stay easy to find.
    check_int("count", count, 0, 500_000)
    check_int("seed", seed, 0)
    rng = Random(seed)
    found: dict[str, int] = {}
    while len(found) < count:
        meaning = _sign(rng)
        text = _sentence(rng, meaning)
        found.setdefault(text[0].upper() + text[1:] + ".", int(meaning > 0))
    drawn = list(found.items())
    # Short verdicts run out sooner than long ones, so the last ones found are longer than the first.
    for last in range(len(drawn) - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        drawn[last], drawn[other] = drawn[other], drawn[last]
    return drawn


def _sentence(rng: Random, meaning: int) -> str:
    """A verdict with this meaning, without capital and full stop."""
    kind = _pick(rng, BAG)
    first, second = _pick(rng, PARTS), _pick(rng, PARTS)
    while second == first:
        second = _pick(rng, PARTS)
    if kind in WHOLE:
        return _frame(rng, meaning, *WHOLE[kind], first)
    main = _claim(rng, meaning, first)
    if kind in JOINED:
        other = _claim(rng, -meaning if kind == "contrast" else meaning, second)
        return _pick(rng, JOINED[kind]).format(main=main, other=other)
    if kind == "distractor":
        words = {"D": _pick(rng, GOOD + BAD), "K": _pick(rng, KINDS), "P": _pick(rng, PEOPLE)}
        return _pick(rng, DISTRACTORS).format(C=main, **words)
    return main


def _claim(rng: Random, meaning: int, part: str) -> str:
    """A clause with this meaning about a part of the film: a frame, one time in eight under a head."""
    if rng.random() >= 0.125:
        return _frame(rng, meaning, KEEP, TURN, part)
    turn = _sign(rng)
    clause = _frame(rng, meaning * turn, KEEP, TURN, part)
    return HEADS[turn].format(C=clause)


def _frame(rng: Random, meaning: int, keep: Sequence[str], turn: Sequence[str], part: str) -> str:
    """A filled frame with this meaning: the polarity of the word is drawn, and the frame makes up for it."""
    polarity = meaning if rng.random() < LEAN else -meaning
    bare = _pick(rng, GOOD if polarity > 0 else BAD)
    degree = _pick(rng, DEGREES) + " " if rng.random() < 0.2 else ""
    return _pick(rng, keep if polarity == meaning else turn).format(
        a=bare,
        A=degree + bare,
        W=_pick(rng, JOYS if polarity > 0 else BORES),
        D=_pick(rng, GOOD + BAD),
        N=part,
        T=_pick(rng, BITS),
        K=_pick(rng, KINDS),
        P=_pick(rng, PEOPLE),
    )


def _sign(rng: Random) -> int:
    return 1 if rng.random() < 0.5 else -1


def _pick(rng: Random, items: Sequence[Item]) -> Item:
    # Python promises the same random() for the same seed in every version, but not the same choice().
    return items[int(rng.random() * len(items))]
