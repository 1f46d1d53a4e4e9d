"""Words as people write them: the spaces that a tokenizer by words put between them taken away again.

What stands before a word is decided by the words up to it, so a text that grows word by word never changes
where it has been shown already.
"""

from collections.abc import Iterable

# Signs and endings that stand right behind the word before.
CLOSING = frozenset([*",.:;?!)]}%", "''", "...", "--", "n't", "'s", "'ll", "'d", "'re", "'ve", "'m"])
# Signs that stand right before the word after.
OPENING = frozenset(["(", "[", "{", "$", "#", "``", "--"])
# Words that NLTK's rules cut in two.
CUT = frozenset(
    [
        *(("can", "not"), ("gon", "na"), ("wan", "na"), ("got", "ta"), ("gim", "me"), ("lem", "me")),
        *(("'t", "is"), ("'t", "was")),
    ]
)
QUOTES = {"``": '"', "''": '"'}  # how they write the opening and the closing one
MARK = "'"  # alone it may open (' Tis) or close (the lords ')


def spaced(words: Iterable[str]) -> str:
    """The words as a text.

    >>> spaced("ROMEO : I 'll not , good sir -- 't is a ( small ) lie ; you can not , do n't !".split())
    "ROMEO: I'll not, good sir--'tis a (small) lie; you cannot, don't!"
    """
    out: list[str] = []
    before, opened = "", False
    for word in words:
        # After a word the mark is its end; at a beginning, or after a sign, it opens.
        opens = word == MARK and not before[-1:].isalnum()
        closes = word.lower() in CLOSING or (word == MARK and not opens)
        cut = (before.lower(), word.lower()) in CUT
        if before and not (closes or opened or cut or before in OPENING):
            out.append(" ")
        out.append(QUOTES.get(word, word))
        before, opened = word, opens
    return "".join(out)
