"""The Vision room: what a picture is taken for, where the model looked, and what it needs to see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

import torch
from torch import Tensor

from regard.data.pictures import read_image
from regard.probe import (
    check_by_hiding,
    head_attention,
    integrated_gradients,
    mean_attention,
    patch_map,
    rollout,
    score_images,
    see,
)
from regard.probe.hiding import SHARES
from regard.probe.images import grid_of, pool
from regard.probe.maps import has_attention
from regard.probe.twin import evaluated
from regard.studio.api.body import Body
from regard.studio.limits import FieldError
from regard.studio.models import here
from regard.studio.pictures import (
    exchanged,
    filled,
    fitted,
    packed,
    samples,
    shape_of,
    test_set,
    unpacked,
)
from regard.train.runs.images import ImageRun

PAGE = 12  # pictures that are shown at once
SIDE = 512  # pixels of a picture that a page sends
SEVERAL = 24  # pictures that are looked at together
STEPS = 12  # of the integrated gradient
POINTS = 16  # of the curve of one picture, beside the beginning
ORDERS = 8  # at random
CHECKED, REPEATS = 64, 3  # test pictures of the other curve, and random orders of each
BY = ("attention", "rollout", "gradient")


def model(body: Body) -> dict[str, object]:
    """What is known of a model, and of the pictures to try it on."""
    run = _run(body)
    there, shape = samples(run), shape_of(run)
    scores = {part: run.description.get(part, {}).get("accuracy") for part in ("test", "scores")}
    grid, layers, heads = None, 0, 0
    if has_attention(run.model):
        seen = see(run.model, torch.zeros(1, *shape))
        layers, heads = seen.weights.shape[1:3]
        grid = grid_of(run.model, torch.zeros(1, *shape))
    return {
        "image": shape,
        "grid": grid,
        "layers": layers,
        "heads": heads,
        "classes": run.classes,
        "dark": float(run.description["mean"][0]) <= 0.5,
        "parameters": sum(weight.numel() for weight in run.model.parameters()),
        "architecture": type(run.model).__name__,
        "data": str(run.description.get("data")),
        "accuracy": {"test": scores["test"], "validation": scores["scores"]},
        "samples": {
            "name": there.name,
            "words": there.words,
            "sure": there.sure,
            "count": len(there.pictures),
            "classes": there.classes,
            "checked": test_set(str(run.description.get("data"))) is not None,
        },
        "box": filled(there) if shape[0] == 1 else None,
    }


def pictures(body: Body) -> dict[str, object]:
    """A page of the pictures to try, of one class or of all."""
    run = _run(body)
    there = samples(run)
    label = body.whole("label", -1, len(there.classes) - 1, -1)
    labels = there.pictures.labels
    found = torch.arange(len(labels)) if label < 0 else (labels == label).nonzero()[:, 0]
    pages = max(1, -(-len(found) // PAGE))
    page = min(body.whole("page", 0, 1_000_000, 0), pages - 1)
    shown = found[page * PAGE : (page + 1) * PAGE].tolist()
    return {
        "pages": pages,
        "page": page,
        "count": len(found),
        "pictures": [
            {
                "number": i + 1,
                "label": there.classes[int(labels[i])],
                "pixels": packed(fitted(there.pictures.images[i], shape_of(run))),
            }
            for i in shown
        ],
    }


def read(body: Body) -> dict[str, object]:
    """An uploaded file as the picture that the model takes, and what was done to it."""
    run = _run(body)
    channels, rows, cols = shape_of(run)
    name = PurePath(body.text("name", 200, "the picture").replace("\\", "/")).name or "the picture"
    try:
        found = read_image(name, (rows, cols), channels, data=body.file("file"))
    except ValueError as error:
        raise FieldError("file", str(error)) from error
    picture, notices = found.picture, [one.removeprefix(f"{name}: ") for one in found.notices]
    if exchanged(picture, run):
        picture = 255 - picture
        notices.append(f"black and white exchanged, as in {run.description.get('data')}")
    return {"pixels": packed(picture), "shape": shape_of(run), "notices": notices}


def look(body: Body) -> dict[str, object]:
    """The answer to a picture, and where each layer and head looked: the answer's reader, or one patch."""
    run = _run(body)
    picture = _picture(body, run)
    out: dict[str, object] = {"pixels": packed(picture)}
    inputs = run.normalise(picture[None])
    if not has_attention(run.model):
        with torch.no_grad():
            logits = evaluated(run.model)(inputs).float()
        return out | {"probabilities": logits.softmax(1)[0].tolist(), "logits": logits[0].tolist()}
    seen = see(run.model, inputs)
    rows, cols = grid_of(run.model, inputs)
    front = seen.weights.shape[-1] - rows * cols
    query = body.whole("query", -1, rows * cols - 1, -1)
    weights = head_attention(seen)[0] if query < 0 else seen.weights[0, :, :, front + query]
    return out | {
        "probabilities": seen.logits.softmax(1)[0].tolist(),
        "logits": seen.logits[0].tolist(),
        "grid": (rows, cols),
        "front": front,
        "reader": seen.reader if isinstance(seen.reader, str) else "token",
        "weights": _shortened(weights),
        "rollout": _shortened(rollout(seen)[0]),
    }


