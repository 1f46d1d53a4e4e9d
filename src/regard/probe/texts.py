"""What a text model read: the answer, and for every piece of the text its attention and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn

from regard.data.cleaning import without_markup
from regard.errors import check_int
from regard.models import GPT
from regard.models.own_texts import OwnLanguageModel, OwnReader
from regard.probe.attribution import integrated_gradients
from regard.probe.maps import has_attention, mean_attention, see
from regard.probe.twin import evaluated

LEAST = 0.005  # of a logit: less would print as 0.00
LONGEST_WINDOW = 512  # tokens read at once where the model itself sets no limit
LONGEST_PIECE = 12  # tokens that one character may be spread over: a family emoji in byte pairs


@dataclass(frozen=True)
class Piece:
    """Tokens that show as one stretch of text: one token, or all those of one character."""

    text: str
    tokens: int


@dataclass(frozen=True)
class Window:
    """Where a window begins among the pieces, and how likely the text's answer is by this window alone."""

    first: int
    probability: float | None


@dataclass(frozen=True)
class TextLook:
    """An answer and, for each piece, its attention (1 is the even share) and its part of the logit.

    `answer`, `probability` and `gradient` are None for a model that gives no answer, `attention` is None for
    a model without attention; a piece of several tokens has their mean of it, and
    the sum of their parts of the logit. `joined` stands between pieces when they are shown. `parts` are the
    windows of a text that was too long to be read at once.
    """

    pieces: tuple[str, ...]
    joined: str
    attention: tuple[float, ...] | None
    gradient: tuple[float, ...] | None
    answer: str | None
    probability: float | None
    probabilities: dict[str, float] | None
    windows: int
    left_out: int
    parts: tuple[Window, ...] = ()

    def strongest(self, count: int = 5) -> list[tuple[str, float]]:
        """The pieces that moved the answer most, for it (+) or against it (−).

        >>> TextLook(("a", "b"), " ", None, (0.5, -2.0), "yes", 0.9, None, 1, 0).strongest(1)
        [('b', -2.0)]
        """
        moved = [(word, score) for word, _, score in self.rows() if score is not None]
        return [(word, score) for word, score in moved if abs(score) >= LEAST][:count]

    def attended(self, count: int = 5) -> list[tuple[str, float]]:
        """The pieces that got more than the even share of attention, in multiples of it, the most first.

        >>> TextLook(("a", " b"), "", (0.5, 1.5), (0.5, -2.0), "yes", 0.9, None, 1, 0).attended(1)
        [('b', 1.5)]
        """
        seen = [(word, share) for word, share, _ in self.rows() if share is not None and share > 1]
        return sorted(seen, key=lambda pair: -pair[1])[:count]

    def rows(self) -> list[tuple[str, float | None, float | None]]:
        """Every piece, its attention and its part of the logit, those that moved the answer most first.

        Without an answer, those that were attended to most come first.
        """
        rows = [(text.strip(), a, g) for text, a, g in self.scores() if text.strip()]
        return sorted(rows, key=lambda row: -(row[1] or 0) if row[2] is None else -abs(row[2]))

    def scores(self) -> list[tuple[str, float | None, float | None]]:
        """Every piece in the order of the text, its attention and its part of the logit."""
        attention, gradient = (
            [None] * len(self.pieces) if one is None else one for one in (self.attention, self.gradient)
        )
        return list(zip(self.pieces, attention, gradient, strict=True))

    def agreement(self) -> float | None:
        """How alike attention and gradient rank the pieces: 1 the same, 0 unrelated, −1 opposite.

        This is Spearman's correlation of attention with the size of the gradient, for three pieces and more.

        >>> look = TextLook(("a", "b", "c"), " ", (0.5, 1.0, 1.5), (0.1, -0.2, 3.0), "yes", 0.9, None, 1, 0)
        >>> round(look.agreement(), 4)
        1.0
        """
        if self.attention is None or self.gradient is None or len(self.pieces) < 3:
            return None
        ranks = torch.stack([_ranks(self.attention), _ranks([abs(one) for one in self.gradient])])
        ranks -= ranks.mean(1, keepdim=True)
        size = ranks.norm(dim=1).prod()
        return float(ranks.prod(0).sum() / size) if size > 0 else None

    def as_dict(self) -> dict[str, object]:
        """The answer, and a row for every piece."""
        return {
            "answer": self.answer,
            "probability": self.probability,
            "probabilities": self.probabilities,
            "windows": self.windows,
            "left_out": self.left_out,
            "agreement": self.agreement(),
            "pieces": [{"text": text, "attention": a, "gradient": g} for text, a, g in self.scores()],
        }


