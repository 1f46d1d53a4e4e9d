"""The tour itself: its stops in their order, told as they come, and the page they make."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import torch
from rich.console import Console

from regard import __version__
from regard.files import write
from regard.paper.pages import Section, page, table
from regard.paper.quantities import duration, short
from regard.paper.tables import listed
from regard.tour.images import images
from regard.tour.language import language
from regard.tour.patterns import LONG, costs, drawings
from regard.tour.prices import model_price
from regard.tour.runs import TourRuns
from regard.tour.stop import Stop
from regard.tour.verdicts import verdicts

# Models this small gain little from a second thread, and lose much where another program has the core; with
# one, the tour says the same on every machine of a kind.
THREADS = 1
# The page and the terminal show them in this order.
STOPS: dict[str, Callable[[TourRuns], Stop]] = {
    "Who may look at whom": drawings,
    f"What they cost at {LONG:,} tokens": costs,
    "What a model costs": model_price,
    "A small GPT learns a play": language,
    "A small ViT reads digits": images,
    "An encoder reads what words alone do not say": verdicts,
}


def walk(out: Path, console: Console, *, reuse: bool = False, steps: int | None = None) -> dict[str, object]:
    """Take the tour, tell it on the console as it goes, and write out/index.html; what it found, as data."""
    begun, path, stops = perf_counter(), out / "index.html", dict[str, Stop]()
    runs = TourRuns(out, reuse, steps, quiet=console.quiet)
    runs.claim()
    with _threads(THREADS), _advice(console, out):
        for number, (title, stop) in enumerate(STOPS.items(), start=1):
            console.rule(f"[bold]{number} of {len(STOPS)} · {title}[/]", align="left")
            stops[title] = stop(runs)
            for part in (*stops[title].terminal, ""):
                console.print(part)
    seconds = perf_counter() - begun
    # The page of an earlier tour stays until this one is whole.
    write(path, whole_page(stops, seconds).encode())
    console.rule("[bold]The tour in figures[/]", align="left")
    console.print(listed(*figures(stops)))
    console.print(f"\n{duration(seconds)} in all. Open [bold]{path}[/] for all of it with pictures.")
    found = {title: stop.data for title, stop in stops.items()}
    return {"out": str(path), "seconds": round(seconds, 1), "sections": found}


def figures(stops: Mapping[str, Stop]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of all runs."""
    rows = []
    for stop in stops.values():
        if (bill := stop.bill) is not None:
            counts = [f"{bill.step.parameters:,}", f"{bill.steps:,}", short(bill.flops)]
            rows.append([bill.trained.recipe.name, stop.score, *counts, duration(bill.trained.seconds)])
    return ["run", "score", "parameters", "steps", "flops", "time"], rows


def whole_page(stops: Mapping[str, Stop], seconds: float) -> str:
    """The page: figures first, then every stop."""
    bills = [stop.bill for stop in stops.values() if stop.bill is not None]
    old = any(bill.trained.reused for bill in bills)
    how = "with runs of an earlier tour" if old else "training included"
    tiles = [stop.headline for stop in stops.values() if stop.bill is not None]
    tiles.append((duration(seconds), f"for all of it, {how}"))
    shown = "".join(f'<div class="tile"><b>{value}</b>{said}</div>' for value, said in tiles)
    under = (
        f"Sequence models you can see, count and run. Made by Regard {__version__} with PyTorch "
        f"{torch.__version__.split('+')[0]} on {platform.system()}."
    )
    first = f'<div class="tiles">{shown}</div>\n{table(*figures(stops))}'
    sections = [Section(title, stop.html) for title, stop in stops.items()]
    return page("A tour of Regard", sections, under=under, first=first, contents=True)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """At most so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, count))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _advice(console: Console, out: Path) -> Iterator[None]:
    """Say how to go on where the tour was interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        console.print(f"The tour was stopped; go on with: [bold]regard tour --reuse --out {out}[/]")
        raise
