"""Costs: a model by name or by its config.json, priced exactly, and its curve against length."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

import torch

from regard.cost import CONVENTIONS, AttentionShape, Cost, price, report
from regard.cost.built import read_checked
from regard.cost.sweep import Sweep, curves_of, overtakings, sweep
from regard.errors import need
from regard.layers import Softmax
from regard.models import GPTConfig
from regard.models.presets import PRESETS, preset
from regard.paper import plot
from regard.paper.quantities import short
from regard.studio import limits, show
from regard.studio.controls import FAST, safe, slider
from regard.studio.models import Models
from regard.studio.rooms.patterns import read
from regard.studio.work import WORK, shown

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
WAYS = ("a forward pass", "a training step", "decoding, token by token")
OF_ANY_IMAGE = ("grid-completion", "grid-rnn", "convolution")
PASTED = "config.json, pasted below"
MAIN = ("parameters", "flops", "pairs", "weight bytes", "cache bytes", "depth, steps in sequence")
SHORTEST = 16

Described = tuple[object, str]  # a config or a shape, and its name


def own(name: str, models: Models) -> Described | None:
    """A run: its model's config, which is all that the price depends on. None for what is no run."""
    if name not in models.runs:
        return None
    model = models.runs[name].model
    return model.config, type(model).__name__


def described(name: str, pasted: str, run: Described | None = None) -> Described:
    """What to price, and what it is in words."""
    if run is not None:
        return run
    if name == PASTED:
        return read_checked(_checked(limits.text("config.json", pasted, limits.CONFIG)))
    if name not in PRESETS:
        raise ValueError(f"nothing to price is called {str(name)[:60]!r}")
    found = preset(name)
    return found, type(found).__name__


def _checked(text: str) -> dict[str, object]:
    """A pasted config as an object with numbers that a model may have."""
    if not text.strip():
        raise ValueError(
            "paste a config.json of gpt2, bert, vit, llama, mistral or qwen into the field below"
        )
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {str(error)[:120]}") from error
    if not isinstance(data, dict):
        raise ValueError(f"a config.json must hold an object, got a {type(data).__name__}")
    for key, value in data.items():
        most = limits.LAYERS if key in ("n_layer", "num_hidden_layers") else limits.SIZE
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > most:
            raise ValueError(f"{str(key)[:40]} may be at most {most:,} here, got more")
    return data


def priced(
    name: str, pasted: str, tokens: object, batch: object, way: str, dtype: str, run: Described | None = None
) -> Cost:
    """The cost that was asked for."""
    if way not in WAYS or dtype not in DTYPES:
        raise ValueError(f"choose one of {', '.join(WAYS)} and one of {', '.join(DTYPES)}")
    return price(
        described(name, pasted, run)[0],
        tokens=limits.whole("tokens", tokens, 1, limits.TOKENS),
        batch=limits.whole("batch", batch, 1, limits.BATCH),
        image=(28, 28) if name in OF_ANY_IMAGE else None,
        training=way == WAYS[1],
        decode=way == WAYS[2],
        dtype=DTYPES[dtype],
    )


def answer(found: Cost, words: str, line: str) -> str:
    """The totals, the rest of the counts, the tree and the conventions."""
    rows = report.totals(found)
    said = [(name, f"{exact} ({short})" if short else exact) for name, exact, short in rows]
    main, rest = ([row for row in said if (row[0] in MAIN) is first] for first in (True, False))
    notices = "".join(map(show.note, found.notices))
    tree = show.table(("part", "parameters", "flops", "share"), report.tree(found))
    return (
        f"<h3>{show.escape(words)}</h3>{notices}{show.numbers(main)}"
        f"<details><summary>All other counts</summary>{show.numbers(rest)}</details>"
        f"<details open><summary>Broken down by parts</summary>{tree}</details>"
        f"<details><summary>How it is counted</summary>{show.note('; '.join(CONVENTIONS) + '.')}</details>"
        f"{show.copied(line)}"
    )


def swept_shape(what: object) -> GPTConfig | AttentionShape:
    """What the curves are of: a GPT as a whole, or one attention layer of any other model."""
    inner = getattr(what, "config", what)
    if isinstance(inner, GPTConfig):
        return inner
    inner = getattr(inner, "backbone", inner)
    width, heads = getattr(inner, "width", None), getattr(inner, "heads", None)
    if not isinstance(width, int) or not isinstance(heads, int):
        raise ValueError("this has no attention, so there is no curve over patterns")
    return AttentionShape(width=width, heads=heads)


@lru_cache(maxsize=64)
def swept(shape: GPTConfig | AttentionShape, last: int, patterns: tuple[str, ...]) -> Sweep:
    """The curves from 16 positions on."""
    return sweep(shape, SHORTEST, last, patterns)


