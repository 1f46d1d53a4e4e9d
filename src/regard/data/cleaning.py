"""Texts as people read them: reviews on the web come with HTML, which says nothing of what they mean."""

import html
import re

BREAK = re.compile(r"<br\s*/?>|</p>", re.IGNORECASE)
TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->")
SPACES, LINES = re.compile(r"[^\S\n]+"), re.compile(r"\s*\n\s*")


def without_markup(text: str) -> str:
    """A text without HTML: line breaks kept, tags dropped, entities spelt out, spaces single.

    >>> without_markup("Great!<br /><br />5 < 6 &amp; <i>fun</i>  😀")
    'Great!\\n5 < 6 & fun 😀'
    """
    if "<" in text:
        text = TAG.sub("", BREAK.sub("\n", text))
    if "&" in text:
        text = html.unescape(text)
    if not text.isprintable():
        # Emoji are joined by U+200D, which counts as unprintable.
        text = "".join(one for one in text if one == "\u200d" or one.isspace() or one.isprintable())
    return LINES.sub("\n", SPACES.sub(" ", text)).strip()
