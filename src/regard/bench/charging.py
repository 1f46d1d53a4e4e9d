"""What a model by words leaves unsaid of a text, in bits: how unknown words are spelled, and white space.

So models by words and by characters are compared on the same characters. Both are learnt from the training
part alone and charged alike to every model by words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from math import log2

from regard.bench.ngrams import KneserNey

QUOTES = {"``": ('"', "``"), "''": ('"', "''")}  # as NLTK's rules write them
ENDED = 1  # of a spelled word
CODE_POINT = 21  # bits of a character that was never seen
LONGEST = 6  # characters that spelling looks at


def gaps(text: str, tokens: Sequence[str]) -> list[str]:
    """The white space before each token of a text, which are all of it but what may follow the last.

    >>> gaps("A: yes.\\n\\tB?", ["A", ":", "yes", ".", "B", "?"])
    ['', '', ' ', '', '\\n\\t', '']
    """
    found, at = [], 0
    for token in tokens:
        begin = at
        while at < len(text) and text[at].isspace():
            at += 1
        written = next((way for way in QUOTES.get(token, (token,)) if text.startswith(way, at)), None)
        if written is None:
            raise ValueError(f"token {token!r} is not what follows in {text[at : at + 20]!r}")
        found.append(text[begin:at])
        at += len(written)
    if text[at:].strip():
        raise ValueError(f"no token stands for {text[at:].strip()[:20]!r}")
    return found


class Spelling:
    """What it takes to spell a word: characters and an end, after the words that occur once.

    >>> spelling = Spelling(["walked", "talked", "walker"])
    >>> spelling.bits("talker") < spelling.bits("zqxjkv") < float("inf")
    True
    """

    def __init__(self, words: Iterable[str]) -> None:
        words = list(words)
        characters = sorted({one for word in words for one in word})
        self.ids = {one: i + 3 for i, one in enumerate(characters)}
        rows = [self._row(word) for word in words]
        self.model = KneserNey(rows, vocab=len(characters) + 2, order=LONGEST)

    def _row(self, word: str) -> list[int]:
        return [0, *(self.ids.get(one, 2) for one in word), ENDED]  # 2 is a character never seen

    def bits(self, word: str) -> float:
        """The bits of one word."""
        strange = sum(one not in self.ids for one in word)
        return sum(self.model.bits(self._row(word))) + CODE_POINT * strange


class Spacing:
    """What it takes to say the white space between two words, by what it was between such words.

    From the words themselves to their shapes, each context by its counts and as many more of the next one as
    it had kinds (Witten and Bell).

    >>> spacing = Spacing([(["yes", ",", "no"], ["", "", " "])])
    >>> spacing.bits(["yes", ",", "maybe"], ["", "", " "]) < 2
    True
    """

    def __init__(self, texts: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
        self.counts: dict[Hashable, Counter[str]] = defaultdict(Counter)
        for tokens, between in texts:
            for context, gap in zip(_contexts(tokens), between, strict=True):
                for one in context:
                    self.counts[one][gap] += 1
        self.kinds = len({gap for found in self.counts.values() for gap in found}) + 1

    def bits(self, tokens: Sequence[str], between: Sequence[str]) -> float:
        """The bits of the white space before each of these tokens."""
        return sum(self._bits(one, gap) for one, gap in zip(_contexts(tokens), between, strict=True))

    def _bits(self, contexts: Sequence[Hashable], gap: str) -> float:
        chance, strange = 1 / self.kinds, True
        for one in reversed(contexts):
            found = self.counts.get(one)
            if found:
                strange = strange and gap not in found
                chance = (found[gap] + len(found) * chance) / (found.total() + len(found))
        return -log2(chance) + (CODE_POINT * (len(gap) + 1) if strange else 0)


def _contexts(tokens: Sequence[str]) -> list[tuple[Hashable, ...]]:
    """The contexts of the gap before each token, the closest first."""
    before = ["", *tokens[:-1]]
    return [
        ((left, right), (_shape(left), right, 0), (_shape(left), _shape(right), 0, 0), ())
        for left, right in zip(before, tokens, strict=True)
    ]


def _shape(token: str) -> str:
    """A sign as it is; of a word whether it is small, begins large, or is all large."""
    if not token.isalpha():
        return token if not any(map(str.isalpha, token)) else token[:1] + token[-1:]
    return "small" if token.islower() else "LARGE" if token.isupper() and len(token) > 1 else "Large"
