"""Recurrence: the wavefront beside the double loop, and what is left of the first input."""

from __future__ import annotations

from functools import lru_cache

import torch

from regard.errors import need
from regard.paper import plot
from regard.paper.svg import drawing, element, words
from regard.recurrence import Contribution, contribution, grid_rnn, identity
from regard.studio import limits, show
from regard.studio.controls import FAST, safe, slider
from regard.studio.models import Models

gr = need("gradio", "studio")

SIDE = 8  # most rows and columns: path counts of four figures still fit their cells
CELL = 44
HIDDEN = 8
STEPS = 100
TICK = 0.35  # seconds of one step
REST = 4  # steps between the end and the next round


@lru_cache(maxsize=64)
def paths(rows: int, cols: int) -> tuple[tuple[int, ...], ...]:
    """The states of a grid recurrence that counts the ways from the corner to each cell, in both orders.

    >>> paths(2, 3)
    ((1, 1, 1), (1, 2, 3))
    """
    one, corner = torch.ones(1, 1), torch.zeros(1, rows, cols, 1)
    corner[0, 0, 0] = 1
    loop = grid_rnn(corner, one, one, one, identity, impl="reference")
    wave = grid_rnn(corner, one, one, one, identity, impl="wavefront")
    assert torch.equal(loop, wave)
    return tuple(tuple(int(x) for x in row) for row in loop[0, :, :, 0].tolist())


def grids(rows: object, cols: object, step: object, play: object) -> str:
    """Both orders after so many steps, or playing by themselves."""
    R, C = limits.whole("rows", rows, 1, SIDE), limits.whole("columns", cols, 1, SIDE)
    at = limits.whole("step", step, 0, SIDE * SIDE)
    loop = [[row * C + col for col in range(C)] for row in range(R)]
    wave = [[row + col for col in range(C)] for row in range(R)]
    sides = []
    for name, when in (("The double loop", loop), ("The wavefront", wave)):
        last = max(map(max, when)) + 1
        now = sum(step == min(at, last) - 1 for line in when for step in line)
        done = sum(step < at for line in when for step in line)
        words = f"{last} steps in sequence"
        if not play:
            words = (
                f"{done} of {R * C} cells after {min(at, last)} of {last} steps, {now} in the last of them"
            )
        picture = _grid(paths(R, C), when, at, R * C, bool(play))
        sides.append(f"<div><h3>{name}</h3>{picture}{show.note(words)}</div>")
    rows_ = [
        ("cells", f"{R} × {C} = {R * C}"),
        ("steps, double loop", f"{R * C}"),
        ("steps, wavefront", f"{R} + {C} − 1 = {R + C - 1}, {R * C / (R + C - 1):.3g}× fewer"),
        ("widest diagonal", f"{min(R, C)} cells at once"),
    ]
    about = "Each cell counts the paths from the corner: its left neighbour plus the one above."
    return f'<div class="pair">{"".join(sides)}</div>{show.note(about)}{show.numbers(rows_)}'


def _grid(values: tuple[tuple[int, ...], ...], when: list[list[int]], at: int, total: int, play: bool) -> str:
    """Cells that fill up: grey before, orange in their step, blue after."""
    R, C = len(when), len(when[0])
    parts = [_film(total)] if play else []
    for row in range(R):
        for col in range(C):
            step, x, y = when[row][col], col * CELL, row * CELL
            kind = "now" if step == at - 1 else "done" if step < at else "wait"
            moves: list[str | None] = [None, None]
            if play:  # a browser that is told not to move shows the end
                kind = "done"
                timing = f"{(total + REST) * TICK:.2f}s {step * TICK:.2f}s linear infinite both"
                moves = [f"animation:{name}-{total} {timing}" for name in ("walk", "show")]
            side = CELL - 2
            parts.append(
                element("rect", class_=kind, x=x + 1, y=y + 1, width=side, height=side, rx=4, style=moves[0])
            )
            if play or step < at:
                place = x + CELL / 2, y + CELL / 2 + 5
                parts.append(words(*place, values[row][col], class_=kind, style=moves[1]))
    title = f"a grid of {R} rows and {C} columns"
    shown = drawing(parts, (0, 0, C * CELL, R * CELL), title, style=f"max-width:{C * CELL}px")
    return f'<div class="cells walk">{shown}</div>'


