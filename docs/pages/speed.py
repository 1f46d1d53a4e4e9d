"""README's table of speed, from the result file: every row beside the best peer there is."""

from __future__ import annotations

import json
from itertools import groupby
from math import exp, log
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FROM = ROOT / "benchmarks" / "results" / "attention-nvidia-h200.json"
BEGIN, END = "<!-- speed: made by docs/make.py -->", "<!-- /speed -->"
Row = dict[str, Any]


def pages() -> dict[str, str]:
    """README with its table made anew."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    return {"../README.md": before + BEGIN + "\n\n" + table() + "\n\n" + END + rest.split(END)[1]}


def table() -> str:
    """A line for each pattern at each size, and the geometric means."""
    rows = json.loads(FROM.read_text(encoding="utf-8"))["rows"]
    head = [
        "| pattern | forward, ms | best peer | with backward, ms | best peer |",
        "|---|---:|---|---:|---|",
    ]
    lines: list[str] = []
    ratios: dict[str, list[float]] = {"forward": [], "both": []}
    for case, group in groupby(rows, key=lambda row: str(row["case"])):
        ours, *peers = group
        if not peers or ours["both_ms"] is None or case.startswith("packed"):
            continue
        cells = []
        for way, found in ratios.items():
            peer = best(peers, way)
            found.append(peer[f"{way}_ms"] / ours[f"{way}_ms"])
            cells += [f"{ours[f'{way}_ms']:.3g}", f"{found[-1]:.2f}× {peer['who']}"]
        lines.append("| `" + case.replace("|", "\\|") + "` | " + " | ".join(cells) + " |")
    means = [exp(sum(map(log, found)) / len(found)) for found in ratios.values()]
    lines.append(f"| geometric mean of {len(lines)} | | {means[0]:.2f}× | | {means[1]:.2f}× |")
    return "\n".join([*head, *lines])


def best(peers: list[Row], way: str) -> Row:
    """The fastest of them."""
    return min((peer for peer in peers if peer[f"{way}_ms"]), key=lambda peer: float(peer[f"{way}_ms"]))
