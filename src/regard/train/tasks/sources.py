"""What a task says of its data: by name, or where one's own lie and how they were cut."""

from collections.abc import Mapping
from dataclasses import asdict

from regard.data import Source
from regard.values import Json

Data = str | Source


def data_name(data: Data) -> str:
    """What people read: a set's name, or the path of one's own.

    >>> data_name("digits"), data_name(Source("photos"))
    ('digits', 'photos')
    """
    return data.path if isinstance(data, Source) else data


def described(data: Data, parts: Mapping[str, int]) -> Json:
    """The data in a run's description; of one's own also how they are read and how many each part has."""
    if not isinstance(data, Source):
        return {"data": data}
    return {"data": data.path, "source": asdict(data), "parts": dict(parts)}


def source_in(description: Json) -> Data:
    """The inverse: what `load` takes."""
    found = description.get("source")
    return str(description.get("data")) if found is None else Source(**found)
