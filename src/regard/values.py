"""Frozen values as JSON, read back to equal ones: a pattern by its text, other parts by name and fields.

Configs, model files and recipes are all written so. What may stand in a file is a table of classes by name,
so that nothing in it is ever executed.
"""

import ast
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from regard.pattern import Pattern, parse

Json = dict[str, Any]  # an object as JSON holds it
Kinds = Mapping[str, type]
Value = TypeVar("Value")


def to_data(value: object, kinds: Kinds) -> object:
    """A value as what JSON can hold.

    >>> from regard.pattern import Causal, Strided
    >>> to_data((Strided(back=3), Causal()), {})
    [{'pattern': 'strided(3)'}, {'pattern': 'causal'}]
    """
    if isinstance(value, Pattern):
        return {"pattern": str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        if kinds.get(name) is not type(value):
            raise ValueError(f"{name} cannot be written down here; what can is {_listed(kinds)}")
        return {"part": name, **fields_of(value, kinds)}
    if isinstance(value, tuple | list):
        return [to_data(one, kinds) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"a value to be written down holds numbers, texts, patterns and parts, got {value!r}")


def fields_of(value: object, kinds: Kinds) -> Json:
    """The fields of a config or another part, each as plain data."""
    assert is_dataclass(value)
    return {field.name: to_data(getattr(value, field.name), kinds) for field in fields(value)}


def from_data(data: object, kinds: Kinds) -> object:
    """The inverse of `to_data`; lists become tuples.

    >>> from_data([{"pattern": "strided(3)"}, 8], {})
    (Strided(back=3), 8)
    """
    if isinstance(data, list):
        return tuple(from_data(one, kinds) for one in data)
    if not isinstance(data, dict):
        return data
    if set(data) == {"pattern"}:
        return parse(data["pattern"])
    kind = kinds.get(data.get("part", ""))
    if kind is None:
        raise ValueError(f"a part must be one of {_listed(kinds)}, got {data.get('part')!r}")
    return build(kind, {name: one for name, one in data.items() if name != "part"}, kinds)


def build(kind: type[Value], data: Mapping[str, object], kinds: Kinds) -> Value:
    """A dataclass from its fields as plain data, or a ValueError that names those at fault."""
    assert is_dataclass(kind)
    if strange := sorted(set(data) - {field.name for field in fields(kind)}):
        raise ValueError(f"{kind.__name__} has no field {', '.join(strange)}")
    try:
        return kind(**{name: from_data(one, kinds) for name, one in data.items()})
    except TypeError as error:
        raise ValueError(f"{kind.__name__} cannot be made from {data!r}: {error}") from error


def read_part(text: str, kinds: Kinds) -> object:
    """A part from its name and fields as Python writes them, brackets or not; a ValueError for anything else.

    >>> from regard.pattern import Strided
    >>> read_part("Strided(back=3)", {"Strided": Strided})
    Strided(back=3)
    """
    try:
        call = ast.parse(text if text.endswith(")") else f"{text}()", mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"a part is a name with fields, got {text!r}") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in kinds:
        raise ValueError(f"a part must be one of {_listed(kinds)}, got {text!r}")
    values = [ast.literal_eval(argument) for argument in call.args]
    named = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg is not None}
    return kinds[call.func.id](*values, **named)


def _listed(kinds: Kinds) -> str:
    return ", ".join(sorted(kinds))
