"""`regard tour`: patterns drawn and counted, a model priced, three models trained; all of it on one page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console

from regard.cli.options import AsJson, print_json

# Models this small gain little from a second thread, and lose much where another program has the core; with
# one, the tour says the same on every machine of a kind.
THREADS = 1

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where index.html and the runs go.")]
Reuse = Annotated[
    bool, typer.Option("--reuse", help="Keep the finished runs of an earlier tour, go on with others.")
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", min=1, help="Train for so few steps, to see it work.", show_default=False),
]


def tour(out: Out = Path("tour"), reuse: Reuse = False, steps: Steps = None, as_json: AsJson = False) -> None:
    """Draw and count patterns, price a model, train three small ones, and write FOLDER/index.html.

    Takes under four minutes on two cores, without network. Example: regard tour --out tour
    """
    from regard.cli.tour_runs import Workshop
    from regard.cli.tour_stops import STOPS, figures, whole_page
    from regard.files import write
    from regard.paper.quantities import duration
    from regard.paper.tables import listed

    console, begun = Console(highlight=False, quiet=as_json), perf_counter()
    shop, sections, path = Workshop(out, reuse, steps, quiet=as_json), [], out / "index.html"
    shop.begin()
    with _threads(THREADS), _advice(console, out):
        for number, (title, stop) in enumerate(STOPS.items(), start=1):
            console.rule(f"[bold]{number} of {len(STOPS)} · {title}[/]", align="left")
            section = stop(shop)
            sections.append(section)
            for part in (*section.terminal, ""):
                console.print(part)
    seconds = perf_counter() - begun
    # The page of an earlier tour stays until this one is whole.
    write(path, whole_page(shop, sections, seconds).encode())
    if as_json:
        found = {section.title: section.data for section in sections}
        print_json({"out": str(path), "seconds": round(seconds, 1), "sections": found})
        return
    console.rule("[bold]The tour in figures[/]", align="left")
    console.print(listed(*figures(shop, sections)))
    console.print(f"\n{duration(seconds)} in all. Open [bold]{path}[/] for all of it with pictures.")


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """At most so many threads for a while."""
    import torch

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
