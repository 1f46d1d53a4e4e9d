"""A data set that a function of one's own gives, named `module:function`."""

import re
import sys
from importlib import import_module
from pathlib import Path

from regard.data.kinds import Corpus, Images, Reviews

FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def called(name: str) -> Images | Corpus | Reviews:
    """What the function gives, if it is a data set; modules beside the caller are found too.

    >>> called("os:getcwd")
    Traceback (most recent call last):
        ...
    ValueError: os:getcwd must give Images, a Corpus or Reviews, got str
    """
    module, _, function = name.partition(":")
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), function, None)
    except ImportError as error:
        raise ValueError(f"{name} cannot be loaded: {error}") from error
    finally:
        if added:
            sys.path.remove(here)
    if not callable(found):
        raise ValueError(f"{module} has no function {function!r}")
    out = found()
    if not isinstance(out, Images | Corpus | Reviews):
        raise ValueError(f"{name} must give Images, a Corpus or Reviews, got {type(out).__name__}")
    return out
