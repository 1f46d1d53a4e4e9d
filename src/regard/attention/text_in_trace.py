"""A pattern that is given as text inside a compiled function: the compiler need not follow the parser."""

from functools import lru_cache

import torch

from regard.pattern import Pattern, parse

_parse = lru_cache(maxsize=256)(parse)


class _Parsed:
    """Patterns that were given as text inside a compiled function, each under a name made from its text."""


PARSED = _Parsed()


@torch.compiler.assume_constant_result
def _name_of(text: str) -> str:
    name = f"pattern_{text.encode().hex()}"
    setattr(PARSED, name, _parse(text))
    return name


def parsed_in_trace(text: str) -> Pattern:
    """The pattern of a text, as a value that the compiler can hold."""
    pattern: Pattern = getattr(PARSED, _name_of(text))
    return pattern
