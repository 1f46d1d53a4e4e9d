"""The results of this folder as sections of a page."""

from __future__ import annotations

from html import escape

import torch
from torch import Tensor

from regard.paper import pages
from regard.paper.figures import themed_svg
from regard.paper.pages import Section
from regard.paper.pixels import enlarge, overlay, png, stretch
from regard.paper.quantities import percent
from regard.probe.completions import Completion
from regard.probe.hiding import HidingCheck
from regard.probe.images import ImageLook
from regard.probe.plot_measures import hiding_figure
from regard.probe.text_colours import text_html
from regard.probe.texts import TextLook

SIDE = 224  # pixels of a picture on the page
UNKNOWN = 226  # the grey of pixels that were not given


def images_section(look: ImageLook, title: str = "Where it looked") -> Section:
    """A card per image: the picture and its maps, the truth and the answer."""
    spans, cards = look.spans, []
    for i, picture in enumerate(look.pictures):
        shown = {"image": enlarge(picture, SIDE)}
        for name, maps in look.maps.items():
            shown[name] = laid_over(picture, maps[i], name, spans[name])
        cards.append(pages.card(_headline(look, i), _row(shown)))
    return Section(title, _scales(look) + pages.cards(cards))


def heads_section(look: ImageLook, i: int = 0) -> Section:
    """Every layer and head on one image."""
    if look.heads is None:
        raise ValueError("look must come from a model with attention, got one without heads")
    L, H = look.heads.shape[1:3]
    top = "".join(f"<span>head {h + 1}</span>" for h in range(H))
    rows = []
    for layer in range(L):
        cells = []
        for h in range(H):
            one = look.heads[i, layer, h]
            words = f"layer {layer + 1}, head {h + 1}, strongest {float(one.max()):.1f} times the even share"
            cells.append(pages.image(png(overlay(look.pictures[i], stretch(one, 0.0), side=96)), words))
        rows.append(f"<span>layer {layer + 1}</span>{''.join(cells)}")
    note = "<p>Each map is scaled to its own strongest patch: a single head tells where, not how much.</p>"
    grid = f'<div class="heads" style="--n:{H}"><span></span>{top}{"".join(rows)}</div>'
    name = look.names[i] if look.names else f"image {i + 1}"
    return Section(f"Layer by layer, head by head: {name}", note + grid)


def hiding_section(check: HidingCheck, by: str = "attention") -> Section:
    """How far the map can be trusted."""
    drop = check.advantage
    words = (
        f"Hiding the patches that {escape(by)} calls strongest costs {drop:.1f} points of accuracy "
        "more, on average, than hiding as many at random."
        if drop > 0
        else f"Hiding the strongest patches by {escape(by)} costs no more than hiding random ones: "
        "here the map does not point at what the model needs."
    )
    plot = themed_svg(hiding_figure(check, by=by))
    return Section("How far to trust the map", f'<p>{words}</p><div class="plot">{plot}</div>')


def completion_section(found: Completion) -> Section:
    """Images completed by the model, the truth beside them."""
    cards = []
    for truth, made in zip(found.truth, found.completed, strict=True):
        shown = {"given": given(made, found), "completed": _big(made, found), "truth": _big(truth, found)}
        cards.append(f'<div class="card">{_row(shown)}</div>')
    words = (
        f"<p>The first {found.known} of {found.truth.shape[1]} rows were given, the others {found.way}; "
        f"{percent(found.same)} of the made-up pixels hit the true level.</p>"
    )
    return Section("Completed images", words + pages.cards(cards))


def text_section(look: TextLook, title: str = "What it read") -> Section:
    """The text coloured by attention and, beside it, by gradient."""
    return Section(title, text_html(look))


def grey(image: Tensor, levels: int) -> Tensor:
    """Integers (rows,cols) below `levels` as a picture (1,rows,cols) of uint8.

    >>> grey(torch.tensor([[0, 1, 3]]), levels=4).tolist()
    [[[0, 85, 255]]]
    """
    return (image * 255 // (levels - 1)).to(torch.uint8)[None]


def given(image: Tensor, found: Completion) -> Tensor:
    """An enlarged image (…,…,3) in which only the given rows are shown, the others in one light grey."""
    pixels = _big(image, found).clone()
    pixels[len(pixels) * found.known // len(image) :] = UNKNOWN
    return pixels


def _big(image: Tensor, found: Completion) -> Tensor:
    return enlarge(grey(image, found.levels), 160)


def laid_over(picture: Tensor, scores: Tensor, name: str, span: tuple[float, float]) -> Tensor:
    """A map over its picture, on the scale that all maps of this name share."""
    if name == "gradient":
        most = max(map(abs, span))
        return overlay(picture, scores / most if most > 0 else scores, side=SIDE, signed=True)
    return overlay(picture, stretch(scores, *span), side=SIDE)


def _row(shown: dict[str, Tensor]) -> str:
    return pages.row([pages.figure(png(pixels), name) for name, pixels in shown.items()])


def _headline(look: ImageLook, i: int) -> str:
    name = f"{escape(look.names[i])}: " if look.names else ""
    answer = escape(look.title(i))
    truth = look.truth(i)
    if truth is None:
        return f"{name}{answer}".removesuffix(": ")
    kind, sign = ("good", "✓") if look.right(i) else ("bad", "✗")
    return f'{name}true {escape(truth)} · <span class="{kind}">predicted {answer} {sign}</span>'


def _scales(look: ImageLook) -> str:
    out = []
    for name, (low, high) in look.spans.items():
        if name == "gradient":
            most = max(abs(low), abs(high))
            line = f'−{most:.2g} <i class="two"></i> +{most:.2g} of the logit'
        else:
            line = f"{low:.2f} <i></i> {high:.2f} × the even share"
        out.append(f'<div class="scale"><strong>{name}</strong> {line}</div>')
    return "".join(out)