def look_text(
    model: nn.Module,
    tokens: Sequence[int],
    pieces: Sequence[Piece],
    classes: Sequence[str],
    *,
    first: int | None = None,
    joined: str = "",
    window: int | None = None,
    steps: int = 32,
) -> TextLook:
    """Look at one text, given as token ids and as the pieces that they show as.

    A text longer than `window` (what the model can hold, unless given) is read in windows of nearly equal
    length, whose probabilities are averaged; a language model reads the last window alone. `first` is a
    token put in front of every window and not shown, nor is a piece without text. `classes` name the logits:
    for a language model, the tokens; for a model that gives none there are none. Without `steps` there is no
    gradient.

    >>> from regard.models import Encoder, EncoderConfig
    >>> model = Encoder(EncoderConfig(vocab=9, context=4, classes=2, depth=1, width=8, heads=2))
    >>> pieces = [Piece(word, 1) for word in "a very long text indeed".split()]
    >>> found = look_text(model, [1, 2, 3, 4, 5], pieces, ["bad", "good"], first=0, joined=" ", steps=2)
    >>> found.windows, len(found.attention), sorted(found.probabilities)
    (2, 5, ['bad', 'good'])
    """
    if not tokens:
        raise ValueError("text must hold at least one token, got none")
    if sum(piece.tokens for piece in pieces) != len(tokens):
        got = sum(piece.tokens for piece in pieces)
        raise ValueError(f"pieces must cover the {len(tokens)} tokens, got {got}")
    room = _room(model, window) - (first is not None)
    check_int("window", room, 1)
    # A language model answers with what comes next, so only the end of a long text matters to it.
    left_out = max(0, len(tokens) - room) if isinstance(model, GPT | OwnLanguageModel) else 0
    front = [] if first is None else [first]
    rows = [torch.tensor([front + part]) for part in windows(tokens[left_out:], room)]
    answers = [_answer(model, row) for row in rows]
    if answers[0][0].shape[1] != len(classes):
        raise ValueError(f"classes must name {answers[0][0].shape[1]} logits, got {len(classes)}")
    each = torch.cat([logits for logits, _ in answers]).softmax(1)
    chances = each.mean(0)
    best = int(chances.argmax()) if len(classes) else None
    slopes = [
        integrated_gradients(model, x, target=torch.tensor([best]), steps=steps).scores[0, len(front) :]
        for x in (rows if len(classes) and steps else [])
    ]
    maps = [one[len(front) :] for _, one in answers if one is not None]
    kept = _cut(pieces, left_out)
    attention = _gather(_shares(maps, kept), kept) if maps else None
    starts = _starts([len(row[0]) - len(front) for row in rows], kept)
    seen = [i for i, piece in enumerate(kept) if piece.text]
    sure = [None if best is None else float(one[best]) for one in each]
    return TextLook(
        tuple(kept[i].text for i in seen),
        joined,
        None if attention is None else tuple(attention[i] / kept[i].tokens for i in seen),
        tuple(_gather(slopes, kept)[i] for i in seen) if slopes else None,
        None if best is None else str(classes[best]),
        None if best is None else float(chances[best]),
        dict(zip(map(str, classes), chances.tolist(), strict=True)) if 0 < len(classes) <= 20 else None,
        len(rows),
        left_out,
        tuple(map(Window, starts, sure)) if len(rows) > 1 else (),
    )


