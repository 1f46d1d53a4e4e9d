"""The rows of csv, tsv and jsonl files (parquet and arrow through pyarrow), each with its file and line."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import NamedTuple, TextIO

from regard.data.own.problems import DataProblem
from regard.data.own.splits import part_named
from regard.errors import did_you_mean

TEXT_NAMES = ("text", "review", "sentence", "content", "comment", "body", "document")
PATH_NAMES = ("path", "file", "filename", "filepath", "file_name", "image", "image_path")
LABEL_NAMES = ("label", "class", "category", "target", "sentiment", "stars", "rating")
SPLIT = "split"
LONGEST = 10_000_000  # characters of one field: more is a quote that was never closed
Record = dict[str, object]
SURROGATE = re.compile("[\ud800-\udfff]")  # what no UTF-8 holds; undecodable bytes are read as such


class Row(NamedTuple):
    """One example of a table: its text or path, its label, the part it names itself, its file and line."""

    text: str
    label: str
    part: str | None
    file: str
    line: int


class Columns(NamedTuple):
    """Which columns are read: of texts or paths, and of labels where there are some."""

    text: str
    label: str | None
    paths: bool


def read_table(
    path: Path, name: str, problems: list[DataProblem]
) -> tuple[list[str], Iterator[tuple[int, Record]]]:
    """The columns of a table, and its rows as they are read, with their lines; bad ones go to `problems`."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        from regard.data.own.arrow import parquet_records

        return parquet_records(path)
    check_text_file(path)
    if ending in (".jsonl", ".ndjson"):
        columns = _first_keys(path)
        return columns, _json_lines(path, name, problems)
    header, delimiter = _header(path)
    return header, _delimited(path, name, header, delimiter, problems)