def gradient(body: Body) -> dict[str, object]:
    """How much each patch, or each pixel of a model without patches, moved the logit of a class."""
    run = _run(body)
    inputs = run.normalise(_picture(body, run)[None])
    target = body.whole("target", -1, len(run.classes) - 1, -1)
    aim = None if target < 0 else torch.tensor([target])
    found = integrated_gradients(run.model, inputs, target=aim, steps=STEPS)
    scores = pool(found.scores, grid_of(run.model, inputs)) if has_attention(run.model) else found.scores
    return {
        "scores": _shortened(scores[0].flatten()),
        "grid": tuple(scores.shape[1:]),
        "target": int(found.target[0]),
        "gap": float(found.gap[0]),
        "steps": STEPS,
    }


def hide(body: Body) -> Iterator[dict[str, object]]:
    """How likely the answer stays as patches are taken away: the strongest first, the weakest, at random."""
    run = _run(body)
    if not has_attention(run.model):
        raise FieldError("view", "this model has no patches to hide")
    inputs = run.normalise(_picture(body, run)[None])
    scores = _scores(run, inputs, body.choice("by", BY, "attention"))
    count = scores.numel()
    points = sorted({round(i * (count - 1) / POINTS) for i in range(POINTS + 1)})  # one patch is left
    rank = scores.flatten().argsort(descending=True, stable=True).argsort()
    orders = {"most": rank, "least": count - 1 - rank}
    answer = int(_hidden(run, inputs, rank, [0])[0].argmax())
    yield {"points": points, "answer": answer, "patches": count, "random": ORDERS}
    for name, order in orders.items():
        chances = _hidden(run, inputs, order, points)
        yield {
            "order": name,
            "ranks": order.tolist(),
            "chances": _shortened(chances[:, answer]),
            "answers": chances.argmax(1).tolist(),
        }
    draw, total = torch.Generator().manual_seed(0), torch.zeros(len(points))
    for i in range(ORDERS):
        total += _hidden(run, inputs, torch.randperm(count, generator=draw), points)[:, answer]
        yield {"order": "random", "chances": _shortened(total / (i + 1)), "orders": i + 1}


def check(body: Body) -> Iterator[dict[str, object]]:
    """The accuracy over test pictures as patches are hidden, share after share."""
    run = _run(body)
    own = test_set(str(run.description.get("data")))
    if own is None:
        raise FieldError("over", "the pictures of its data set are not on this machine")
    if not has_attention(run.model):
        raise FieldError("view", "this model has no patches to hide")
    inputs, labels = run.normalise(own.test.images[:CHECKED]), own.test.labels[:CHECKED]
    scores = score_images(run.model, inputs, method=body.choice("by", BY, "attention"))
    for share in SHARES:
        draw = torch.Generator().manual_seed(0)  # the same random orders for every share
        found = check_by_hiding(
            run.model, inputs, labels, scores, generator=draw, shares=(share,), repeats=REPEATS
        )
        yield {
            "share": share,
            "images": len(labels),
            "repeats": REPEATS,
            **{one.order: [one.accuracy[0], one.low[0], one.high[0]] for one in found.curves},
        }


def several(body: Body) -> dict[str, object]:
    """What each of several pictures is taken for, and where the model looked on average."""
    run = _run(body)
    given = body.items("pictures", SEVERAL)
    if not given:
        raise FieldError("pictures", "at least one picture is needed")
    read_in = [_picture(Body(one if isinstance(one, dict) else {}), run) for one in given]
    inputs = run.normalise(torch.stack(read_in))
    out: dict[str, object] = {}
    if has_attention(run.model):
        seen = see(run.model, inputs)
        grid = grid_of(run.model, inputs)
        maps = {"attention": mean_attention(seen), "rollout": rollout(seen)}
        out = {
            name: [_shortened(one) for one in patch_map(found, grid).flatten(1)]
            for name, found in maps.items()
        }
        out["grid"], logits = grid, seen.logits
    else:
        with torch.no_grad():
            logits = evaluated(run.model)(inputs).float()
    return out | {
        "probabilities": [_shortened(one) for one in logits.softmax(1)],
        "pixels": [packed(one) for one in read_in],
    }


def _run(body: Body) -> ImageRun:
    name = body.text("model", 200)
    try:
        return here().open(name, ImageRun)
    except ValueError as error:
        raise FieldError("model", str(error)) from error


def _picture(body: Body, run: ImageRun) -> Tensor:
    shape = shape_of(run)
    sent = body.items("shape", 3, list(shape))
    most = max(SIDE, *shape)
    return fitted(unpacked(body.text("pixels", 4 * most * most + 4), sent, most), shape)


def _scores(run: ImageRun, inputs: Tensor, by: str) -> Tensor:
    """The map (rows,cols) by which patches are hidden, as it is shown."""
    if by == "gradient":
        found = integrated_gradients(run.model, inputs, steps=STEPS).scores
        return pool(found, grid_of(run.model, inputs))[0]
    return score_images(run.model, inputs, method=by)[0]


@torch.no_grad()
def _hidden(run: ImageRun, inputs: Tensor, order: Tensor, points: list[int]) -> Tensor:
    """Probabilities (points,classes) with so many patches of an order taken away altogether."""
    segments = torch.stack([torch.where(order < count, -1, 0) for count in points])
    logits = evaluated(run.model)(inputs.expand(len(points), -1, -1, -1), segments=segments)
    return logits.float().softmax(1)


def _shortened(values: Tensor) -> object:
    """Nested lists with the digits that a float32 has."""
    if values.ndim > 1:
        return [_shortened(one) for one in values]
    return [float(f"{one:.7g}") for one in values.tolist()]
