"""The tour trains a small ViT on the embedded digits, and shows where its class token looked."""

from __future__ import annotations

import torch
from rich.text import Text
from torch import Tensor

from regard.cost import price
from regard.data import Images, load
from regard.paper.pixels import enlarge, png
from regard.paper.quantities import percent
from regard.paper.tables import described
from regard.probe import (
    HidingCheck,
    ImageLook,
    check_by_hiding,
    heads_section,
    hiding_section,
    images_section,
    look_images,
    score_images,
)
from regard.tour.curves import curves_html
from regard.tour.runs import TourRuns
from regard.tour.stop import Bill, Stop
from regard.train.runs.images import ImageRun

RECIPE = "digits-vit"
GOAL = 0.96
SHOWN, WRONG = 8, 4  # at most so many digits are shown, so many of them mistaken
SHADES = " ░▒▓█"


def images(runs: TourRuns) -> Stop:
    """Which digit, and by what."""
    trained = runs.train(RECIPE)
    run = trained.run
    assert isinstance(run, ImageRun)
    model = run.model
    digits = load("digits")
    assert isinstance(digits, Images)
    test, labels = run.normalise(digits.test.images), digits.test.labels
    with torch.no_grad():
        answers = model(test).argmax(1)
    accuracy = float((answers == labels).float().mean())
    at = chosen(answers, labels)
    look = look_images(model, test[at], digits.test.images[at], run.classes, labels=labels[at])
    scores = score_images(model, test)
    check = check_by_hiding(
        model, test, labels, scores, generator=torch.Generator().manual_seed(0), repeats=3
    )
    recipe = trained.recipe
    cost = price(model.config, batch=recipe.batch, training=True)
    bill = Bill(trained, cost, f"{recipe.batch} images")
    right = int((answers == labels).sum())
    rows, cols = look.maps["attention"].shape[1:]
    intro = (
        f"A ViT of {cost.parameters:,} parameters cuts a digit of 8×8 pixels into {rows}×{cols} patches. A "
        "class token looks at the patches, layer by layer, and what it has gathered decides."
    )
    score = f"{right} of {len(labels)} digits that it never saw are read right: {percent(accuracy)}."
    maps = (
        "The maps show where the class token looked, as multiples of an even share: attention is the mean "
        "over all layers and heads, rollout follows it through the layers, and gradient says which patches "
        "spoke for the answer (orange) or against it (blue). Mistakes come first, where there are any."
    )
    file = runs.out / "digit.png"
    file.write_bytes(png(enlarge(look.pictures[-1], side=1)))
    use = f"regard look {trained.run.folder} {file} --labels {look.truth(-1)}"
    html = (
        f"<p>{intro}</p>\n<p><strong>{score}</strong></p>\n"
        f"{curves_html(trained.rows, 'accuracy', 'accuracy, held out, %', {'goal': GOAL}, 100)}\n"
        f"<h3>Where it looked</h3>\n<p>{maps}</p>\n{images_section(look).html}\n"
        f"<h3>Each head by itself, on the last of them</h3>\n{heads_section(look, len(at) - 1).html}\n"
        f"<h3>How far to trust the maps</h3>\n{hiding_section(check).html}\n{bill.html(use)}"
    )
    return Stop(
        html,
        [intro, score, _drawn(look), _hidden(check), described(bill.rows())],
        {"accuracy": accuracy, "advantage": check.advantage, **bill.as_dict()},
        bill,
        percent(accuracy),
        (percent(accuracy), "of new digits are read right by a small ViT"),
    )


def chosen(answers: Tensor, labels: Tensor) -> Tensor:
    """Which test images to show: a few mistakes, then the first of each class as far as there is room.

    >>> chosen(torch.tensor([0, 2, 1, 0, 0]), torch.tensor([0, 1, 1, 0, 0])).tolist()
    [1, 0, 2]
    """
    wrong = (answers != labels).nonzero().flatten()[:WRONG]
    right = [(labels == one).logical_and(answers == one).nonzero().flatten()[:1] for one in labels.unique()]
    return torch.cat([wrong, *right])[:SHOWN]


def _drawn(look: ImageLook, count: int = 3) -> Text:
    """A few digits and, below, the attention of each as shades."""
    some = range(min(count, len(look.pictures)))
    maps, pictures = look.maps["attention"], look.pictures
    heads = [f"true {look.truth(i)}, read as {look.title(i)}" for i in some]
    wide = max(map(len, heads)) + 3
    low, high = float(maps.min()), float(maps.max()) + 1e-6
    big = maps.repeat_interleave(2, 1).repeat_interleave(2, 2)
    lines = ["".join(head.ljust(wide) for head in heads)]
    for row in range(pictures.shape[2]):
        pairs = [
            _shades(pictures[i, 0, row] / 255.0) + " " + _shades((big[i, row] - low) / (high - low))
            for i in some
        ]
        lines.append("".join(pair.ljust(wide) for pair in pairs))
    return Text("\n".join(line.rstrip() for line in lines), no_wrap=True)


def _shades(row: Tensor) -> str:
    return "".join(SHADES[min(4, int(5 * value))] for value in row.tolist())


def _hidden(check: HidingCheck) -> str:
    half = min(range(len(check.shares)), key=lambda i: abs(check.shares[i] - 0.5))
    shown = ", ".join(f"{curve.order} {percent(curve.accuracy[half], 0)}" for curve in check.curves)
    return f"With half of the patches hidden by attention, the answer is still right for: {shown}."
