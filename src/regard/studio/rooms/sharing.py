"""Sharing: slide a filter, and its row of the Toeplitz matrix lights up."""

from __future__ import annotations

from regard.errors import need
from regard.paper.svg import drawing, element, words
from regard.sharing import conv_matrix, output_size
from regard.sharing.drawing import CELL, cells, colours, svg_cells
from regard.studio import limits, show
from regard.studio.controls import FAST, safe, slider
from regard.studio.models import Models

gr = need("gradio", "studio")

LONGEST = 16
GAP = 46


def slid(n: object, kernel: object, stride: object, padding: object, place: object) -> str:
    """The input with the filter at one place, the matrix below with that row lit, and the numbers."""
    length, k = limits.whole("n", n, 1, LONGEST), limits.whole("the filter", kernel, 1, 7)
    step, pad = limits.whole("the stride", stride, 1, 4), limits.whole("the padding", padding, 0, 3)
    many = output_size(length, k, step, pad)
    at = (limits.whole("the place", place, 1, LONGEST + 6) - 1) % many
    names = [f"k{i + 1}" for i in range(k)]
    matrix = cells(conv_matrix(names, length, step, pad))
    fill = colours([names])
    wide = (length + 2 * pad) * CELL
    window = [names[i - at * step] if 0 <= i - at * step < k else "" for i in range(length + 2 * pad)]
    parts = [words(0, 14, f"the input, and the filter at place {at + 1} of {many}", class_="label")]
    for i, name in enumerate(window):
        real = pad <= i < pad + length
        colour = fill.get(name, "var(--paper)" if real else "var(--unseen)")
        dash = None if real else "3 3"
        parts.append(
            element(
                "rect", x=i * CELL, y=22, width=CELL, height=CELL, fill=colour, class_="cell",
                stroke_dasharray=dash,
            )
        )  # fmt: skip
        text = name or (f"x{i - pad + 1}" if real else "0")
        parts.append(words((i + 0.5) * CELL, 39, text, class_="on" if name else "off"))
    top, left = 22 + CELL + GAP, pad * CELL
    says = f"its matrix, {many} × {length}: row {at + 1} is this place"
    parts.append(words(0, top - 8, says, class_="label"))
    for row, line in enumerate(matrix):
        lit = svg_cells([line], fill, left, top + row * CELL)
        parts.append(element("g", *lit, class_="lit" if row == at else "dim"))
    frame = element(
        "rect", x=left - 2, y=top + at * CELL - 2, width=length * CELL + 4, height=CELL + 4, class_="frame"
    )
    parts.append(frame)
    box = (-3, 0, wide + 6, top + many * CELL + 4)
    drawn = drawing(parts, box, "a filter and its matrix", style=f"max-width:{1.4 * wide:.0f}px")
    picture = f'<div class="cells toeplitz">{drawn}</div>'
    filled = sum(entry != "0" for line in matrix for entry in line)
    rows = [
        ("this output", f"y{at + 1} = " + (" + ".join(
            f"{entry}·x{j + 1}" for j, entry in enumerate(matrix[at]) if entry != "0") or "0")),
        ("outputs", f"⌊({length} + 2·{pad} − {k}) / {step}⌋ + 1 = {many}"),
        ("weights, shared", f"{k} instead of {many * length} of a dense layer"),
        ("entries that are not zero", f"{filled} of {many * length}"),
    ]  # fmt: skip
    code = f"from regard.sharing import conv_matrix; conv_matrix({names!r}, {length}, {step}, {pad})"
    return f"{picture}{show.numbers(rows)}{show.copied(code)}"


def build(models: Models) -> None:
    """Sliders for the filter above its matrix."""
    gr.HTML("<h2>A filter and its Toeplitz matrix</h2>")
    with gr.Row(elem_classes="bar-row"):
        place = slider(1, LONGEST, 3, step=1, label="place of the filter", min_width=180, elem_id="place")
        n = slider(1, LONGEST, 9, step=1, label="n, inputs", min_width=120, elem_id="conv-n")
        kernel = slider(1, 7, 3, step=1, label="filter", min_width=110, elem_id="kernel")
        stride = slider(1, 4, 1, step=1, label="stride", min_width=110, elem_id="stride")
        padding = slider(0, 3, 0, step=1, label="padding", min_width=110, elem_id="padding")
    given = [n, kernel, stride, padding, place]
    result = gr.HTML(slid(9, 3, 1, 0, 3), elem_id="toeplitz")
    gr.on([one.input for one in given], safe(slid), given, result, **FAST)
