"""Whether two runs are the same run: their records, their last checkpoints, their best models."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from regard.files import check_all, leftovers, read_sums
from regard.train.checkpoint import numbered, read
from regard.train.metrics import read_rows


def record(folder: Path) -> list[dict]:
    """Everything that must not differ; the clock may."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in read_rows(folder)]


def losses(folder: Path) -> list[float]:
    return [row["loss"] for row in read_rows(folder) if row["kind"] == "train"]


def tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a checkpoint by name, put together where it is in shards."""
    if not (path / "shards").exists():
        return {
            f"{part}/{name}": x for part, values in read(path).tensors().items() for name, x in values.items()
        }
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp_to_torch_save(path / "shards", Path(folder) / "whole")
        return torch.load(Path(folder) / "whole")


def difference(one: Path, other: Path, before: bool = True) -> str | None:  # noqa: PLR0911 - one line for each thing that may differ
    """In what two finished runs differ, or None: to the bit, but for the clock."""
    if record(one) != record(other):
        pairs = zip(record(one), record(other), strict=False)
        first = next((pair for pair in pairs if pair[0] != pair[1]), "their number")
        return f"the rows differ: {first}"
    a, b = ([path.name for path in numbered(folder / "checkpoints")] for folder in (one, other))
    if a[0] != b[0]:
        return f"the checkpoints are {a} and {b}"
    last = [folder / "checkpoints" / a[0] for folder in (one, other)]
    x, y = map(tensors, last)
    if wrong := [
        name for name in {*x, *y} if name not in x or name not in y or not torch.equal(x[name], y[name])
    ]:
        return f"tensors differ: {sorted(wrong)[:3]}"
    states = [read(path).state for path in last]
    for name in ("step", "best", "validated", "rows", "recipe", "data", "start"):
        if states[0][name] != states[1][name]:
            return f"{name} differs: {states[0][name]} and {states[1][name]}"
    if read_sums(one / "model") != read_sums(other / "model"):
        return "the best models differ"
    check_all(other / "model")
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in (one, other)]
    for name in ("steps", "best_step", "scores"):
        if summaries[0][name] != summaries[1][name]:
            return f"{name} differs in summary.json"
    left = [path.name for path in (*leftovers(other), *leftovers(other / "checkpoints"))]
    if left or (other / ".lock").exists():
        return f"left behind: {left or '.lock'}"
    if before and (one / "before").exists():
        return difference(one / "before", other / "before")
    return None


def assert_same_run(one: Path, other: Path) -> None:
    assert difference(one, other) is None