def check_text_file(path: Path) -> None:
    """Raise for a file that is no UTF-8 from its very beginning, or is empty."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    if not head.removeprefix(b"\xef\xbb\xbf").strip():
        raise ValueError(f"{path} is empty")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{path} is in UTF-16: save it as UTF-8")
    if head.startswith((b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"\xd0\xcf\x11\xe0")):
        raise ValueError(
            f"{path} is an archive or a spreadsheet, no {path.suffix}: unpack it, or save it as csv"
        )


def fault_of_text(text: str) -> str | None:
    """What makes a text unusable: bytes that are no UTF-8, or zero bytes.

    >>> fault_of_text("fine"), fault_of_text("a\\0b")
    (None, 'holds zero bytes')
    """
    if not text.isascii() and SURROGATE.search(text):
        return "is not in UTF-8"
    return "holds zero bytes" if "\0" in text else None


def _header(path: Path) -> tuple[list[str], str]:
    with _text(path) as file:
        first = file.readline()
    if path.suffix.lower() == ".tsv":
        delimiter = "\t"
    else:
        counts = {one: first.count(one) for one in (",", ";", "\t", "|")}
        delimiter = max(counts, key=lambda one: counts[one])
    with _text(path) as file:
        try:
            header = next(_reader(file, delimiter))
        except (csv.Error, StopIteration) as error:
            raise ValueError(f"{path}, line 1: the header cannot be read: {error}") from error
    header = [name.strip() for name in header]
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise ValueError(f"{path}, line 1: the column {twice[0]!r} stands there twice")
    if "" in header:
        raise ValueError(f"{path}, line 1: column {header.index('') + 1} has no name")
    if bad := fault_of_text("".join(header)):
        raise ValueError(f"{path}, line 1: the header {bad}")
    return header, delimiter


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        yield file


def _reader(file: TextIO, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(min(sys.maxsize, LONGEST))
    if delimiter == "\t":  # such files are written without quoting
        return csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return csv.reader(file, delimiter=delimiter, strict=True)


def _delimited(
    path: Path, name: str, header: list[str], delimiter: str, problems: list[DataProblem]
) -> Iterator[tuple[int, Record]]:
    with _text(path) as file:
        rows, blank, start = _reader(file, delimiter), [], 1
        first = True
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return  # blank lines at the very end are none
            except csv.Error as error:
                problems.append(DataProblem(name, _quoted(str(error)), start))
                start = rows.line_num + 1  # type: ignore[attr-defined]
                continue
            line, start = start, rows.line_num + 1  # type: ignore[attr-defined]
            if first:
                first = False
            elif not any(cell.strip() for cell in row):
                blank.append(line)
            elif len(row) != len(header):
                got = f"has {len(row)} cells where the header has {len(header)}"
                problems.append(DataProblem(name, got, line))
            else:
                problems += [DataProblem(name, "the row is empty", one) for one in blank]
                blank = []
                yield line, dict(zip(header, row, strict=True))


def _quoted(error: str) -> str:
    if "unexpected end" in error:
        return "a quote is opened here and never closed"
    if "field larger" in error:
        return f"a cell has more than {LONGEST:,} characters: a quote may never be closed"
    return f"the row cannot be read: {error}"


def _json_lines(path: Path, name: str, problems: list[DataProblem]) -> Iterator[tuple[int, Record]]:
    blank: list[int] = []
    with path.open("rb") as file:
        for line, data in enumerate(file, start=1):
            if not data.strip():
                blank.append(line)
                continue
            problems += [DataProblem(name, "the row is empty", one) for one in blank]
            blank = []
            try:
                found = json.loads(data.decode("utf-8-sig" if line == 1 else "utf-8"))
            except UnicodeDecodeError:
                problems.append(DataProblem(name, "is not in UTF-8", line))
                continue
            except (ValueError, RecursionError) as error:
                problems.append(DataProblem(name, f"is no JSON: {error}", line))
                continue
            if isinstance(found, dict):
                yield line, found
            else:
                got = f"must be a JSON object with a text, got {type(found).__name__}"
                problems.append(DataProblem(name, got, line))


def _first_keys(path: Path) -> list[str]:
    ignored: list[DataProblem] = []
    for _, record in _json_lines(path, path.name, ignored):
        return list(record)
    raise ValueError(f"{path} holds no JSON object: {ignored[0] if ignored else 'it is empty'}")


def chosen_columns(
    path: Path, names: list[str], text: str | None, label: str | None, kind: str | None
) -> Columns:
    """The columns that were named, or that have the usual names; a ValueError that lists what there is."""
    listed = f"its columns are {', '.join(names)}"
    for what, name in (("text", text), ("label", label)):
        if name is not None and name not in names:
            hint = did_you_mean(name, names)
            raise ValueError(f"{path} has no column {name!r} for --{what}{hint or ';'} {listed}")
    lower = {name.lower(): name for name in reversed(names)}
    if label is None and kind != "corpus":
        label = next((lower[name] for name in LABEL_NAMES if name in lower and lower[name] != text), None)
    paths = kind == "images" or (
        kind is None and text is None and not any(name in lower for name in TEXT_NAMES)
    )
    if text is None:
        usual = PATH_NAMES if paths else TEXT_NAMES
        text = next((lower[name] for name in usual if name in lower and lower[name] != label), None)
    others = [name for name in names if name != label and name.lower() != SPLIT]
    if text is None and len(others) == 1 and kind != "images":
        text, paths = others[0], False
    if text is None:
        what = "paths of the images" if kind == "images" else "texts"
        raise ValueError(f"{path}: which column holds the {what}? Say --text (text=…); {listed}")
    if label is None and kind in ("images", "reviews"):
        raise ValueError(f"{path}: which column holds the labels? Say --label (label=…); {listed}")
    return Columns(text, label, (paths and text.lower() in PATH_NAMES) or kind == "images")


def rows_of(
    records: Iterator[tuple[int, Record]],
    columns: Columns,
    name: str,
    part: str | None,
    problems: list[DataProblem],
) -> Iterator[Row]:
    """The rows that have a text and, where labels are read, a label."""
    for line, record in records:
        text, label = record.get(columns.text), record.get(columns.label or "")
        own = record.get(SPLIT)
        bad = _fault(text, columns.text)
        if bad is None and columns.label is not None:
            bad = _label_fault(label, columns.label)
        if bad is None and own is not None and part_named(str(own)) is None:
            bad = f"{SPLIT} must be train, validation or test, got {str(own)[:40]!r}"
        if bad is not None:
            problems.append(DataProblem(name, bad, line))
            continue
        assert isinstance(text, str)
        named = part if own is None else part_named(str(own))
        yield Row(text, "" if columns.label is None else label_text(label), named, name, line)


def label_text(label: object) -> str:
    """A label as the name of a class: whole numbers without a point.

    >>> label_text(1.0), label_text(" yes "), label_text(True)
    ('1', 'yes', 'true')
    """
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()


def _fault(text: object, column: str) -> str | None:
    if text is None:
        return f"{column} is missing"
    if not isinstance(text, str):
        return f"{column} must be a text, got {str(text)[:40]!r}"
    if not text.strip():
        return f"{column} is empty"
    bad = fault_of_text(text)
    return None if bad is None else f"{column} {bad}"


def _label_fault(label: object, column: str) -> str | None:
    if label is None or (isinstance(label, float) and isnan(label)) or not str(label).strip():
        return f"{column} is missing"
    if not isinstance(label, str | int | float):
        return f"{column} must be a word or a number, got {str(label)[:40]!r}"
    bad = fault_of_text(str(label))
    return None if bad is None else f"{column} {bad}"
