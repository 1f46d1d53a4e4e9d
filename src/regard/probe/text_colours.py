"""A text whose words are coloured: for the terminal, and as HTML."""

from __future__ import annotations

from html import escape

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.probe.colours import blend
from regard.probe.images import percent
from regard.probe.texts import TextLook

FAINT = 0.12  # shares below this stay uncoloured: a page where every word glows says nothing
NARROW = 84  # columns below which the two texts stand one under the other


def text_terminal(look: TextLook, *, width: int = 100) -> RenderableType:
    """The answer, and the text twice: coloured by attention and by gradient.

    >>> from rich.console import Console
    >>> look = TextLook(("dull", "film"), " ", (1.6, 0.4), (2.0, -0.1), "negative", 0.8, None, 1, 0)
    >>> Console(width=60, color_system=None).print(text_terminal(look, width=60))
    negative 80 %
    <BLANKLINE>
    attention
    dull film
    <BLANKLINE>
    gradient
    dull film
    <BLANKLINE>
    moved the answer most: dull +2.00, film −0.10
    """
    parts: list[tuple[str, Text]] = []
    if look.attention is not None:
        parts.append(("attention", _coloured(look, attention_shares(look))))
    parts.append(("gradient", _coloured(look, gradient_shares(look))))
    answer = Text.assemble((f"{look.answer}", "bold"), f" {percent(look.probability)}{_scope(look)}")
    strongest = ", ".join(f"{word} {_signed(score)}" for word, score in look.strongest())
    last = Text(f"moved the answer most: {strongest}" if strongest else "no word moved the answer")
    if width < NARROW or len(parts) == 1:
        middle: list[RenderableType] = []
        for name, text in parts:
            middle += [Text(name, style="dim"), text, Text()]
        return Group(answer, Text(), *middle, last)
    side = Table(box=None, padding=(0, 3, 0, 0), expand=False)
    for name, _ in parts:
        side.add_column(Text(name, style="dim"), max_width=(width - 6) // 2, overflow="fold")
    side.add_row(*(text for _, text in parts))
    return Group(answer, Text(), side, Text(), last)


def text_html(look: TextLook) -> str:
    """The same as HTML, for a page of `regard.probe.page`; hovering over a word shows its number.

    >>> look = TextLook(("a<b",), " ", None, (2.0,), "negative", 0.8, {"negative": 0.8}, 1, 0)
    >>> "a&lt;b" in text_html(look)
    True
    """
    cards = []
    if look.attention is not None:
        words = _marked(look, attention_shares(look), [f"{x:.2f}× even share" for x in look.attention])
        cards.append(_card("Attention", "Where the answer was read from; 1× is an even share.", words))
    words = _marked(look, gradient_shares(look), [f"{_signed(x)} of the logit" for x in look.gradient])
    legend = (
        '<mark class="for" style="--a:.8">for</mark> and '
        '<mark class="against" style="--a:.8">against</mark> '
        f"the answer “{escape(look.answer)}” (integrated gradients)."
    )
    cards.append(_card("Gradient", legend, words))
    rows = "".join(
        f"<tr><td>{escape(word)}</td><td>{_signed(score)}</td></tr>" for word, score in look.strongest(6)
    )
    head = "<thead><tr><th>word</th><th>part of the logit</th></tr></thead>"
    summary = "<summary>The words that moved the answer most</summary>"
    details = f"<details>{summary}<table>{head}<tbody>{rows}</tbody></table></details>" if rows else ""
    return (
        f'<p class="answer"><strong>{escape(look.answer)}</strong> {percent(look.probability)}'
        f"{escape(_scope(look))}</p>{_bars(look)}"
        f'<div class="cards">{"".join(cards)}</div>{details}'
    )


def attention_shares(look: TextLook) -> list[float]:
    """Each piece's attention against the strongest one's; below the even share there is no colour."""
    assert look.attention is not None
    top = max(look.attention)
    return [max(0.0, (x - 1) / (top - 1)) if top > 1 else 0.0 for x in look.attention]


def gradient_shares(look: TextLook) -> list[float]:
    """Each piece's part of the logit against the largest, with its sign."""
    top = max(map(abs, look.gradient), default=0.0)
    return [x / top if top > 0 else 0.0 for x in look.gradient]


def _coloured(look: TextLook, shares: list[float]) -> Text:
    out = Text()
    for i, (piece, share) in enumerate(zip(look.pieces, shares, strict=True)):
        if i:
            out.append(look.joined)
        body = piece.lstrip()
        out.append(piece[: len(piece) - len(body)])
        if abs(share) < FAINT:
            out.append(body)
            continue
        red, green, blue = blend(abs(share), -1 if share < 0 else 1)
        ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 130 else "black"
        out.append(body, style=f"{ink} on rgb({red},{green},{blue})")
    return out


def _marked(look: TextLook, shares: list[float], notes: list[str]) -> str:
    out = []
    for piece, share, note in zip(look.pieces, shares, notes, strict=True):
        body = piece.lstrip()
        space = piece[: len(piece) - len(body)]
        if abs(share) < FAINT or not body:
            out.append(f'{space}<span title="{note}">{escape(body)}</span>')
        else:
            kind = "against" if share < 0 else "for"
            mark = f'<mark class="{kind}" style="--a:{abs(share):.2f}" title="{note}">{escape(body)}</mark>'
            out.append(space + mark)
    return look.joined.join(out)


def _bars(look: TextLook) -> str:
    if look.probabilities is None:
        return ""
    rows = "".join(
        f'<div><span>{escape(name)}</span><span class="bar"><i style="width:{100 * share:.1f}%"></i></span>'
        f"<span>{percent(share)}</span></div>"
        for name, share in look.probabilities.items()
    )
    return f'<div class="bars">{rows}</div>'


def _card(title: str, legend: str, words: str) -> str:
    return (
        f'<div class="card"><h3>{title}</h3><p class="quiet">{legend}</p>'
        f'<p class="words">{words}</p></div>'
    )  # fmt: skip


def _scope(look: TextLook) -> str:
    parts = [f"mean of {look.windows} windows"] if look.windows > 1 else []
    parts += [f"first {look.left_out} tokens not read"] if look.left_out else []
    return f" ({', '.join(parts)})" if parts else ""


def _signed(score: float) -> str:
    return f"{score:+.2f}".replace("-", "−")
