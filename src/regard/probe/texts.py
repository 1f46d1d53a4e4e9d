"""What a text model read: the answer, and for every piece of the text its attention and its gradient."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.models import GPT
from regard.probe.attribution import integrated_gradients
from regard.probe.maps import evaluating, has_attention, mean_attention, see

LEAST = 0.005  # of a logit: less would print as 0.00
LONGEST_WINDOW = 512  # tokens read at once where the model itself sets no limit
LONGEST_PIECE = 12  # tokens that one character may be spread over: a family emoji in byte pairs


@dataclass(frozen=True)
class Piece:
    """Tokens that show as one stretch of text: one token, or all those of one character."""

    text: str
    tokens: int


@dataclass(frozen=True)
class TextLook:
    """An answer and, for each piece, its attention (1 is the even share) and its part of the logit.

    `attention` is None for a model without attention. `joined` stands between pieces when they are shown.
    """

    pieces: tuple[str, ...]
    joined: str
    attention: tuple[float, ...] | None
    gradient: tuple[float, ...]
    answer: str
    probability: float
    probabilities: dict[str, float] | None
    windows: int
    left_out: int

    def strongest(self, count: int = 5) -> list[tuple[str, float]]:
        """The pieces that moved the answer most, for it (+) or against it (−).

        >>> TextLook(("a", "b"), " ", None, (0.5, -2.0), "yes", 0.9, None, 1, 0).strongest(1)
        [('b', -2.0)]
        """
        words = [(piece.strip(), score) for piece, score in zip(self.pieces, self.gradient, strict=True)]
        words = [(word, score) for word, score in words if word and abs(score) >= LEAST]
        return sorted(words, key=lambda pair: -abs(pair[1]))[:count]

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        attention = [None] * len(self.pieces) if self.attention is None else self.attention
        rows = zip(self.pieces, attention, self.gradient, strict=True)
        return {
            "answer": self.answer,
            "probability": self.probability,
            "probabilities": self.probabilities,
            "windows": self.windows,
            "left_out": self.left_out,
            "pieces": [{"text": text, "attention": a, "gradient": g} for text, a, g in rows],
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
    token put in front of every window and not shown. `classes` name the logits: for a language model, the
    tokens.

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
    left_out = max(0, len(tokens) - room) if isinstance(model, GPT) else 0
    front = [] if first is None else [first]
    rows = [torch.tensor([front + part]) for part in windows(tokens[left_out:], room)]
    answers = [_answer(model, row) for row in rows]
    if answers[0][0].shape[1] != len(classes):
        raise ValueError(f"classes must name {answers[0][0].shape[1]} logits, got {len(classes)}")
    sizes = torch.tensor([float(row.shape[1]) for row in rows])
    chances = torch.cat([logits for logits, _ in answers]).softmax(1)
    chances = (chances * sizes[:, None]).sum(0) / sizes.sum()
    best = int(chances.argmax())
    target = torch.tensor([best])
    slopes = [
        integrated_gradients(model, x, target=target, steps=steps).scores[0, len(front) :] for x in rows
    ]
    maps = [None if one is None else one[len(front) :] for _, one in answers]
    shown = _cut(pieces, left_out)
    return TextLook(
        tuple(piece.text for piece in shown),
        joined,
        _gather([one / one.mean().clamp(min=1e-12) for one in maps if one is not None], shown),
        _gather(slopes, shown) or (),
        str(classes[best]),
        float(chances[best]),
        dict(zip(map(str, classes), chances.tolist(), strict=True)) if len(classes) <= 20 else None,
        len(rows),
        left_out,
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
    text = re.sub(r"(?i)<br\s*/?>|</p>", "\n", text)
    text = html.unescape(re.sub(r"</?[a-zA-Z][^<>]*>|<!--.*?-->", "", text))
    # Emoji are joined by U+200D, which counts as unprintable.
    text = "".join(one for one in text if one == "\u200d" or one.isspace() or one.isprintable())
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r"\s*\n\s*", "\n", text).strip()
    if not text:
        raise ValueError("text must hold something to read, got an empty text")
    return text


@torch.no_grad()
def _answer(model: nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor | None]:
    """Logits (1,classes), and the reader's attention (N,) where the model has any."""
    if not has_attention(model):
        with evaluating(model):
            return model(tokens.to(next(model.parameters()).device)).float().cpu(), None
    seen = see(model, tokens)
    logits = seen.logits[:, -1] if seen.logits.ndim == 3 else seen.logits
    return logits, mean_attention(seen)[0]


def _room(model: nn.Module, window: int | None) -> int:
    """How many tokens fit in one window."""
    limits = (getattr(getattr(part, "config", None), "context", None) for part in model.modules())
    most = next((limit for limit in limits if limit is not None), None)
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


def _gather(scores: list[Tensor], pieces: list[Piece]) -> tuple[float, ...] | None:
    """Scores of tokens, window after window, summed over each piece."""
    if not scores:
        return None
    parts = torch.cat(scores).split([piece.tokens for piece in pieces])
    return tuple(float(part.sum()) for part in parts)
