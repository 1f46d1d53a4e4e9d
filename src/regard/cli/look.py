"""`regard look RUN INPUT…`: where a model looked, as a picture and as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from regard.cli.options import AsJson, DataDir, Device, RunName, Trust, print_json
from regard.errors import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regard.probe import Section
    from regard.train import Look

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where look.html and the PNG files go.")]
Labels = Annotated[
    str | None, typer.Option("--labels", help="The true classes of images, with commas between.")
]
Looked = Annotated[
    str | None,
    typer.Option(
        "--pattern", help="Of a transformers model: who looks at whom; with ; between, one for each layer."
    ),
]


def look(  # noqa: PLR0913, PLR0917 - each is one option
    run: RunName,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="Image files, texts or .txt files; none, for a run of images: ten that training held out.",
        ),
    ] = None,
    out: Out = Path("look"),
    labels: Labels = None,
    pattern: Looked = None,
    data_dir: DataDir = None,
    device: Device = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Show where a model looked and what moved its answer; write FOLDER/look.html and PNG files.

    RUN may be a folder of transformers: a language model, an encoder, or a model of images.

    Example: regard look zoo:vit-cifar10 cat.png --labels cat
    """
    from regard.train import open_run
    from regard.train.devices import chosen_device

    names = None if labels is None else [label.strip() for label in labels.split(",")]
    opened = open_run(run, device=chosen_device(device), trust=trust)
    if pattern is not None:
        layers = [one.strip() or None for one in pattern.split(";")]
        opened = opened.with_pattern(layers if len(layers) > 1 else pattern)
    found = opened.look(inputs or [], labels=names, data_dir=data_dir)
    files = write(found, run, out)
    if as_json:
        print_json(found.as_dict() | {"files": [str(file) for file in files]})
        return
    show(found, Console(highlight=False), files)


def write(found: Look, run: str, out: Path) -> list[Path]:
    """The page and the pictures."""
    from regard import probe

    out.mkdir(parents=True, exist_ok=True)
    files = [out / "look.html"]
    page = probe.page(f"Inside {Path(run).name}", sections(found), under=" · ".join(found.notices))
    files[0].write_text(page, encoding="utf-8")
    try:
        need("matplotlib", "plot")
    except ImportError as error:  # the page does without
        print(f"note: no PNG files: {error}", file=sys.stderr)
        return files
    for name, figure in figures(found).items():
        files.append(out / f"{name}.png")
        probe.save_figure(figure, files[-1])
    return files


def sections(found: Look) -> list[Section]:
    """The sections of the page."""
    from regard import probe

    out: list[Section] = []
    if found.images is not None:
        out.append(probe.images_section(found.images))
        if found.images.heads is not None:
            out += [probe.heads_section(found.images, i) for i in range(len(found.images.pictures))]
    for i, text in enumerate(found.texts, start=1):
        out.append(probe.text_section(text, f"Text {i}" if len(found.texts) > 1 else "What it read"))
    if found.completion is not None:
        out.append(probe.completion_section(found.completion))
    return out


def figures(found: Look) -> dict[str, Figure]:
    """The figures by name."""
    from regard import probe

    out = {}
    if found.images is not None:
        out["look"] = probe.images_figure(found.images)
        for i in range(len(found.images.pictures) if found.images.heads is not None else 0):
            out[f"heads-{i + 1}"] = probe.heads_figure(found.images, i)
    for i, text in enumerate(found.texts, start=1):
        out[f"look-{i}" if len(found.texts) > 1 else "look"] = probe.text_figure(text)
    if found.completion is not None:
        out["look"] = probe.completion_figure(found.completion)
    return out


def coloured(console: Console) -> bool:
    """Whether colours will show: in a terminal that has them, unless NO_COLOR is set."""
    return console.is_terminal and console.color_system is not None and not console.no_color


def show(found: Look, console: Console, files: list[Path]) -> None:
    """What was found, in the terminal."""
    from regard import probe

    for notice in found.notices:
        console.print(Text(notice, style="dim"), soft_wrap=True)
    if found.images is not None:
        for i, name in enumerate(found.images.names):
            truth = found.images.truth(i)
            line = f"  {name}" + (f", true {truth}" if truth else "")
            console.print(Text.assemble((found.images.title(i), "bold"), line), soft_wrap=True)
    for text in found.texts:
        console.print(probe.text_terminal(text, width=console.width, colour=coloured(console)), "")
    if found.completion is not None:
        console.print(f"{100 * found.completion.same:.1f} % of the made-up pixels hit the true level")
    pictures = ", ".join(str(file) for file in files[1:])
    figures = f"; figures: {pictures}" if pictures else ""
    console.print(Text(f"Open {files[0]}{figures}"), soft_wrap=True)
