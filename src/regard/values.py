"""Frozen values as JSON, read back to equal ones: a pattern by its text, other parts by name and fields.

Configs, model files and recipes are all written so. What may stand in a file is a table of classes by name,
so that nothing in it is ever executed. Code from outside this package is named as `module:name`, and must be
in that table too: whoever reads the file decides whether it is imported, see `regard.trust`.
"""

import ast
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any, ClassVar, TypeVar

from regard.importing import name_of
from regard.pattern import Atom, Pattern, parse
from regard.pattern.text import outside_names

Json = dict[str, Any]  # an object as JSON holds it
Kinds = Mapping[str, object]
Value = TypeVar("Value")
UNSAID = "unsaid"


class Terse:
    """A value whose text leaves out fields declared by `unsaid` where they are as usual.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, repr=False)
    ... class Step(Terse):
    ...     size: int = 1
    ...     back: bool = unsaid(False)
    >>> Step(), Step(back=True)
    (Step(size=1), Step(size=1, back=True))
    """

    __dataclass_fields__: ClassVar[dict]

    def __repr__(self) -> str:
        found = [(one, getattr(self, one.name)) for one in fields(self)]
        said = [
            f"{one.name}={v!r}" for one, v in found if not (one.metadata.get(UNSAID) and v == one.default)
        ]
        return f"{type(self).__qualname__}({', '.join(said)})"


def unsaid(default: Value) -> Value:
    """A field of a `Terse` value that its text mentions only where it differs from this."""
    return field(default=default, metadata={UNSAID: True})


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
            if type(value).__module__.startswith("regard."):
                raise ValueError(f"{name} cannot be written down here; what can is {_listed(kinds)}")
            name = name_of(type(value))
        return {"part": name, **fields_of(value, kinds)}
    if isinstance(value, tuple | list):
        return [to_data(one, kinds) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return {"import": name_of(value)}
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
        return parse(data["pattern"], kinds)
    if set(data) == {"import"}:
        if not callable(found := kinds.get(data["import"])):
            raise ValueError(f"{data['import']!r} must be a function or a class that is known here")
        return found
    kind = kinds.get(data.get("part", ""))
    if not isinstance(kind, type) or not is_dataclass(kind):
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


def names_in(data: object) -> set[str]:
    """The code from outside this package that reading plain data takes, but for patterns already known.

    >>> sorted(names_in({"pattern": [{"pattern": "my:Near(3) & causal"}], "model": {"import": "my:small"}}))
    ['my:Near', 'my:small']
    """
    if isinstance(data, list):
        return set().union(*map(names_in, data))
    if not isinstance(data, dict):
        return set()
    found = set().union(*map(names_in, data.values()))
    if isinstance(text := data.get("pattern"), str):
        found |= {name for name in outside_names(text) if name not in Atom.registry}
    return found | {
        name for key in ("part", "import") if isinstance(name := data.get(key), str) and ":" in name
    }


def own_in(value: object) -> dict[str, object]:
    """The classes and functions from outside this package that a value holds, by name."""
    if isinstance(value, Pattern):
        kinds = (type(atom) for atom in value.atoms())
        return {name: kind for kind in kinds if (name := kind.outside()) is not None}
    if isinstance(value, tuple | list):
        return {name: one for part in value for name, one in own_in(part).items()}
    found: dict[str, object] = {}
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            found |= own_in(getattr(value, field.name))
        value = type(value)
    if callable(value) and not str(getattr(value, "__module__", "regard.")).startswith("regard."):
        found[name_of(value)] = value
    return found


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
    kind = kinds[call.func.id]
    assert callable(kind)
    return kind(*values, **named)


def _listed(kinds: Kinds) -> str:
    return ", ".join(sorted(name for name in kinds if ":" not in name))
