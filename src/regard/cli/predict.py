"""`regard predict RUN INPUT…`: what a model takes an image or a text for, and which words made it so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from regard.cli.look import coloured, sections
from regard.cli.options import AsJson, Device, RunName, Trust

if TYPE_CHECKING:
    from regard.train import Prediction, Run

Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with heat maps.")
]
Words = Annotated[
    bool | None,
    typer.Option("--words/--no-words", help="Say which words made it so; of few texts that is done anyway."),
]
FEW = 8  # texts whose words are looked at unasked: that takes some thirty times as long as the answer


def predict(
    run: RunName,
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Image files, texts or .txt files.")
    ],
    html: Html = None,
    words: Words = None,
    device: Device = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Say what each input is, how likely that is and, of a text, which words made it so.

    Words are coloured by attention and by gradient; without colours there is a table of the strongest words.
    Of more than eight texts each has one line, unless --words is given.

    Example: regard predict zoo:verdicts-encoder "Not one dull minute."
    """
    from regard.train import open_run
    from regard.train.devices import chosen_device

    opened = open_run(run, device=chosen_device(device), trust=trust)
    few = len(inputs) <= FEW or html is not None
    explained = few if words is None else words
    found = opened.explain(inputs) if explained else opened.predict(inputs)
    if html is not None:
        write(html, run, opened, found)
    if as_json:
        print(json.dumps([one.as_dict() for one in found], ensure_ascii=False))
        return
    show(found, Console(highlight=False))
    if words is None and not few and opened.kind == "texts":
        print("Which words made it so: add --words")
    if html is not None:
        print(f"Open {html}")


def show(found: list[Prediction], console: Console) -> None:
    """Label, probability and the coloured text; of an image the first two."""
    from regard.probe import text_terminal
    from regard.train import TextPrediction

    for i, one in enumerate(found):
        notice = f"  ({one.notice})" if one.notice else ""
        if not isinstance(one, TextPrediction):
            print(f"{one.label} {one.probability:.1%}  {shortened(one.input)}{notice}")
            continue
        if i:
            console.rule(style="dim")
        if one.notice:
            console.print(Text(one.notice, style="italic"))
        console.print(text_terminal(one.look, width=console.width, colour=coloured(console)))


def write(path: Path, run: str, opened: Run, found: list[Prediction]) -> None:
    """The page with heat maps of every input."""
    from regard import probe
    from regard.train import Look, TextPrediction

    texts = [one.look for one in found if isinstance(one, TextPrediction)]
    look = Look("texts", texts=tuple(texts)) if texts else opened.look([one.input for one in found])
    if len(texts) > 1:
        notices = [f"Text {i}: {one.notice}" for i, one in enumerate(found, start=1) if one.notice]
    else:
        notices = [one.notice for one in found if one.notice] if texts else list(look.notices)
    page = probe.page(f"Inside {Path(run).name}", sections(look), under=" · ".join(notices))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def shortened(text: str, most: int = 60) -> str:
    """The text on one line, its end cut off where it is long.

    >>> shortened("a  review\\nof a film", 12)
    'a review...'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3].rstrip()}..."