def windows(tokens: Sequence[int], size: int) -> list[list[int]]:
    """Consecutive windows of at most `size` tokens and nearly equal length.

    >>> windows(range(5), 3)
    [[0, 1, 2], [3, 4]]
    """
    count = -(-len(tokens) // size)
    bounds = [-(-len(tokens) * i // count) for i in range(count + 1)]
    return [list(tokens[a:b]) for a, b in pairwise(bounds)]


def pieces_of(tokens: Sequence[int], decode: Callable[[list[int]], str]) -> tuple[list[Piece], str]:
    """How tokens show, one piece each, and what stands between pieces.

    A character that is spread over several tokens (an emoji in byte pairs) becomes one piece.

    >>> words = ["Far", "from", "dull"]
    >>> pieces_of([2, 0], lambda ids: " ".join(words[i] for i in ids))
    ([Piece(text='dull', tokens=1), Piece(text='Far', tokens=1)], ' ')
    >>> pieces_of(list("hé".encode()), lambda ids: bytes(ids).decode(errors="replace"))
    ([Piece(text='h', tokens=1), Piece(text='é', tokens=2)], '')
    """
    out: list[Piece] = []
    start = 0
    while start < len(tokens):
        for stop in range(start + 1, min(len(tokens), start + LONGEST_PIECE) + 1):
            if "\ufffd" not in (text := decode(list(tokens[start:stop]))):
                break
        else:
            stop, text = start + 1, decode(list(tokens[start : start + 1]))
        out.append(Piece(text, stop - start))
        start = stop
    joined = "" if "".join(piece.text for piece in out) == decode(list(tokens)) else " "
    return out, joined


def clean(text: str) -> str:
    """A text without HTML: line breaks kept, tags dropped, entities spelt out, spaces single.

    >>> clean("Great!<br /><br />5 < 6 &amp; <i>fun</i>  😀")
    'Great!\\n5 < 6 & fun 😀'
    """
    if not isinstance(text, str):
        raise ValueError(f"text must be a string, got {type(text).__name__}")
    text = without_markup(text)
    if not text:
        raise ValueError("text must hold something to read, got an empty text")
    return text


@torch.no_grad()
def _answer(model: nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor | None]:
    """Logits (1,classes), and the reader's attention (N,) where the model has any."""
    if has_attention(model):
        seen = see(model, tokens)
        logits, attention = seen.logits, mean_attention(seen)[0]
    else:
        place = next(model.parameters()).device
        logits, attention = evaluated(model)(tokens.to(place)).float().cpu(), None
    return logits[:, -1] if logits.ndim == 3 else logits, attention


def _room(model: nn.Module, window: int | None) -> int:
    """How many tokens fit in one window."""
    limits = (getattr(getattr(part, "config", None), "context", None) for part in model.modules())
    own = model.context if isinstance(model, OwnReader) else None
    most = next((limit for limit in (own, *limits) if limit is not None), None)
    if window is None:
        return LONGEST_WINDOW if most is None else int(most)
    check_int("window", window, 1, most)
    return window


def _cut(pieces: Sequence[Piece], left_out: int) -> list[Piece]:
    """The pieces after the first `left_out` tokens; one cut through keeps the tokens left of it."""
    out, at = [], 0
    for piece in pieces:
        at += piece.tokens
        if at > left_out:
            out.append(Piece(piece.text, min(piece.tokens, at - left_out)))
    return out


def _gather(scores: list[Tensor], pieces: list[Piece]) -> list[float]:
    """Scores of tokens, window after window, summed over each piece."""
    parts = torch.cat(scores).split([piece.tokens for piece in pieces])
    return [float(part.sum()) for part in parts]


def _shares(maps: list[Tensor], pieces: list[Piece]) -> list[Tensor]:
    """The attention to each token against the even share of its window, over what is shown."""
    shown = torch.tensor([bool(piece.text) for piece in pieces for _ in range(piece.tokens)])
    seen = shown.split([len(one) for one in maps])
    even = [one[here].mean() if here.any() else one.mean() for one, here in zip(maps, seen, strict=True)]
    return [one / mean.clamp(min=1e-12) for one, mean in zip(maps, even, strict=True)]


def _starts(sizes: list[int], pieces: list[Piece]) -> list[int]:
    """The pieces, counted without those that show nothing, with which windows of so many tokens begin.

    >>> _starts([3, 2], [Piece("a", 1), Piece("", 1), Piece("bc", 2), Piece("d", 1)])
    [0, 2]
    """
    begins = accumulate((piece.tokens for piece in pieces), initial=0)
    shown = [begin for begin, piece in zip(begins, pieces, strict=False) if piece.text]
    # A piece that is cut through by the border of two windows belongs to the first of them.
    return [sum(begin < border for begin in shown) for border in accumulate(sizes[:-1], initial=0)]


def _ranks(values: Sequence[float]) -> Tensor:
    """The rank of each value; equal values share the mean of theirs.

    >>> _ranks([5.0, 1.0, 5.0]).tolist()
    [1.5, 0.0, 1.5]
    """
    _, place, counts = torch.tensor(values).unique(return_inverse=True, return_counts=True)
    return (counts.cumsum(0) - (counts + 1) / 2)[place]
