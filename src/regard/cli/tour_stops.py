"""The stops of the tour in their order, and what they come to: the figures and the page."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence

import torch

from regard import __version__
from regard.cli import tour_images, tour_language, tour_verdicts
from regard.cli.tour_patterns import lecture_patterns, prices
from regard.cli.tour_prices import model_price
from regard.cli.tour_runs import Workshop
from regard.paper.pages import Section, page, table
from regard.paper.quantities import duration, percent, short

# The page and the terminal show them in this order.
STOPS: dict[str, Callable[[Workshop], Section]] = {
    "Who may look at whom": lambda _: lecture_patterns(),
    "What they cost at 65,536 tokens": lambda _: prices(),
    "What a model costs": lambda _: model_price(),
    "A small GPT learns a play": tour_language.language,
    "A small ViT reads digits": tour_images.images,
    "An encoder reads what words alone do not say": tour_verdicts.verdicts,
}


def figures(shop: Workshop, sections: Sequence[Section]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of all three runs."""
    data = {section.title: section.data for section in sections}
    language, images, verdicts = (data[title] for title in list(STOPS)[-3:])
    scores = {
        tour_language.RECIPE: f"{language['scores']['bits_per_character']:.2f} bits/character",
        tour_images.RECIPE: percent(images["accuracy"]),
        tour_verdicts.RECIPE: percent(verdicts["accuracy"]),
    }
    head = ["run", "score", "parameters", "steps", "flops", "time"]
    rows = []
    for name, (trained, bill) in shop.bills.items():
        counts = [f"{bill.parameters:,}", f"{bill.steps:,}", short(bill.total)]
        rows.append([name, scores[name], *counts, duration(trained.seconds)])
    return head, rows


def whole_page(shop: Workshop, sections: Sequence[Section], seconds: float) -> str:
    """The page: figures first, then every stop."""
    data = {section.title: section.data for section in sections}
    language, images, verdicts = (data[title] for title in list(STOPS)[-3:])
    old = any(trained.reused for trained, _ in shop.bills.values())
    how = "with runs of an earlier tour" if old else "training included"
    tiles = [
        (f"{language['scores']['bits_per_character']:.2f}", "bits for a character of a play, by a small GPT"),
        (percent(images["accuracy"]), "of new digits are read right by a small ViT"),
        (
            percent(verdicts["accuracy"]),
            f"of new verdicts are understood by an encoder, by a bag of words {percent(verdicts['bag'])}",
        ),
        (duration(seconds), f"for all of it, {how}"),
    ]
    shown = "".join(f'<div class="tile"><b>{value}</b>{said}</div>' for value, said in tiles)
    under = (
        f"Sequence models you can see, count and run. Made by Regard {__version__} with PyTorch "
        f"{torch.__version__.split('+')[0]} on {platform.system()}."
    )
    first = f'<div class="tiles">{shown}</div>\n{table(*figures(shop, sections))}'
    return page("A tour of Regard", sections, under=under, first=first, contents=True)
