"""A data set that a function of one's own gives, named `module:function`."""

import re
from collections.abc import Mapping

from regard.data.kinds import Corpus, Images, Reviews
from regard.importing import guarded, imported

FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def called(name: str) -> Images | Corpus | Reviews:
    """What the function gives, if it is a data set.

    >>> called("os:getcwd")
    Traceback (most recent call last):
        ...
    ValueError: os:getcwd must give Images, a Corpus or Reviews, got str
    """
    found = imported(name)
    if not callable(found):
        raise ValueError(f"{name} must be a function that gives a data set, got {type(found).__name__}")
    out = guarded(name, found)
    if not isinstance(out, Images | Corpus | Reviews):
        raise ValueError(f"{name} must give Images, a Corpus or Reviews, got {type(out).__name__}")
    return out


def functions_in(data: object) -> set[str]:
    """The functions that plain data names as a data set: code that is run to read it.

    >>> functions_in({"task": {"data": "my_data:cats", "model": "other:thing"}, "before": {"data": "digits"}})
    {'my_data:cats'}
    """
    if isinstance(data, list | tuple):
        return {name for one in data for name in functions_in(one)}
    if not isinstance(data, Mapping):
        return set()
    found = {name for one in data.values() for name in functions_in(one)}
    named = data.get("data")
    return found | {named} if isinstance(named, str) and FUNCTION.fullmatch(named) else found
