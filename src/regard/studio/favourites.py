"""Which model a room shows first."""

from __future__ import annotations

from collections.abc import Sequence

ZOO = "zoo:"


def favourite(names: Sequence[str], wanted: str) -> str:
    """The first run that was named when the studio started, else the wanted one of the zoo, else any.

    >>> favourite(["zoo:play-gpt", "zoo:dialogue"], "zoo:dialogue"), favourite(["mine", "zoo:a"], "zoo:a")
    ('zoo:dialogue', 'mine')
    """
    if not names[0].startswith(ZOO):
        return names[0]
    return wanted if wanted in names else names[0]