def curves(found: Sweep) -> str:
    """The log-log plot with numbered crossings, and the numbers in words."""
    inside = [one for one in overtakings(found) if one[0] >= SHORTEST]
    x = plot.Axis("n, tokens", SHORTEST, found.lengths[-1], log=True, base=2)
    pictures = []
    for name, per_token in (("flops of a forward pass", False), ("flops per token", True)):
        lines = {
            curve: [(n, v / n if per_token else v) for n, v in zip(found.lengths, line, strict=True)]
            for curve, line in found.curves.items()
        }
        values = [v for line in lines.values() for _, v in line]
        marks = [(n, flops / n if per_token else flops) for n, flops, _ in inside]
        y = plot.Axis(name, min(values) * 0.9, max(values) * 1.1, log=True)
        pictures.append(plot.curves(x, y, lines, marks, f"{name} against length, {found.what}"))
    picture = "".join(pictures)
    items = "".join(f"<li>{show.escape(sentence)}</li>" for _, _, sentence in inside)
    said = f"<ol>{items}</ol>" if items else show.note("No curve overtakes another in this range.")
    rows = [(name, *(short(line[_at(found, n)]) for n in _marked(found)))
            for name, line in found.curves.items()]  # fmt: skip
    head = ("flops at n =", *(f"{found.lengths[_at(found, n)]:,}" for n in _marked(found)))
    return f"<h3>{show.escape(found.what)}</h3>{picture}{said}{show.table(head, rows)}"


def _marked(found: Sweep) -> list[int]:
    return [n for n in (256, 4096, found.lengths[-1]) if n <= found.lengths[-1]][-3:]


def _at(found: Sweep, n: int) -> int:
    return min(range(len(found.lengths)), key=lambda i: abs(found.lengths[i] - n))


def python_line(name: str, tokens: object, batch: object, way: str) -> str:
    """The same question in Python."""
    more = {WAYS[1]: ", training=True", WAYS[2]: ", decode=True"}.get(way, "")
    more += ", image=(28, 28)" if name in OF_ANY_IMAGE else ""
    if name == PASTED:
        load = "import json; from regard.cost.built import read_checked"
        what = "read_checked(json.load(open('config.json')))[0]"
    elif name in PRESETS:
        load, what = "from regard.models.presets import preset", f"preset({name!r})"
    else:
        load, what = "from regard.train import open_run", f"open_run({name!r}).model"
    return f"{load}; from regard.cost import price; price({what}, tokens={tokens}, batch={batch}{more})"


@safe
def asked(
    name: str, pasted: str, tokens: object, batch: object, way: str, dtype: str, run: Described | None = None
) -> str:
    """The price that was asked for."""
    found = priced(name, pasted, tokens, batch, way, dtype, run)
    words = f"{name}: {described(name, pasted, run)[1]}"
    return answer(found, words, python_line(name, tokens, batch, way))


@safe
def drawn(name: str, pasted: str, tokens: object, further: str, run: Described | None = None) -> str:
    """The curves over patterns, a further one among them."""
    last = max(1024, limits.whole("tokens", tokens, 1, limits.TOKENS))
    more = (str(read(further)),) if further.strip() else ()
    shape = swept_shape(described(name, pasted, run)[0])
    plain = replace(shape, pattern=read("causal"), mixer=Softmax())
    return curves(swept(plain, max(last, 1 << 16), (*curves_of(plain), *more)))


def build(models: Models) -> None:
    """A model, its table and its curve against length."""
    gr = need("gradio", "studio")
    names = [*PRESETS, *models.runs, PASTED]
    gr.HTML(show.note("What a model costs, counted from its description alone: nothing is built or run."))
    with gr.Row(elem_classes="bar-row"):
        name = gr.Dropdown(names, value="gpt2", label="model", elem_id="cost-model", min_width=200)
        power = slider(4, 20, 10, step=1, label="log₂ of the length", min_width=200, elem_id="power")
        tokens = gr.Number(1024, label="tokens", precision=0, min_width=110, elem_id="tokens")
        batch = gr.Number(1, label="batch", precision=0, min_width=90, elem_id="batch")
    with gr.Row(elem_classes="bar-row"):
        way = gr.Radio(list(WAYS), value=WAYS[0], label="the cost of", min_width=300, scale=2)
        dtype = gr.Radio(list(DTYPES), value="float32", label="bytes counted in", min_width=220)
    pasted = gr.Textbox("", label="config.json", lines=4, max_lines=10, elem_id="config",
                        placeholder='{"model_type": "gpt2", "n_layer": 12, …}', visible=False)  # fmt: skip
    given = [name, pasted, tokens, batch, way, dtype]
    extra = gr.Textbox("", label="a further pattern for the curves", elem_id="further",
                       placeholder="such as windowed(64) | global(4)")  # fmt: skip

    async def ask(name: str, *given: object) -> str:
        return await shown(asked, name, *given, own(name, models))

    async def draw(name: str, *given: object) -> str:
        return await shown(drawn, name, *given, own(name, models))

    with gr.Row(equal_height=False):
        with gr.Column(min_width=300):
            result = gr.HTML(asked("gpt2", "", 1024, 1, WAYS[0], "float32"), elem_id="price")
        with gr.Column(min_width=300):
            picture = gr.HTML(drawn("gpt2", "", 1024, ""), elem_id="sweep")
    power.input(lambda k: 2 ** limits.whole("power", k, 0, 20), power, tokens, **FAST)
    name.input(lambda name: gr.update(visible=name == PASTED), name, pasted, **FAST)
    gr.on(
        [name.input, tokens.change, batch.change, way.input, dtype.input, pasted.change],
        ask,
        given,
        result,
        **WORK,
    )
    gr.on(
        [name.input, tokens.change, extra.change, pasted.change],
        draw,
        [name, pasted, tokens, extra],
        picture,
        **WORK,
    )
