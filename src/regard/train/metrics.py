"""The record of a run: metrics.jsonl, one row of JSON per step or validation, and TensorBoard beside it."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from regard.train.checkpoint import write_whole

FILE = "metrics.jsonl"
Row = dict[str, Any]


def read_rows(folder: Path) -> list[Row]:
    """The rows of a run; a last line that a crash cut short does not count."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    rows = []
    for line in text.splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


class Metrics:
    """Rows that are added to the record of a run, which begins again after step `since`."""

    def __init__(self, folder: Path, since: int) -> None:
        rows = read_rows(folder)
        kept = [row for row in rows if row["step"] <= since]
        # What the clock said at later steps: a run that comes by there again must not ask it anew.
        self.replayed = {
            row["step"]: row["seconds"] for row in rows if row["step"] > since and "seconds" in row
        }
        write_whole("".join(json.dumps(row) + "\n" for row in kept).encode(), folder / FILE)
        self.file: TextIO = (folder / FILE).open("a", encoding="utf-8")
        self.board: Any = None
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(folder / "tensorboard"), purge_step=since + 1)

    def add(self, kind: str, step: int, **values: float | str) -> None:
        """One more row."""
        self.file.write(json.dumps({"kind": kind, "step": step, **values}) + "\n")
        if self.board is not None:
            for name, value in values.items():
                if isinstance(value, str):
                    self.board.add_text(f"{kind}/{name}", value, step)
                else:
                    self.board.add_scalar(f"{kind}/{name}", value, step)

    def flush(self, hard: bool = False) -> None:
        """Hand the rows to the system; `hard` waits for the disk."""
        self.file.flush()
        if hard:
            os.fsync(self.file.fileno())

    def close(self) -> None:
        """End the record."""
        self.flush(hard=True)
        self.file.close()
        if self.board is not None:
            self.board.close()
