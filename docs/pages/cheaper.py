"""What cheaper patterns lose, and dialogues by the same characters: tables from the files of results."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pages.results import safe, table
from regard.cost import price
from regard.models.files import build_config

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
# In the order of the table: what is set, in words, and the record of runs that were made before.
SHOWN = {
    "causal": ("`causal`", "shakespeare-char"),
    "strided-128": ("`strided(128)`", ""),
    "strided-64": ("`strided(64)`", "shakespeare-char-strided"),
    "strided-32": ("`strided(32)`", ""),
    "windowed": ("`windowed(64)`", ""),
    "sinks": ("`strided(63) \\| global(4) & causal`: a band and four sinks", ""),
    "mixed": ("three layers of `strided(64)` to one `causal`", ""),
    "dilated-heads": ("`dilated(64, 1)`, `(64, 2)`, `(64, 4)`: two heads each", ""),
    "linear-decay": ("`LinearAttention(decay='alibi')`", ""),
    "linear-softmax": ("linear, features softmax over (x, −x)", ""),
    "linear": ("`LinearAttention()`: features elu + 1", ""),
}
SPOKEN = {
    "dialogue-ours": "`shakespeare-char`, by characters",
    "dialogue-nanogpt": "nanoGPT's settings, by characters",
}
Run = dict[str, Any]

HEAD = """\
# What do cheaper patterns lose?

[`shakespeare-char`](recipes.md) is a model of nanoGPT's size for characters of Tiny Shakespeare: 10.7 \
million parameters, 6 layers of 6 heads, trained to the end on {tokens} characters at a time. Below only \
its attention differs; recipe, steps and data are the same, and nothing was tuned again. `python \
benchmarks/cheaper.py` made the files under `benchmarks/results` that the tables are written from."""

NOTE = """\
*Loss* is in nats per character of the held-out tenth, on average over the seeds in brackets. *Training* \
is characters a second, and *decoding* milliseconds a token of 1 and of 64 texts, between 512 and 1,024 \
tokens, each measured while nothing else ran on the GPU; `–` stands where nobody measured, or for what \
decodes by rereading. The *cache* is what a text of 1,024 tokens leaves, in bfloat16, a linear layer's \
state in float32."""

DIALOGUES = """\
## The same dialogues, word by word or letter by letter

The last tenth of the dialogues of Tiny Shakespeare, {characters} characters, by models that have learnt \
from the others alone. Who speaks in words pays for unknown words letter by letter, and for white space. \
*By itself* each dialogue is read as if it were the first; *in its place* a model also reads what was said \
before it. The n-grams' settings were chosen on the end of the training part, the others' best step on \
what is scored."""


def pages() -> dict[str, str]:
    """The page under its path."""
    runs = known()
    usual, longer = (
        [run for run in runs if run["variant"] in SHOWN and run["context"] == context]
        for context in (256, 1024)
    )
    parts = [HEAD.format(tokens=256), compared(usual), NOTE]
    if longer:
        parts += ["## At a context of 1,024", "As many characters a step, in longer texts.", compared(longer)]
    spoken = dialogues([run for run in runs if run["variant"] in SPOKEN])
    return {"cheaper.md": "\n\n".join([*parts, *spoken]) + "\n"}


def known() -> list[Run]:
    """The runs of the queue, and those of before it that are not among them."""
    out: list[Run] = []
    for path in sorted((RESULTS / "cheaper").glob("*.json")):
        out += read(path)["runs"]
    seen = {(run["variant"], run["seed"]) for run in out if run["context"] == 256}
    for variant, (_, record) in SHOWN.items():
        if record:
            found = read(RESULTS / "runs" / f"{record}.json")
            out += [
                {"variant": variant, "context": 256, "model": found["model"], **run}
                for run in found["runs"]
                if (variant, run["seed"]) not in seen
            ]
    return out


def read(path: Path) -> Any:
    """A file of results."""
    return json.loads(path.read_text(encoding="utf-8"))


def compared(runs: Sequence[Run]) -> str:
    """A row for each variant that was trained, beside causal attention."""
    by = {
        name: sorted((run for run in runs if run["variant"] == name), key=lambda run: run["seed"])
        for name in SHOWN
    }
    full = mean(by["causal"]) if by["causal"] else None
    rows = []
    for name, mine in by.items():
        if not mine:
            continue
        loss = mean(mine)
        each = ", ".join(f"{run['validation']['loss']:.4f}" for run in mine)
        timing = next((run["timing"] for run in mine if "tokens_per_second" in run.get("timing", {})), {})
        rows.append([
            SHOWN[name][0],
            f"{loss:.4f}" + (f" ({each})" if len(mine) > 1 else ""),
            "–" if full is None or name == "causal" else f"{loss - full:+.4f}",
            cell(timing.get("tokens_per_second"), "{:,.0f}"),
            " / ".join(cell(timing.get(f"decoding_ms_batch_{batch}"), "{:.3f}") for batch in (1, 64)),
            cell(cache(mine[0]), "{:,}"),
        ])  # fmt: skip
    head = ("attention", "loss", "to causal", "training, characters/s", "decoding, ms", "cache, bytes")
    return table(head, rows, "lrrrrr")


def mean(runs: Sequence[Run]) -> float:
    """Of the validation losses."""
    return statistics.mean(run["validation"]["loss"] for run in runs)


def cell(value: float | None, how: str) -> str:
    """A number, or a dash."""
    return "–" if value is None else how.format(value)


def cache(run: Run) -> int | None:
    """As it was counted, or counted now."""
    if "cache_bytes" in run:
        return run["cache_bytes"]  # type: ignore[no-any-return]
    config = build_config(run["model"])[0]
    return int(price(config, 1024, decode=True, dtype=torch.bfloat16).cache_bytes)


def dialogues(runs: Sequence[Run]) -> list[str]:
    """Models by characters that read on, beside those of `regard bench dialogue`."""
    found = read(RESULTS / "dialogue-cpu-2core-amd-epyc.json")
    rows = []
    for row in found["rows"]:
        name, _, how = row["model"].partition(",")
        bits = row["bits_per_character"]
        rows.append((bits, [f"`{name}`,{how}" if how else name, safe(row["setting"]), f"{bits:.3f}", "–"]))
    for run in runs:
        name, setting = SPOKEN[run["variant"]], f"{run['parameters']:,} parameters"
        alone, on = run["bits"]["alone"], run["bits"]["on"]
        rows.append((alone, [name, setting, f"{alone:.3f}", f"{on:.3f}"]))
    head = ("model", "setting", "bits per character, by itself", "in its place")
    count = found["settings"]["held-out characters"]
    ordered = [row for _, row in sorted(rows, key=lambda one: one[0])]
    return [DIALOGUES.format(characters=f"{count:,}"), table(head, ordered, "llrr")]
