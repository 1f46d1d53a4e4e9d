"""A text whose words are coloured: for the terminal, and as HTML."""

from __future__ import annotations

from html import escape

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.paper import pages
from regard.paper.ink import AGAINST, FOR
from regard.paper.quantities import chance, signed
from regard.probe.texts import TextLook

FAINT = 0.12  # shares below this stay uncoloured: a page where every word glows says nothing
MEDIUM, STRONG = 0.35, 0.7  # from these shares on a word has a background, and a full one
NARROW = 88  # columns below which the two texts, and their legends, stand one under the other
WEAK_FOR, WEAK_AGAINST = (190, 98, 8), (72, 128, 226)  # letters that show on white and on black
NONE = "no answer"  # of a model without a head that gives one
ROWS = 8  # words in the table for terminals without colour


def text_terminal(look: TextLook, *, width: int = 100, colour: bool = True) -> RenderableType:
    """The answer, and the text twice: coloured by attention and by gradient; without colour, as numbers.

    >>> from rich.console import Console
    >>> look = TextLook(("dull", "film"), " ", (1.6, 0.4), (2.0, -0.1), "negative", 0.8, None, 1, 0)
    >>> Console(width=80, color_system=None).print(text_terminal(look, colour=False))
    negative 80 %
    <BLANKLINE>
    dull film
    <BLANKLINE>
    attention: × the even share; gradient: + for “negative”, − against it
    word  attention  gradient
    dull      1.60×     +2.00
    film      0.40×     −0.10
    <BLANKLINE>
    moved the answer most: dull +2.00, film −0.10
    attended to most: dull 1.60×
    """
    answer = Text.assemble((look.answer or NONE, "bold"), f"{sureness(look)}{_scope(look)}")
    if not colour:
        plain = _coloured(look, [0.0] * len(look.pieces))
        notes = [] if look.attention is None else ["attention: × the even share"]
        notes += [] if look.answer is None else [f"gradient: + for “{look.answer.strip()}”, − against it"]
        table = _numbers(look)
        return Group(answer, Text(), plain, Text(), Text("; ".join(notes)), table, Text(), *_last_lines(look))
    parts: list[tuple[Text, Text]] = []
    if look.attention is not None:
        legend = _legend("attention", {"over even share": 1})
        parts.append((legend, _coloured(look, attention_shares(look))))
    if look.gradient is not None:
        legend = _legend("gradient", {"for": 1, "against": -1})
        parts.append((legend, _coloured(look, gradient_shares(look))))
    if width < NARROW or len(parts) == 1:
        middle: list[RenderableType] = []
        for legend, text in parts:
            middle += [legend, text, Text()]
        return Group(answer, Text(), *middle, *_last_lines(look))
    side = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, expand=False)
    for legend, _ in parts:
        side.add_column(legend, max_width=(width - 6) // 2, overflow="fold")
    side.add_row(*(text for _, text in parts))
    return Group(answer, Text(), side, Text(), *_last_lines(look))


def text_html(look: TextLook) -> str:
    """The same as HTML, for a section of a page; hovering over a word shows its number.

    >>> look = TextLook(("a<b",), " ", None, (2.0,), "negative", 0.8, {"negative": 0.8}, 1, 0)
    >>> "a&lt;b" in text_html(look)
    True
    """
    cards = []
    if look.attention is not None:
        words = _marked(look, attention_shares(look), [f"{x:.2f}× even share" for x in look.attention])
        where = "Where its tokens looked" if look.answer is None else "Where the answer was read from"
        legend = (
            f'{where}: <mark class="for" style="--a:.8">more</mark> than an even '
            f"share, up to {max(look.attention):.1f}×."
        )
        cards.append(_words("Attention", legend, words))
    if look.gradient is not None:
        words = _marked(look, gradient_shares(look), [f"{signed(x)} of the logit" for x in look.gradient])
        legend = (
            '<mark class="for" style="--a:.8">for</mark> and '
            '<mark class="against" style="--a:.8">against</mark> '
            f"the answer “{escape(str(look.answer))}” (integrated gradients)."
        )
        cards.append(_words("Gradient", legend, words))
    details = ""
    if rows := _rows(look):
        names = ("word", "attention", "part of the logit")[: 2 + (look.gradient is not None)]
        inner = pages.table(names, [row[: len(names)] for row in rows])
        if (agreed := look.agreement()) is not None:
            inner += f'<p class="quiet">rank correlation of the two: {signed(agreed)}</p>'
        most = "were attended to" if look.answer is None else "moved the answer"
        details = f"<details><summary>The words that {most} most</summary>{inner}</details>"
    chances = [(name, share, chance(share)) for name, share in (look.probabilities or {}).items()]
    return (
        f'<p class="answer"><strong>{escape(look.answer or NONE)}</strong>{sureness(look)}'
        f"{escape(_scope(look))}</p>{pages.bars(chances) if chances else ''}{pages.cards(cards)}{details}"
    )


def attention_shares(look: TextLook) -> list[float]:
    """Each piece's attention against the strongest one's; below the even share there is no colour."""
    assert look.attention is not None
    top = max(look.attention)
    return [max(0.0, (x - 1) / (top - 1)) if top > 1 else 0.0 for x in look.attention]


def gradient_shares(look: TextLook) -> list[float]:
    """Each piece's part of the logit against the largest, with its sign."""
    assert look.gradient is not None
    top = max(map(abs, look.gradient), default=0.0)
    return [x / top if top > 0 else 0.0 for x in look.gradient]


def sureness(look: TextLook) -> str:
    """How likely the answer is, with a space before it, or nothing where there is none."""
    return "" if look.probability is None else f" {chance(look.probability)}"


def _coloured(look: TextLook, shares: list[float]) -> Text:
    out = Text(overflow="fold")
    marks = {part.first: n for n, part in enumerate(look.parts, start=1)}
    for i, (piece, share) in enumerate(zip(look.pieces, shares, strict=True)):
        body = piece.lstrip()
        if i in marks:
            out.append("\n" if i else "")
            out.append(f"{_window(look, marks[i])}\n", style="italic")
        else:
            out.append((look.joined if i else "") + piece[: len(piece) - len(body)])
        out.append(body.rstrip(), style=style(share))
        out.append(body[len(body.rstrip()) :])
    return out


def style(share: float) -> str:
    """How a word is set in the terminal: in colour, on a muted background, or on a full one.

    Pale backgrounds would glow on a dark terminal and strong ones would be lost, so that weak words have
    colour in their letters alone, which reads as less on light paper and on dark.

    >>> style(0.05), style(0.2), style(-1.0)
    ('', 'rgb(190,98,8)', 'bold white on rgb(38,104,220)')
    """
    if abs(share) < FAINT:
        return ""
    full = AGAINST if share < 0 else FOR
    ink = "white" if share < 0 else "black"
    if abs(share) < MEDIUM:
        red, green, blue = WEAK_AGAINST if share < 0 else WEAK_FOR
        return f"rgb({red},{green},{blue})"
    part = 1.0 if abs(share) >= STRONG else 0.5
    red, green, blue = (round(part * one + (1 - part) * 128) for one in full)
    return f"{'bold ' if part == 1 else ''}{ink} on rgb({red},{green},{blue})"


def _legend(name: str, kinds: dict[str, int]) -> Text:
    """The name of a map and samples of its colours, from weak to strong."""
    out = Text(name, style="bold")
    for words, sign in kinds.items():
        out.append(" ", style="not bold")
        for share in (0.2, 0.5, 1.0):
            out.append(" ● ", style=f"not bold {style(sign * share)}")
        out.append(f" {words}", style="not bold")
    return out


def _numbers(look: TextLook) -> Table:
    """The words that moved the answer most, with both of their numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    table.add_column("word", max_width=40, overflow="fold")
    names = ("attention", "gradient") if look.answer is not None else ("attention",)
    for name in names:
        table.add_column(name, justify="right")
    for word, *numbers in _rows(look):
        table.add_row(Text(word), *numbers[: len(names)])
    if (left := len(look.rows()) - ROWS) > 0:
        less = "moved it less" if look.answer is not None else "were attended to less"
        table.add_row(Text(f"and {left} that {less}", style="italic"))
    return table


def _rows(look: TextLook) -> list[tuple[str, str, str]]:
    return [
        (word, "none" if share is None else f"{share:.2f}×", "none" if score is None else signed(score))
        for word, share, score in look.rows()[:ROWS]
    ]


def _last_lines(look: TextLook) -> list[Text]:
    """What counted most by either map, and how far the two agree."""
    moved = ", ".join(f"{word} {signed(score)}" for word, score in look.strongest())
    lines = [f"moved the answer most: {moved}" if moved else "no word moved the answer"]
    lines = [] if look.answer is None else lines
    if attended := ", ".join(f"{word} {x:.2f}×" for word, x in look.attended()):
        lines.append(f"attended to most: {attended}")
    if (agreed := look.agreement()) is not None:
        lines.append(f"rank correlation of the two: {signed(agreed)} (1: the same order, 0: unrelated)")
    return [Text(line) for line in lines]


def _window(look: TextLook, number: int) -> str:
    part = look.parts[number - 1]
    sure = "" if part.probability is None else f", {look.answer} {chance(part.probability)}"
    return f"[window {number} of {len(look.parts)}{sure}]"


def _marked(look: TextLook, shares: list[float], notes: list[str]) -> str:
    out = []
    marks = {part.first: n for n, part in enumerate(look.parts, start=1)}
    for i, (piece, share, note) in enumerate(zip(look.pieces, shares, notes, strict=True)):
        body = piece.lstrip()
        space = piece[: len(piece) - len(body)]
        if i in marks:
            space = f'{"<br>" if i else ""}<small class="quiet">{escape(_window(look, marks[i]))}</small><br>'
        if abs(share) < FAINT or not body:
            out.append(f'{space}<span title="{note}">{escape(body)}</span>')
        else:
            kind = "against" if share < 0 else "for"
            mark = f'<mark class="{kind}" style="--a:{abs(share):.2f}" title="{note}">{escape(body)}</mark>'
            out.append(space + mark)
    return look.joined.join(out)


def _words(title: str, legend: str, words: str) -> str:
    return pages.card(title, f'<p class="quiet">{legend}</p><p class="words">{words}</p>')


def _scope(look: TextLook) -> str:
    parts = [f"mean of {look.windows} windows"] if look.windows > 1 else []
    parts += [f"first {look.left_out} tokens not read"] if look.left_out else []
    return f" ({', '.join(parts)})" if parts else ""
