"""Vision: what a picture is taken for, where the class token looked, and how far to trust that."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from regard.data import Images, load
from regard.data.fetch import VARIABLE
from regard.data.sets import EMBEDDED, PUBLISHED
from regard.errors import need
from regard.paper import pages, plot
from regard.paper.pixels import enlarge, overlay, png, stretch
from regard.paper.quantities import chance, percent, signed
from regard.probe import ImageLook, check_by_hiding, hiding_section, score_images
from regard.probe.hiding import SHARES, HidingCheck, HidingCurve
from regard.studio import limits, show
from regard.studio.budget import Budget
from regard.studio.controls import FAST, slider
from regard.studio.models import Models
from regard.studio.sketches import sketches
from regard.train.runs.images import ImageRun

gr = need("gradio", "studio")

SIDE = 224  # pixels of a picture
STEPS = 8  # of the integrated gradient: enough for a picture, and soon there
CHECKED = 64  # pictures of the hiding check
KINDS = [".png", ".jpg", ".jpeg", ".webp"]
ORDERS = {"most": "strongest first", "random": "at random", "least": "weakest first"}


@dataclass(frozen=True)
class Asked:
    """A picture that was looked at: by which model, as the model takes it, and what was found."""

    name: str
    inputs: Tensor
    found: ImageLook
    notices: tuple[str, ...]
    sure: str = "truly"  # how what it shows is known


@lru_cache(maxsize=4)
def pictures(data: str) -> Images | None:
    """The set that a model was trained on, if it is on this machine; nothing is downloaded."""
    if data in PUBLISHED:
        source = PUBLISHED[data][0]
        places = [os.environ.get(VARIABLE), need("pooch", "data").os_cache("regard")]
        if not any(place and (Path(place).expanduser() / source.folder).is_dir() for place in places):
            return None
    elif data not in EMBEDDED:
        return None
    found = load(data)
    return found if isinstance(found, Images) else None


def samples(run: ImageRun) -> tuple[Images, str]:
    """Pictures to try a model on: its own test pictures, or sketches where those are not here."""
    data = str(run.description.get("data"))
    own = pictures(data)
    if own is not None:
        return own, f"a test picture of {data}"
    drawn = sketches(data)
    if drawn is not None:
        return drawn, f"the pictures of {data} are not on this machine: this is a sketch drawn in code"
    digits = pictures("digits")
    assert digits is not None
    return (
        digits,
        f"the pictures of {data} are not on this machine: this is a digit, new to the model",
    )


def record(run: ImageRun) -> str:
    """What is known of the model itself."""
    count = sum(weight.numel() for weight in run.model.parameters())
    words = f"{type(run.model).__name__}, {count:,} parameters"
    for part in ("test", "scores"):
        accuracy = run.description.get(part, {}).get("accuracy")
        if accuracy is not None:
            return f"{words}, {percent(accuracy)} right in {'test' if part == 'test' else 'validation'}"
    return words


def fitted(picture: Tensor, image: list[int]) -> Tensor:
    """A picture of uint8 (C,rows,cols) at the size and with the channels that a model takes."""
    channels, rows, cols = image
    if list(picture.shape) == list(image):
        return picture
    grey = picture.float().mean(0, keepdim=True)[None]
    big = torch.nn.functional.interpolate(grey, (rows, cols), mode="bilinear")[0]
    return big.round().to(torch.uint8).expand(channels, -1, -1).contiguous()


def look(
    name: str,
    run: ImageRun,
    picture: Tensor,
    label: str | None,
    notices: tuple[str, ...],
    sure: str = "truly",
) -> Asked:
    """Look at one picture."""
    labels = torch.tensor([run.classes.index(label)]) if label in run.classes else None
    found = run.look_at(picture[None], labels=labels, steps=STEPS)
    return Asked(name, run.normalise(picture[None]), found, notices, sure)


def from_sample(name: str, run: ImageRun, number: object) -> Asked:
    """Look at a picture of the set, counted from 1."""
    images, words = samples(run)
    i = limits.whole("the picture's number", number, 1, len(images.test)) - 1
    label = images.classes[int(images.test.labels[i])]
    sure = "meant as" if images is sketches(images.name) else "truly"
    picture = fitted(images.test.images[i], run.description["image"])
    return look(name, run, picture, label, (words, record(run)), sure)


def from_file(name: str, run: ImageRun, path: str) -> Asked:
    """Look at an uploaded picture."""
    if Path(path).stat().st_size > limits.UPLOAD:
        raise ValueError(f"a picture may have at most {limits.UPLOAD:,} bytes")
    try:
        read = run.shown([path], None, None)
    except ValueError as error:  # the visitor knows the file's name, not our folder
        raise ValueError(str(error).replace(str(path), Path(path).name)) from error
    return look(name, run, read.pictures[0], None, (*read.notices, record(run)))


def shown(asked: Asked, layer: object, head: object) -> str:
    """The answer, the maps and their numbers; layer or head 0 is the mean of all."""
    found = asked.found
    answer = f'<p class="answer"><strong>{show.escape(found.title(0))}</strong>{_truth(asked)}</p>'
    ranked = sorted(zip(found.classes, found.probabilities[0].tolist(), strict=True), key=lambda x: -x[1])[:5]
    chances = show.bars([(name, share, chance(share)) for name, share in ranked])
    picture = found.pictures[0]
    figures = [pages.figure(png(enlarge(picture, SIDE)), "as the model takes it")]
    rows = []
    for name, one in _maps(found, layer, head):
        if name == "gradient":
            most = float(one.abs().max())
            pixels = overlay(picture, one / most if most > 0 else one, side=SIDE, signed=True)
            figures.append(pages.figure(png(pixels), f"{name}: orange for, blue against"))
            rows.append((name, f"{signed(float(one.min()))} to {signed(float(one.max()))} of the logit"))
        else:
            figures.append(pages.figure(png(overlay(picture, stretch(one, 0.0), side=SIDE)), name))
            at = int(one.argmax())
            place = f"row {at // one.shape[1] + 1}, column {at % one.shape[1] + 1}"
            rows.append((name, f"strongest {float(one.max()):.2f}× the even share ({place}), "
                               f"weakest {float(one.min()):.2f}×"))  # fmt: skip
    scale = '<div class="scale">no attention <i></i> the most in its map</div>'
    return (
        f'{answer}{chances}<div class="tiles">{"".join(figures)}</div>{scale}'
        f"{show.numbers(rows)}{''.join(map(show.note, asked.notices))}"
    )


def _truth(asked: Asked) -> str:
    found = asked.found
    if found.truth(0) is None:
        return ""
    kind, sign = ("good", "✓") if found.right(0) else ("bad", "✗")
    return f' <span class="{kind}">{sign} {asked.sure} {show.escape(str(found.truth(0)))}</span>'


def _maps(found: ImageLook, layer: object, head: object) -> Iterator[tuple[str, Tensor]]:
    """The maps by name; the first is that of the chosen layer and head."""
    if found.heads is not None:
        L, H = found.heads.shape[1:3]
        at, h = limits.whole("layer", layer, 0, L), limits.whole("head", head, 0, H)
        chosen = found.heads[0, slice(None) if at == 0 else slice(at - 1, at)]
        chosen = chosen[:, slice(None) if h == 0 else slice(h - 1, h)].mean((0, 1))
        words = f"{'all layers' if at == 0 else f'layer {at}'}, {'all heads' if h == 0 else f'head {h}'}"
        yield f"attention, {words}", found.maps["attention"][0] if at == h == 0 else chosen
        yield "rollout", found.maps["rollout"][0]
    yield "gradient", found.maps["gradient"][0]


def hidden(asked: Asked, run: ImageRun) -> Iterator[str]:
    """The hiding check, one share of patches after the other: over test pictures, else over this picture."""
    if asked.found.heads is None:
        raise ValueError("this model has no patches to hide")
    own = pictures(str(run.description.get("data")))
    if own is None:
        inputs, labels, repeats = asked.inputs, asked.found.predicted, 20
    else:
        inputs, labels, repeats = (
            run.normalise(own.test.images[:CHECKED]),
            own.test.labels[:CHECKED],
            3,
        )
    scores = score_images(run.model, inputs)
    done: list[HidingCheck] = []
    for share in SHARES:
        draw = torch.Generator().manual_seed(0)  # the same random orders for every share
        done.append(check_by_hiding(run.model, inputs, labels, scores, generator=draw, shares=(share,),
                                    repeats=repeats))  # fmt: skip
        if len(done) < len(SHARES):
            yield show.note(
                f"Hiding patches: {100 * share:.0f} % hidden, {len(done)} of {len(SHARES)} done …"
            )
    check = _joined(done)
    if own is not None:
        yield hiding_section(check).html + _counted(check)
        return
    lines = {ORDERS[c.order]: [(100 * s, 100 * a) for s, a in zip(check.shares, c.accuracy, strict=True)]
             for c in check.curves}  # fmt: skip
    picture = plot.curves(
        plot.Axis("patches hidden, %", 0, 90), plot.Axis("answer unchanged, %", 0, 100), lines
    )
    yield (
        show.note("Of this picture alone (its test pictures are not here): does the answer stay?")
        + picture
        + _counted(check)
    )


def _joined(parts: list[HidingCheck]) -> HidingCheck:
    curves = []
    for order in ORDERS:
        own = [part.curve(order) for part in parts]
        curves.append(
            HidingCurve(order, *(sum((getattr(c, f) for c in own), ()) for f in ("accuracy", "low", "high")))
        )
    return HidingCheck(
        tuple(part.shares[0] for part in parts), tuple(curves), parts[0].images, parts[0].repeats
    )


def _counted(check: HidingCheck) -> str:
    rows = [(ORDERS[c.order], *(f"{100 * a:.0f}" for a in c.accuracy)) for c in check.curves]
    head = ("hidden, %", *(f"{100 * share:.0f}" for share in check.shares))
    return show.table(head, rows)


def build(models: Models) -> None:
    """A picture, what it is taken for, and the maps of where the model looked."""
    names = models.names(ImageRun)
    gr.HTML(show.note("What a picture is taken for, and where the model looked to say so."))
    if not names:
        gr.HTML(show.fault(models.missing(ImageRun)))
        return
    run = models.open(names[0], ImageRun)
    many = len(samples(run)[0].test)
    first = from_sample(names[0], run, 1)
    state = gr.State(first)
    with gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=280):
            name = gr.Dropdown(names, value=names[0], label="model", elem_id="vision-model")
            number = slider(1, many, 1, step=1, label="a picture", elem_id="picture-number")
            words = f"or your own: PNG, JPEG or WebP, up to {limits.UPLOAD // 1_000_000} MB"
            file = gr.File(label=words, file_types=KINDS, height=130, elem_id="upload")
            layer = slider(0, _heads(first)[0], 0, step=1, label="layer (0: all)", elem_id="layer")
            head = slider(0, _heads(first)[1], 0, step=1, label="head (0: all)", elem_id="head")
        with gr.Column(scale=3, min_width=300):
            result = gr.HTML(shown(first, 0, 0), elem_id="vision")
            with gr.Row():
                start = gr.Button("Hide the patches", variant="primary", elem_id="hide")
                stop = gr.Button("Stop", elem_id="hide-stop")
            curve = gr.HTML("", elem_id="hiding")

    def ask(work: Callable[[], Asked], layer: object, head: object) -> tuple[Asked | None, str]:
        try:
            asked = work()
            return asked, shown(asked, layer, head)
        except (ValueError, OSError) as error:
            return None, show.fault(error)

    def pick(name: str, number: object, layer: object, head: object) -> tuple[Asked | None, str]:
        return ask(lambda: from_sample(name, Budget().of(models.open(name, ImageRun)), number), layer, head)

    def upload(name: str, path: str | None, layer: object, head: object) -> tuple[object, str]:
        if path is None:
            return gr.skip(), gr.skip()
        return ask(lambda: from_file(name, Budget().of(models.open(name, ImageRun)), path), layer, head)

    def change(name: str) -> object:
        asked, html = pick(name, 1, 0, 0)
        count = len(samples(models.open(name, ImageRun))[0].test)
        L, H = _heads(asked)
        return (asked, html, gr.update(value=1, maximum=count), gr.update(value=0, maximum=L),
                gr.update(value=0, maximum=H), "")  # fmt: skip

    def slide(asked: Asked | None, layer: object, head: object) -> str:
        return gr.skip() if asked is None else ask(lambda: asked, layer, head)[1]

    def hide(asked: Asked | None) -> Iterator[str]:
        if asked is None:
            yield show.fault("choose a picture first")
            return
        try:
            yield show.note("Hiding patches …")
            yield from hidden(asked, Budget(limits.LONG).of(models.open(asked.name, ImageRun)))
        except ValueError as error:
            yield show.fault(error)

    name.input(change, name, [state, result, number, layer, head, curve], show_progress="minimal")
    number.input(pick, [name, number, layer, head], [state, result], **FAST)
    file.change(upload, [name, file, layer, head], [state, result], show_progress="minimal")
    gr.on([layer.input, head.input], slide, [state, layer, head], result, **FAST)
    hiding = start.click(hide, state, curve, concurrency_limit=2)
    stop.click(None, None, None, cancels=[hiding])


def _heads(asked: Asked | None) -> tuple[int, int]:
    """How many layers and heads there are to choose from."""
    if asked is None or asked.found.heads is None:
        return 1, 1
    return int(asked.found.heads.shape[1]), int(asked.found.heads.shape[2])
