"""The tour prices a model: GPT-2, from its config alone."""

from __future__ import annotations

from html import escape

from rich.console import RenderableType

from regard.cost import price
from regard.cost.presets import PRESETS
from regard.cost.result import Cost
from regard.paper.formulas import written
from regard.paper.pages import table
from regard.paper.quantities import about, percent, short
from regard.paper.tables import listed
from regard.tour.runs import TourRuns
from regard.tour.stop import Stop

TOKENS = 1024


def model_price(_: TourRuns) -> Stop:
    """What GPT-2 costs to read, to train and to write with; where it goes; and how it grows."""
    config = PRESETS["gpt2"]()
    reading = price(config, tokens=TOKENS)
    costs = {
        f"read {TOKENS:,} tokens": reading,
        f"train on {TOKENS:,} tokens": price(config, tokens=TOKENS, training=True),
        f"write {TOKENS:,} tokens": price(config, tokens=TOKENS, decode=True),
    }
    intro = (
        f"A price needs no model, only its config. This is GPT-2, {reading.parameters:,} parameters, which "
        "was neither loaded nor run: multiplies and adds, counted exactly from the same pattern that masks."
    )
    head = ["to", "flops", "about", "bytes moved", "in sequence"]
    rows = [
        (name, f"{cost.flops:,}", about(cost.flops), about(cost.moved_bytes, True), f"{cost.depth:,}")
        for name, cost in costs.items()
    ]
    growth = reading.formula("n", "width", "depth")
    # What the numbers teach: the same operations, but one token after another.
    lesson = (
        "Writing costs as many operations as reading, but token after token: the weights are fetched again "
        "for each, and that is why generation is slow. Training costs three times as much as reading."
    )
    parts_head, parts = ["part", "parameters", "flops", "share"], _parts(reading)
    law = f"flops = {written(growth.flops)}"
    legend = "for n tokens, width d and L layers: the feed-forward layers grow with n, attention with n²"
    html = (
        f"<p>{intro}</p>\n{table(head, rows)}\n<p>{lesson}</p>\n"
        f"<h3>Where reading {TOKENS:,} tokens goes</h3>\n{table(parts_head, parts)}\n"
        f'<p class="formula">{escape(law)}</p>\n<p class="quiet">{escape(legend)}.</p>\n'
        f"<pre>regard cost gpt2 --tokens {TOKENS}</pre>"
    )
    data = {name: {"flops": cost.flops, "depth": cost.depth} for name, cost in costs.items()}
    terminal: list[RenderableType] = [intro, listed(head, rows), lesson, f"{law}\n{legend}"]
    return Stop(html, terminal, {"parameters": reading.parameters, **data})


def _parts(cost: Cost) -> list[tuple[str, str, str, str]]:
    """The parts that make up the price, those of a block by themselves; the least are one row."""
    found: list[tuple[str, Cost]] = []
    for name, part in cost.parts:
        inner = [(f"{name}: {one}", found) for one, found in part.parts]
        found += inner if inner else [(name, part)]
    least = [part for _, part in found if part.flops < cost.flops // 1000 and part.parameters < 10**5]
    rows = [(name, part.parameters, part.flops) for name, part in found if part not in least]
    rows.append(("norms, residuals", sum(p.parameters for p in least), sum(p.flops for p in least)))
    return [
        (name.replace("_", " "), f"{size:,}", short(flops), percent(flops / cost.flops))
        for name, size, flops in rows
    ]
