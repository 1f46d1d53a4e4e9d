"""Commands as a run prints them: each works as it stands, in whatever shell it is pasted into."""

import re
from shlex import quote

# What double quotes keep as it is in every shell: no $, `, !, % or backslash.
PLAIN = re.compile(r"[\w .,;:?()/+=-]*")


def command(*words: str) -> str:
    """The command `regard` with these words.

    >>> print(command("generate", "my runs/a", "--prompt", "It was"))
    regard generate "my runs/a" --prompt "It was"
    """
    return " ".join(["regard", *map(_quoted, words)])


def is_plain(text: str) -> bool:
    """Whether a text can stand in a command as an argument that every shell and `regard` take for a text.

    >>> is_plain("Not bad."), is_plain("--oh"), is_plain("it's"), is_plain("notes.txt")
    (True, False, False, False)
    """
    return bool(text.strip()) and text[0] != "-" and text[-4:] != ".txt" and bool(PLAIN.fullmatch(text))


def _quoted(word: str) -> str:
    return f'"{word}"' if word != quote(word) and PLAIN.fullmatch(word) else quote(word)
