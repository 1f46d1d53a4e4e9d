"""The record of a run: metrics.jsonl, one row of JSON per step or validation, and TensorBoard beside it.

Every row ends with a checksum of its own, so that one damaged row is known as that and costs no other.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from regard.files import Unwritten, write, write_all
from regard.values import Json

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FILE = "metrics.jsonl"
SUM = re.compile(r', "crc32": "([0-9a-f]{8})"\}$')
Row = Json


def line_of(row: Row) -> str:
    """A row as it is written.

    >>> line_of({"step": 1})
    '{"step": 1, "crc32": "3daa833a"}\\n'
    """
    text = json.dumps(row)[:-1]
    return f'{text}, "crc32": "{crc32(text.encode()):08x}"}}\n'


def read_rows(folder: Path) -> list[Row]:
    """The rows of a run that are whole; `damaged_rows` names the others."""
    return [row for row in _read(folder) if row is not None]


def damaged_rows(folder: Path) -> list[int]:
    """The numbers, from 1, of the lines that are not what was written; a last one without an end is none."""
    rows = _read(folder)
    cut = bool(rows) and rows[-1] is None and not (folder / FILE).read_bytes().endswith(b"\n")
    return [number for number, row in enumerate(rows[: len(rows) - cut], 1) if row is None]


def _read(folder: Path) -> list[Row | None]:
    try:
        text = (folder / FILE).read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return []
    lines = text.removesuffix("\n").split("\n") if text else []
    old = not any(SUM.search(line) for line in lines)  # written before rows had a sum
    return [row_of(line, old) for line in lines]


def row_of(line: str, old: bool) -> Row | None:
    """The row of one line, None where it is not what was written; `old` ones have no checksum."""
    match = SUM.search(line)
    if match is None and not old:
        return None
    text = line if match is None else line[: match.start()]
    if match is not None and f"{crc32(text.encode()):08x}" != match[1]:
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    if not isinstance(row, dict) or "kind" not in row or not isinstance(row.get("step"), int):
        return None
    row.pop("crc32", None)
    return row


def rows_until(rows: list[Row], step: int, validated: int) -> list[Row]:
    """The rows of the first steps, and of the validations until one of them."""
    return [row for row in rows if row["step"] <= (validated if row["kind"] == "validation" else step)]


def keep_record(folder: Path) -> Path:
    """Put a copy of the record beside it under a name of its own."""
    number = 1
    while (other := folder / f"kept-{number}-{FILE}").exists():
        number += 1
    write(other, (folder / FILE).read_bytes())
    return other


class Metrics:
    """Rows that are added to the record of a run, which begins again after some step and some validation."""

    def __init__(self, folder: Path, since: int, validated: int) -> None:
        rows = read_rows(folder)
        kept = rows_until(rows, since, validated)
        # What the clock said at later steps: a run that comes by there again must not ask it anew.
        self.replayed = {
            row["step"]: row["seconds"] for row in rows if row["step"] > since and "seconds" in row
        }
        self.path, self.count = folder / FILE, len(kept)
        self.pending: list[str] = []
        data = "".join(map(line_of, kept)).encode()
        write(self.path, data)
        self.size = len(data)
        self.handle: int | None = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        self.board: SummaryWriter | None = None
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter as Writer

            with suppress(OSError):  # on a full disk there is no board: the rows of our own are the record
                self.board = Writer(str(folder / "tensorboard"), purge_step=since + 1)

    def add(self, kind: str, step: int, **values: float | str) -> None:
        """One more row, which `flush` writes."""
        self.pending.append(line_of({"kind": kind, "step": step, **values}))
        self.count += 1
        if self.board is None:
            return
        try:
            for name, value in values.items():
                if isinstance(value, str):
                    self.board.add_text(f"{kind}/{name}", value, step)
                else:
                    self.board.add_scalar(f"{kind}/{name}", value, step)
        except OSError:
            self.board = None

    def flush(self, hard: bool = False) -> None:
        """Hand the rows to the system; `hard` waits for the disk. Where there is no room, they wait here."""
        if self.handle is None:
            return
        data = "".join(self.pending).encode()
        try:
            write_all(self.handle, data)
            if hard:
                os.fsync(self.handle)
        except OSError as error:
            os.ftruncate(self.handle, self.size)  # no half of a row
            raise Unwritten(error, self.path, len(data)) from error
        self.size += len(data)
        self.pending = []

    def close(self) -> None:
        """End the record."""
        if self.handle is None:
            return
        try:
            self.flush(hard=True)
        finally:
            os.close(self.handle)
            self.handle = None
            if self.board is not None:
                with suppress(OSError):
                    self.board.close()
