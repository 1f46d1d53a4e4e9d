"""Words for visitors: what is wrong, without a folder of this machine in it."""

from __future__ import annotations

import re

FOLDERS = re.compile(r"(?<![\w.:/])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'\",:;]+[/\\])+(?=[^\s/\\])")


def without_folders(text: str) -> str:
    """The text with the last names of paths in place of whole ones.

    >>> without_folders("data='/home/me/sets/play.txt'")
    "data='play.txt'"
    """
    return FOLDERS.sub("", text)


def told(error: Exception) -> str:
    """What is wrong in one line, with no folder of this machine in it.

    >>> told(ValueError("/home/me/runs/a.png is damaged\\nmore"))
    'a.png is damaged'
    """
    text = str(error).strip()
    return without_folders(text.splitlines()[0] if text else type(error).__name__)
