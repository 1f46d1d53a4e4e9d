"""Parquet files and folders that Hugging Face's `datasets` saved, read batch by batch through pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from regard.data.own.splits import part_named
from regard.errors import need
from regard.values import Json

Record = dict[str, object]
BATCH = 4096  # rows in memory at a time


def parquet_records(path: Path) -> tuple[list[str], Iterator[tuple[int, Record]]]:
    """The columns and the numbered rows of a parquet file."""
    library, errors = need("pyarrow.parquet", "tables"), need("pyarrow", "tables").ArrowException
    try:
        file = library.ParquetFile(path)
    except (errors, OSError) as error:
        raise ValueError(f"{path} is no whole parquet file: {_first(error)}") from error

    def records() -> Iterator[tuple[int, Record]]:
        line = 0
        try:
            for batch in file.iter_batches(BATCH):
                for record in batch.to_pylist():
                    line += 1
                    yield line, record
        except (errors, OSError) as error:
            raise ValueError(f"{path} is damaged after row {line:,}: {_first(error)}") from error

    return list(file.schema_arrow.names), records()


def saved_parts(root: Path) -> list[tuple[Path, str | None]]:
    """The folders of a saved data set: itself, or one for each part."""
    if not (root / "dataset_dict.json").exists():
        return [(root, None)]
    names = _json(root / "dataset_dict.json").get("splits")
    if not isinstance(names, list) or not names:
        raise ValueError(f"{root / 'dataset_dict.json'} names no splits")
    named = [(root / str(name), part_named(str(name))) for name in names]
    return [(path, part) for path, part in named if part is not None] or [(path, None) for path, _ in named]


def saved_records(folder: Path) -> tuple[list[str], Iterator[tuple[int, Record]]]:
    """The columns and the numbered rows of one saved data set, labels by their names."""
    library, errors = need("pyarrow", "tables"), need("pyarrow", "tables").ArrowException
    listed = _json(folder / "state.json").get("_data_files", [])
    files = [folder / str(one["filename"]) for one in listed]
    if not files:
        raise ValueError(f"{folder / 'state.json'} names no data files")
    features = _json(folder / "dataset_info.json").get("features") or {}
    named = {name: one["names"] for name, one in features.items() if isinstance(one, dict) and "names" in one}

    def records() -> Iterator[tuple[int, Record]]:
        line = 0
        for path in files:
            try:
                with library.memory_map(str(path)) as source:
                    for batch in library.ipc.open_stream(source):
                        for record in batch.to_pylist():
                            line += 1
                            for name, words in named.items():
                                at = record.get(name)
                                if isinstance(at, int) and 0 <= at < len(words):
                                    record[name] = words[at]
                            yield line, record
            except (errors, OSError) as error:
                raise ValueError(f"{path} cannot be read after row {line:,}: {_first(error)}") from error

    return list(features), records()


def _json(path: Path) -> Json:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} cannot be read: it is no object")
    return found


def _first(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
