"""Dialogue: a prompt goes on, and every token shows what it attended to."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator

import torch
from torch import Tensor

from regard.data import Tokenizer
from regard.errors import need
from regard.paper import pages
from regard.paper.pixels import heat, png
from regard.paper.quantities import percent
from regard.probe import see
from regard.studio import limits, show
from regard.studio.budget import Budget
from regard.studio.controls import FAST, slider
from regard.studio.models import Models
from regard.studio.writing import MEASURED, Continuation, Decoding, prompt, speeds, write
from regard.train.runs.language import LanguageRun

gr = need("gradio", "studio")

SHOWN = 192  # tokens whose attention is shown: the last ones
EVERY = 0.06  # seconds between two pictures of a growing text
PROMPT = "ROMEO:"
DEFAULT = "zoo:dialogue"


def decoding(
    run: LanguageRun, temperature: object, top_k: object, top_p: object, seed: object, cached: object
) -> Decoding:
    """The controls as a value; top-k 0 and top-p 1 leave everything in."""
    k = limits.whole("top-k", top_k, 0, 1000)
    p = limits.real("top-p", top_p, 0.01, 1.0)
    sampling = run.sampling(
        temperature=limits.real("temperature", temperature, 0.0, 5.0),
        top_k=None if k == 0 else k,
        top_p=None if p == 1 else p,
    )
    return Decoding(sampling, limits.whole("seed", seed, 0, 2**31), bool(cached))


def said(run: LanguageRun, told: Continuation, more: str = "") -> str:
    """The text so far, the prompt in grey, and the speed."""
    tokenizer = run.reader
    start = tokenizer.start if told.ids and told.ids[0] == tokenizer.start else None
    first = 0 if start is None else 1
    given = tokenizer.shown(told.ids[first : told.given])
    whole = tokenizer.shown(told.ids[first:])
    count = len(told.ids) - told.given
    rate = f"{count} tokens, {told.rate:,.0f} per second" if told.seconds else "…"
    text = f"<b>{show.escape(given)}</b>{show.escape(whole[len(given) :])}"
    return f'<div class="said" aria-live="off">{text}</div>{show.note(f"{rate}{more}")}'


def continued(
    run: LanguageRun, name: str, text: str, new: int, how: Decoding
) -> Iterator[tuple[Continuation, str]]:
    """What has been written so far, again and again, and a notice."""
    asked = prompt(run, text, new)
    notice, given = asked.notice, len(asked.ids)
    out, begin, last, budget = list(asked.ids), time.perf_counter(), 0.0, Budget()
    for token in write(run, asked, how):
        out.append(token)
        now = time.perf_counter()
        if now - last > EVERY:
            last = now
            yield Continuation(name, tuple(out), given, now - begin), notice
        if budget.over:
            notice = "; ".join(filter(None, (notice, budget.notice)))
            break
    yield Continuation(name, tuple(out), given, time.perf_counter() - begin), notice


def attended(run: LanguageRun, told: Continuation, layer: object, head: object) -> tuple[str, str]:
    """Every token of a text with what it attended to; and the whole map as a picture with its numbers."""
    ids = told.ids[-SHOWN:]
    left_out = len(told.ids) - len(ids)
    weights = see(run.model, torch.tensor([ids])).weights[0]  # L H N N
    L, H = weights.shape[:2]
    at, h = limits.whole("layer", layer, 0, L), limits.whole("head", head, 0, H)
    chosen = weights if at == 0 else weights[at - 1 : at]
    chosen = (chosen if h == 0 else chosen[:, h - 1 : h]).mean((0, 1))
    strength = chosen / chosen.amax(1, keepdim=True).clamp(min=1e-12)  # each row against its own strongest
    pieces = _pieces(ids, run.reader)
    spans = []
    for i, piece in enumerate(pieces):
        best = chosen[i, : i + 1].topk(min(3, i + 1))
        words = ", ".join(
            f"“{pieces[int(j)].strip() or '␣'}” {i - int(j)} back {100 * float(share):.0f} %"
            for share, j in zip(best.values, best.indices, strict=True)
        )
        say = show.escape(f"token {i + left_out + 1} “{piece.strip() or '␣'}” attended to {words}")
        kind = ' class="given"' if i + left_out < told.given else ""
        focus = 0 if i == len(pieces) - 1 else -1
        spans.append(
            f'<span data-i="{i}" tabindex="{focus}"{kind} data-say="{say}">{show.escape(piece)}</span>'
        )
    data = b64encode(bytes((strength * 255).round().to(torch.uint8).flatten().tolist())).decode("ascii")
    where = f"{'mean of all layers' if at == 0 else f'layer {at}'}, {'all heads' if h == 0 else f'head {h}'}"
    count = len(told.ids) - told.given
    hint = (
        f"{count} tokens, {told.rate:,.0f} per second. Hover or tap a token, or tab to the last and use the "
        f"arrow keys: the stronger the colour, the more it was attended to ({where})."
    )
    tokens = f'<div class="tokens" data-width="{len(ids)}" data-weights="{data}">{"".join(spans)}</div>'
    said = f'<p class="quiet tokens-say" aria-live="polite">{hint}</p>'
    return tokens + said, _map(chosen, strength, where, left_out)


def _map(chosen: Tensor, strength: Tensor, where: str, left_out: int) -> str:
    N = len(chosen)
    back = torch.arange(N)[:, None] - torch.arange(N)[None]
    far = float((chosen * back.clamp(min=0)).sum() / N)
    rows = [
        ("shown", f"{N} tokens" + (f", the first {left_out} left out" if left_out else "")),
        ("mean distance looked back", f"{far:.1f} tokens"),
        ("on the token itself", percent(float(chosen.diagonal().mean()))),
        ("on the token before", percent(float(chosen.diagonal(-1).mean()) if N > 1 else 0)),
        ("on the first token shown", percent(float(chosen[:, 0].mean()))),
    ]
    pixels = heat(strength.sqrt()).round().to(torch.uint8)
    picture = pages.image(png(pixels), f"attention of each token (rows) to each before it (columns), {where}")
    scale = '<div class="scale">none <i></i> its strongest</div>'
    return (
        f'<div class="pair"><figure class="map">{picture}<figcaption>queries down, keys across; {where}'
        f"</figcaption>{scale}</figure><div>{show.numbers(rows)}</div></div>"
    )


def _pieces(ids: tuple[int, ...], tokenizer: Tokenizer) -> list[str]:
    """One text per token; words get the space that stands between them."""
    whole = tokenizer.decode(list(ids))
    out = [tokenizer.decode([one]) for one in ids]
    return out if "".join(out) == whole else [f"{piece} " for piece in out]


class _Desk:
    """What happens when a control is used."""

    def __init__(self, models: Models) -> None:
        self.models = models

    def write(self, name: str, text: str, new: object, *how: object) -> Iterator[tuple[object, str]]:
        try:
            run = self.models.open(name, LanguageRun)
            count = limits.whole("tokens", new, 1, limits.NEW)
            for told, notice in continued(run, name, text, count, decoding(run, *how)):
                yield told, said(run, told, f"; {notice}" if notice else "")
        except ValueError as error:
            yield None, show.fault(error)

    def ask(self, told: Continuation | None, layer: object, head: object) -> tuple[object, object]:
        if told is None:
            return gr.skip(), ""
        try:
            return attended(self.models.open(told.name, LanguageRun), told, layer, head)
        except ValueError as error:
            return show.fault(error), gr.skip()

    def race(self, name: str, text: str) -> Iterator[str]:
        try:
            run = self.models.open(name, LanguageRun)
            rows: list[tuple[str, str]] = []
            yield show.note("measuring …")
            for kind, rate, count in speeds(run, prompt(run, text, MEASURED)):
                rows.append((f"{kind} cache", f"{rate:,.0f} tokens per second, over {count}"))
                yield show.numbers(rows)
        except ValueError as error:
            yield show.fault(error)

    def change(self, name: str) -> tuple[object, object]:
        layers, heads = _sizes(self.models.open(name, LanguageRun))
        return gr.update(value=0, maximum=layers), gr.update(value=0, maximum=heads)


def build(models: Models) -> None:
    """A prompt, what the model writes, and what each token looked at."""
    names = models.names(LanguageRun)
    gr.HTML(show.note("A small language model goes on from your prompt, one token at a time."))
    if not names:
        gr.HTML(show.fault(models.missing(LanguageRun)))
        return
    first = models.first(LanguageRun, DEFAULT)
    layers, heads = _sizes(models.open(first, LanguageRun))
    state = gr.State(None)
    with gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=280):
            name = gr.Dropdown(names, value=first, label="model", elem_id="dialogue-model")
            text = gr.Textbox(PROMPT, label="prompt", lines=2, max_lines=8, elem_id="prompt")
            new = slider(10, limits.NEW, 120, step=10, label="tokens to add", elem_id="new")
            temperature = slider(0, 2, 0.8, step=0.05, label="temperature (0: the likeliest)")
            with gr.Accordion("more on sampling", open=False):
                top_k = slider(0, 100, 0, step=1, label="top-k (0: all)")
                top_p = slider(0.05, 1, 1, step=0.05, label="top-p (1: all)")
                seed = gr.Number(0, label="seed", precision=0)
            cached = gr.Checkbox(True, label="keep keys and values (the cache)", elem_id="cached")
            with gr.Row():
                start = gr.Button("Write", variant="primary", elem_id="write", min_width=90)
                stop = gr.Button("Stop", elem_id="write-stop", min_width=90)
            measure = gr.Button("Speed with and without cache", elem_id="measure")
            speed = gr.HTML("", elem_id="speed")
        with gr.Column(scale=2, min_width=300):
            result = gr.HTML('<div class="said"></div>', elem_id="said")
            with gr.Row(elem_classes="bar-row"):
                layer = slider(
                    0, layers, 0, step=1, label="layer (0: all)", min_width=170, elem_id="text-layer"
                )
                head = slider(0, heads, 0, step=1, label="head (0: all)", min_width=170, elem_id="text-head")
            looked = gr.HTML("", elem_id="attended")
    desk = _Desk(models)
    name.input(desk.change, name, [layer, head], **FAST)
    given = [name, text, new, temperature, top_k, top_p, seed, cached]
    going = gr.on([start.click, text.submit], desk.write, given, [state, result], show_progress="minimal")
    then = going.then(desk.ask, [state, layer, head], [result, looked], show_progress="hidden")
    stop.click(None, None, None, cancels=[going, then]).then(
        desk.ask, [state, layer, head], [result, looked], show_progress="hidden"
    )
    gr.on([layer.input, head.input], desk.ask, [state, layer, head], [result, looked], **FAST)
    measure.click(desk.race, [name, text], speed, show_progress="minimal", concurrency_limit=1)


def _sizes(run: LanguageRun) -> tuple[int, int]:
    return int(run.gpt.config.depth), int(run.gpt.config.heads)
