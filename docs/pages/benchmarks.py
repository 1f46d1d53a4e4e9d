"""The benchmark page: every table from a result file, with the hardware and the date that the file gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
TITLES = {
    "attention": "Attention over patterns",
    "cost": "Counting costs",
    "endless": "Generation without end",
    "generate": "Generation",
    "hub": "Caches of a transformers model",
    "linear": "Linear attention",
    "models": "Models: one training step",
    "patterns": "Patterns: counting without a mask",
    "recurrence": "Recurrences",
    "sentiment": "Sentiment by counting words",
}


def pages() -> dict[str, str]:
    """The page under its path; `docs/plots` is a link to the results, so that the site finds their plots."""
    head = (
        "# Benchmarks\n\nTimes are milliseconds. *Ratio* is a peer's time over ours in the same run, so "
        "above 1 ours is faster. "
        "*Floor* is what bytes and flops allow on that hardware. Rows come from the files under "
        "`benchmarks/results`; "
        "`regard bench NAME` writes them."
    )
    parts = [head]
    for path in sorted(RESULTS.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict) and {"machine", "rows"} <= set(found):
            parts.append(section(path.stem, found))
            if (plot := path.with_suffix(".svg")).exists():
                parts.append(f"![Curves of {path.stem}](plots/{plot.name})")
    return {"benchmarks.md": "\n\n".join(parts) + "\n"}


def section(stem: str, found: dict[str, Any]) -> str:
    """One result file."""
    machine, settings = found["machine"], found.get("settings", {})
    name = found.get("name", stem.split("-", maxsplit=1)[0])
    on = machine["accelerator"] or f"{machine['cores']} cores of {machine['processor']}"
    lines = [f"## {TITLES.get(name, name.capitalize())}: {on}"]
    lines.append(
        f"{machine['date']}, torch {machine['torch']}, {machine['system'].split(' ')[0]}; file `{stem}.json`."
    )
    shown = {
        k: v
        for k, v in settings.items()
        if isinstance(v, str | int | float) and k not in ("note", "quick", "check")
    }
    if shown:
        lines.append("Settings: " + ", ".join(f"{k} {v}" for k, v in shown.items()) + ".")
    if "note" in settings:
        lines.append(f"Note: {settings['note']}.")
    rows = found["rows"]
    lines.append(timings(rows) if rows and "who" in rows[0] else seconds(rows))
    return "\n\n".join(lines)


def timings(rows: list[dict[str, Any]]) -> str:
    """Rows of ours and of peers."""
    out = [
        "| case | who | forward | with backward | ratio | ratio with backward | floor | note |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        cells = [_safe(row["case"]), _safe(row["who"])]
        cells += [_number(row.get(key)) for key in ("forward_ms", "both_ms")]
        cells += [_number(row.get(key), "×") for key in ("forward_ratio", "both_ratio")]
        cells += [_number(row.get("floor_ms")), _safe(str(row.get("note", "")))]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def seconds(rows: list[dict[str, Any]]) -> str:
    """Rows whose cells are seconds and megabytes of several ways."""
    ways = list(
        dict.fromkeys(
            key
            for row in rows
            for key, value in row.items()
            if isinstance(value, dict) and "seconds" in value
        )
    )
    names = [key for key in rows[0] if not isinstance(rows[0][key], dict)] if rows else []
    out = [
        "| " + " | ".join([*names, *(f"{way}, ms" for way in ways)]) + " |",
        "|" + "---|" * len(names) + "---:|" * len(ways),
    ]
    for row in rows:
        cells = [_safe(_cell(row[name])) for name in names]
        cells += [
            _number(row[way]["seconds"] * 1e3 if isinstance(row.get(way), dict) else None) for way in ways
        ]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:,.3g}{unit}" if value < 1000 else f"{value:,.0f}{unit}"


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
