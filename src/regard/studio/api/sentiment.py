"""The Sentiment room: a verdict, the words behind it, what it is without each, and what would turn it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from regard.probe import TextLook, clean
from regard.probe.inputs import read_text
from regard.studio import limits
from regard.studio.api.body import Body
from regard.studio.flipping import Depth, chances, search, words_of
from regard.studio.limits import FieldError
from regard.studio.models import here
from regard.train.runs.texts import TextRun

STEPS = 12  # of the integrated gradient
GRADIENT = 384  # tokens of a text whose gradient is taken while somebody waits
SLICE = 0.4  # seconds for words that are left out, until the page asks on
WORDS = 400  # of a text
FLIP = 15.0  # seconds for the search


def model(body: Body) -> dict[str, object]:
    """What is known of a model."""
    run = _run(body)
    scores = {part: run.description.get(part, {}).get("accuracy") for part in ("test", "scores")}
    return {
        "classes": run.classes,
        "parameters": sum(weight.numel() for weight in run.model.parameters()),
        "architecture": type(run.model).__name__,
        "data": str(run.description.get("data")),
        "accuracy": {"test": scores["test"], "validation": scores["scores"]},
        "temperature": run.description.get("temperature"),
        "room": run.room,
        "vocab": run.reader.vocab,
    }


def verdict(body: Body) -> dict[str, object]:
    """What a text is taken for, its pieces with their tokens, and where the answer was read from."""
    run, text = _asked(body)
    found = run.look_at(text, steps=0)
    tokens, pieces, _ = read_text(clean(text), run.reader, words=True)
    shown, at = [], 0
    for piece in pieces:
        ids = tokens[at : at + piece.tokens]
        at += piece.tokens
        if piece.text:
            shown.append({
                "text": piece.text,
                "tokens": [_token(run, i) for i in ids],
                "unknown": run.reader.unk is not None and run.reader.unk in ids,
            })  # fmt: skip
    if len(shown) != len(found.pieces):  # the two read the same text in the same way
        raise RuntimeError(f"{len(shown)} pieces were read, {len(found.pieces)} looked at")
    for one, share in zip(shown, found.attention or [None] * len(shown), strict=True):
        one["attention"] = share
    return {
        "pieces": shown,
        "joined": found.joined,
        "tokens": len(tokens),
        "windows": found.windows,
        **_said(found),
    }


def gradient(body: Body) -> dict[str, object]:
    """How much each piece moved the verdict's logit."""
    run, text = _asked(body)
    count = len(run.reader.encode(clean(text)))
    if count > GRADIENT:
        why = f"{count:,} tokens, and a gradient is taken of up to {GRADIENT:,} here"
        return {"none": f"this text has {why}; regard look takes it of any"}
    found = run.look_at(text, steps=STEPS)
    return {"gradient": list(found.gradient or ()), "agreement": found.agreement(), "steps": STEPS}


def without(body: Body) -> dict[str, object]:
    """The verdict on the text with each word left out, from one word on, as many as a moment allows."""
    run, text = _asked(body)
    text = clean(text)
    spans = words_of(text)
    if len(spans) > WORDS:
        return {
            "none": f"words are left out in turn for texts of up to {WORDS} words, this one has {len(spans)}"
        }
    first = body.whole("from", 0, WORDS, 0)
    end, out, at = time.monotonic() + SLICE, [], first
    while at < len(spans) and (at == first or time.monotonic() < end):
        part = list(range(at, min(len(spans), at + 8)))
        texts = [_cut(text, spans[i]) for i in part]
        told = [i for i, one in enumerate(texts) if one.strip() and words_of(one)]
        rows = chances(run, [texts[i] for i in told]).tolist() if told else []
        known = dict(zip(told, rows, strict=True))
        out += [
            {"word": text[slice(*spans[i])], "span": spans[i], "chances": known.get(j)}
            for j, i in enumerate(part)
        ]
        at += len(part)
    return {"words": out, "next": at if at < len(spans) else None, "count": len(spans), "text": text}


def flip(body: Body) -> Iterator[dict[str, object]]:
    """Small edits with which the verdict is another, as they are found, and what was tried."""
    run, text = _asked(body)
    text = clean(text)
    if not words_of(text):
        raise FieldError("text", "there is no word of letters to edit")
    begin = time.monotonic()
    for found in search(run, text, FLIP):
        seconds = time.monotonic() - begin
        if isinstance(found, Depth):
            yield {"depth": found.edits, "tried": found.tried, "whole": found.whole, "seconds": seconds}
            continue
        best = max(range(len(found.chances)), key=found.chances.__getitem__)
        yield {
            "edits": [{"at": e.at, "kind": e.kind, "old": e.old, "new": e.new} for e in found.edits],
            "text": found.text,
            "label": run.classes[best],
            "probability": found.chances[best],
        }


def _run(body: Body) -> TextRun:
    try:
        return here().open(body.text("model", 200), TextRun)
    except ValueError as error:
        raise FieldError("model", str(error)) from error


def _asked(body: Body) -> tuple[TextRun, str]:
    """A run, and a text that it can read and that is not too long."""
    run, text = _run(body), body.text("text", limits.TEXT)
    try:
        limits.tokens("text", read_text(clean(text), run.reader)[0])
    except FieldError:
        raise
    except ValueError as error:
        raise FieldError("text", str(error)) from error
    return run, text


def _said(found: TextLook) -> dict[str, object]:
    return {"label": found.answer, "probability": found.probability, "probabilities": found.probabilities}


def _token(run: TextRun, number: int) -> str:
    """A token as its tokenizer writes it."""
    if number == run.reader.unk:
        return "unknown"
    library = getattr(run.reader, "library", None)
    return str(library.id_to_token(number)) if library is not None else run.reader.decode([number])


def _cut(text: str, span: tuple[int, int]) -> str:
    """The text without a word and one of the spaces around it."""
    start, stop = span
    if text[start - 1 : start] == " " or (not start and text[stop : stop + 1] == " "):
        start, stop = (start - 1, stop) if start else (start, stop + 1)
    return text[:start] + text[stop:]