def _film(total: int) -> str:
    """One round: orange for one step, then blue until all cells rest and begin again together."""
    one = 100 / (total + REST)
    return (
        f"<style>@keyframes walk-{total} {{ 0%, {one:.3f}% {{ fill: var(--now) }} "
        f"{one + 0.01:.3f}%, {100 - one:.3f}% {{ fill: var(--seen) }} "
        f"{100 - one + 0.01:.3f}%, 100% {{ fill: var(--unseen) }} }}"
        f"@keyframes show-{total} {{ 0%, {100 - one:.3f}% {{ opacity: 1 }} 100% {{ opacity: 0 }} }}</style>"
    )


@lru_cache(maxsize=64)
def left(radius: float, steps: int) -> tuple[Contribution, ...]:
    """What is left of x_1 after 1, 2, … steps of a random W_h with this spectral radius."""
    draw = torch.Generator().manual_seed(0)
    W_h = torch.randn(HIDDEN, HIDDEN, generator=draw, dtype=torch.float64)
    W_h *= radius / torch.linalg.eigvals(W_h).abs().max()
    W_x = torch.randn(HIDDEN, 3, generator=draw, dtype=torch.float64)
    return tuple(contribution(W_h, W_x, T) for T in range(1, steps + 1))


def share(radius: object, steps: object) -> str:
    """The curve of ‖W_h^(T−1) W_x‖ / ‖W_x‖ and the verdict."""
    r = round(limits.real("radius", radius, 0.1, 2.0), 3)
    T = limits.whole("steps", steps, 2, STEPS)
    found = left(r, T)
    last = found[-1]
    values = [max(one.ratio, 1e-30) for one in found]
    low, high = min(*values, 0.1), max(*values, 10.0)
    picture = plot.curves(
        plot.Axis("T, steps", 1, T),
        plot.Axis("part of x_1 left, against T = 1", low, high, log=True),
        {f"spectral radius {r:g}": [(one.steps, one.ratio) for one in found]},
        title="how much of the first input is left",
    )
    rows = [
        ("verdict", f"x_1 {last.verdict}"),
        (f"‖W_h^{T - 1} W_x‖₂", f"{last.norm:.4g}, {last.ratio:.4g} times ‖W_x‖₂"),
        ("growth per step", f"{last.rate:.4g}"),
    ]
    line = (
        "import torch; from regard.recurrence import contribution; g = torch.Generator().manual_seed(0); "
        f"W_h = torch.randn({HIDDEN}, {HIDDEN}, generator=g, dtype=torch.float64); "
        f"W_h *= {r:g} / torch.linalg.eigvals(W_h).abs().max(); "
        f"contribution(W_h, torch.randn({HIDDEN}, 3, generator=g, dtype=torch.float64), {T})"
    )
    return f"{picture}{show.numbers(rows)}{show.copied(line)}"


def build(models: Models) -> None:
    """The two orders of walking a grid side by side, then the trace of the first input."""
    gr.HTML("<h2>A grid, cell by cell or diagonal by diagonal</h2>")
    with gr.Row(elem_classes="bar-row"):
        rows = slider(1, SIDE, 5, step=1, label="rows", min_width=120, elem_id="rows")
        cols = slider(1, SIDE, 7, step=1, label="columns", min_width=120, elem_id="cols")
        step = slider(0, SIDE * SIDE, 6, step=1, label="after step", min_width=160, elem_id="step")
        play = gr.Checkbox(False, label="play", min_width=90, elem_id="play")
    both = gr.HTML(grids(5, 7, 6, False), elem_id="grids")
    gr.on(
        [rows.input, cols.input, step.input, play.input], safe(grids), [rows, cols, step, play], both, **FAST
    )
    gr.HTML("<h2>What is left of the first input</h2>")
    with gr.Row(elem_classes="bar-row"):
        radius = slider(
            0.5, 1.5, 0.9, step=0.01, label="spectral radius of W_h", min_width=200, elem_id="radius"
        )
        T = slider(2, STEPS, 60, step=1, label="steps", min_width=160, elem_id="steps")
    curve = gr.HTML(share(0.9, 60), elem_id="share")
    gr.on([radius.input, T.input], safe(share), [radius, T], curve, **FAST)
