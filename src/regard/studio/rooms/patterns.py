"""Patterns: type one or move a slider, and the grid, the count and the formula follow."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt

from regard.errors import need
from regard.paper.formulas import PlainFormula, write
from regard.paper.quantities import fine_percent
from regard.pattern import Pattern, parse
from regard.pattern.formulas import settling
from regard.pattern.svg import inside, svg
from regard.studio import limits, show
from regard.studio.controls import Control, safe, slider
from regard.studio.models import Models
from regard.studio.work import WORK, within

TYPED = "as typed"
KINDS = {
    "strided, t back": "strided({t})",
    "windowed, w wide": "windowed({w})",
    "autoregressive": "causal",
    "everything": "full",
    "strided and w globals": "strided({t}) | global({w}) & causal",
    "dilated, every other": "dilated({t}, 2)",
    "sparse, strided": "sparsestrided({t})",
    "sparse, fixed": "sparsefixed({t}, 1)",
    "blocks, not causal": "blocks({w})",
    "prefix of w": "prefix({w})",
    "image neighbours": "neighbourhood({rows}, {cols}, {t})",
    "image rows and columns": "axial({rows}, {cols})",
    TYPED: "",
}
FIRST, SECOND = "strided, t back", "windowed, w wide"
START = {"t": 5, "w": 8, "n": 24}


def read(text: object) -> Pattern:
    """The pattern of a text, within what can be counted while somebody waits."""
    pattern = parse(limits.text("a pattern", text, limits.EXPRESSION))
    count = len(pattern.atoms())
    if count > limits.VALUES:
        raise ValueError(f"a pattern may have at most {limits.VALUES} single values here, got {count}")
    return pattern


def expression(kind: str, t: object, w: object, n: object) -> str:
    """The text that a choice and the sliders stand for.

    >>> expression("image rows and columns", 1, 1, 24)
    'axial(4, 6)'
    """
    if KINDS.get(kind, "") == "":
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {str(kind)[:60]!r}")
    length = limits.whole("n", n, 1, limits.LENGTH)
    rows = next(r for r in range(isqrt(length), 0, -1) if length % r == 0)
    values = {"t": limits.whole("t", t, 1, 4096), "w": limits.whole("w", w, 1, 4096)}
    return KINDS[kind].format(**values, rows=rows, cols=length // rows)


@lru_cache(maxsize=256)
def drawn(pattern: Pattern, n: int) -> str:
    """Picture, exact numbers, the line of Python and the file."""
    pattern.resolve(n)
    pairs, tile = pattern.pairs(n), 128 if n >= 1024 else 16
    tiles, kept = pattern.tiles(n, size=tile), pattern.keys_kept()
    many = tiles.shape[0] * tiles.shape[1]
    empty = many - tiles.full - tiles.partial
    rows = [
        ("pairs", f"{pairs:,} of {n * n:,}"),
        ("share of n²", fine_percent(pairs / (n * n)) + (f", {n * n / pairs:,.3g}× fewer" if pairs else "")),
        (
            f"{many:,} tiles of {tile}×{tile}",
            f"{tiles.full:,} full, {tiles.partial:,} partial, {empty:,} empty",
        ),
        ("keys kept when decoding", "all of them" if kept is None else f"{kept:,} at most"),
    ]
    homes: dict[str, set[str]] = {}  # where patterns are imported from: the package, or who else brings them
    for kind in map(type, pattern.atoms()):
        home = "regard.pattern" if kind.__module__.startswith("regard.pattern.") else kind.__module__
        homes.setdefault(home, set()).add(kind.__name__)
    load = "; ".join(f"from {home} import {', '.join(sorted(homes[home]))}" for home in sorted(homes))
    line = f"{load}; pattern = {pattern!r}; pattern.pairs({n})"
    whole = svg(pattern, n, n, formula=False)  # which has a place of its own, and may take seconds
    label = f'<h3 class="pattern">{show.escape(str(pattern))}, n = {n:,}</h3>'
    return (
        f'{label}<div class="picture">{inside(pattern, n, n)}</div>{show.numbers(rows)}'
        f"{show.copied(line)}{show.kept(whole, 'pattern.svg')}"
    )


@lru_cache(maxsize=256)
def formula(pattern: Pattern, n: int) -> str:
    """The closed form, in numbers and, for a single value, in letters."""
    pattern.resolve(n)
    single = pattern.atoms() == [pattern]
    try:
        period, back, first = (1, 0, 0) if single else settling(pattern)
        if period > limits.PERIOD or back + first > 4096:
            why = f"it repeats after {period:,} and settles after {back + first:,} positions"
            return show.numbers([("formula", f"not worked out here: {why}; formula() takes the time")])
        found = [("formula", write(pattern.formula()))]
        if single and (letters := write(pattern.formula(symbolic=True))) != found[0][1]:
            found.append(("in letters", letters))
    except ValueError as error:
        return show.numbers([("formula", f"none: {error}")])
    return show.numbers([(name, _lines(written)) for name, written in found])


def _lines(written: PlainFormula) -> str:
    more = f" … and {len(written.cases) - 6} more cases" if len(written.cases) > 6 else ""
    return ", ".join(written.lines[:6]) + more + "".join(f"; {letter}" for letter in written.where)


@safe
def answer(text: object, n: object) -> str:
    """The picture and the numbers, or what is wrong with the question."""
    return drawn(read(text), limits.whole("n", n, 1, limits.LENGTH))


def closed(text: object, n: object) -> str:
    """The formula, or nothing where the picture says what is wrong."""
    try:
        return formula(read(text), limits.whole("n", n, 1, limits.LENGTH))
    except ValueError:
        return ""


def slide(kind: str, t: object, w: object, n: object, typed: str) -> tuple[str, str]:
    """The text after a slider moved, and its picture."""
    try:
        text = typed if kind == TYPED else expression(kind, t, w, n)
    except ValueError as error:
        return typed, show.fault(error)
    return text, answer(text, n)


def wrote(kind: str, t: object, w: object, n: object, typed: str) -> tuple[bool, str]:
    """Whether a text is what the sliders say, and its picture."""
    own = kind != TYPED and slide(kind, t, w, n, "")[0] == typed
    return own, answer(typed, n)


def length(slider: object, typed: object) -> object:
    """The length that counts: the typed one, such as 4096 or 64k, where there is one.

    >>> length(24, ""), length(24, "64k"), length(24, "many")
    (24, 65536, 'many')
    """
    text = str(typed or "").replace(",", "").strip().lower()
    if not text:
        return slider
    number = text.removesuffix("k")
    return (
        int(number) * (1024 if text.endswith("k") else 1)
        if number.isdecimal() and len(number) < 10
        else typed
    )


def build(models: Models) -> None:
    """A text or sliders above the grid, the numbers and the formula."""
    gr = need("gradio", "studio")
    gr.HTML(
        show.note("Who may look at whom. Filled squares are keys that a query sees; every number is exact.")
    )
    with gr.Row(elem_classes="bar-row"):
        n = slider(2, 256, START["n"], step=1, label="n, positions", scale=3, min_width=220)
        big = gr.Textbox(
            "", label="or a larger n", placeholder="4096, 64k", max_length=12, min_width=120, elem_id="big"
        )
        compare = gr.Checkbox(False, label="compare with a second", min_width=210, elem_id="compare")
    with gr.Row(equal_height=False):
        with gr.Column(min_width=300):
            _side("a", FIRST, n, big)
        with gr.Column(min_width=300, visible=False) as other:
            _side("b", SECOND, n, big)
    compare.input(lambda on: gr.update(visible=bool(on)), compare, other, show_progress="hidden")


def _side(name: str, kind: str, n: Control, big: Control) -> None:
    gr = need("gradio", "studio")
    text = expression(kind, START["t"], START["w"], START["n"])
    with gr.Row(elem_classes="bar-row"):
        pick = gr.Dropdown(list(KINDS), value=kind, label="pattern", elem_id=f"kind-{name}", min_width=210)
        t = slider(1, 64, START["t"], step=1, label="t", elem_id=f"t-{name}", min_width=135)
        w = slider(1, 64, START["w"], step=1, label="w", elem_id=f"w-{name}", min_width=135)
    hint = "combine with & | ~ and brackets: windowed(8) | global(2) & causal"
    typed = gr.Textbox(text, label="expression", info=hint, elem_id=f"text-{name}", max_lines=4)
    picture = gr.HTML(answer(text, START["n"]), elem_id=f"picture-{name}")
    closing = gr.HTML(closed(text, START["n"]), elem_id=f"formula-{name}")

    async def slid(kind: str, t: object, w: object, n: object, big: object, text: str) -> tuple[object, str]:
        try:
            found, out = await within(slide, kind, t, w, length(n, big), text)
            return gr.skip() if found == text else found, out  # somebody may have typed on meanwhile
        except ValueError as error:
            return gr.skip(), show.fault(error)

    async def typed_in(
        kind: str, t: object, w: object, n: object, big: object, text: str
    ) -> tuple[object, str]:
        try:
            own, out = await within(wrote, kind, t, w, length(n, big), text)
            return gr.skip() if own else TYPED, out
        except ValueError as error:
            return TYPED, show.fault(error)

    async def worked_out(text: str, n: object, big: object) -> str:
        try:
            return await within(closed, text, length(n, big))
        except ValueError as error:
            return show.numbers([("formula", f"not worked out here: {error}")])

    # Gradio's `input` of a text does not come when something is pasted or cut; `change` does, and also when
    # a slider wrote the text.
    given = [pick, t, w, n, big, typed]
    sources = [pick.input, t.input, w.input, n.input, big.change]
    moved = gr.on(sources, slid, given, [typed, picture], **WORK)
    changed = typed.change(typed_in, given, [pick, picture], **WORK)
    for event in (moved, changed):
        event.then(worked_out, [typed, n, big], closing, **WORK)
