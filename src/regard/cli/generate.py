"""`regard generate RUN --prompt TEXT`: what a language model says after a text."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from torch import nn

from regard.cli.options import AsJson, Device, RunName, Trust, length, print_json


def _say_speed(model: nn.Module, prompt: int, times: list[float]) -> None:
    """Tokens a second behind the first one, and how near that is to what memory allows."""
    from regard.cost.memory import model_floor
    from regard.models import GPT

    if len(times) < 2 or times[-1] == times[0]:
        return
    speed = (len(times) - 1) / (times[-1] - times[0])
    told = f"{len(times)} tokens, {speed:,.0f} a second"
    if isinstance(model, GPT):
        floor = model_floor(model, prompt, len(times))
        share = 100 * speed / floor.tokens_a_second
        told += f" by {model.decoding().impl}: {share:.0f} % of the floor, {floor}"
    print(told, file=sys.stderr)


def generate(  # noqa: PLR0913, PLR0917 - each is one option
    run: RunName,
    prompt: Annotated[str, typer.Option(help="The text to continue.")],
    tokens: Annotated[
        str | None,
        typer.Option(metavar="N", help="How many tokens to add, as 200 or 1k; unset: 200, or what fits."),
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print the text as it arises.")] = False,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token.")] = 0.8,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many likeliest.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from the fewest that make up this share.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same text.")] = 0,
    device: Device = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Continue a text with a trained language model.

    Example: regard generate zoo:dialogue --prompt "ROMEO:" --tokens 200 --stream
    """
    from regard.train import open_run
    from regard.train.devices import chosen_device

    opened = open_run(run, device=chosen_device(device), trust=trust, writes=True)
    asked = opened.prompt(prompt, None if tokens is None else length("tokens", tokens))
    if asked.notice:
        print(f"note: {asked.notice}", file=sys.stderr)
    begin = time.perf_counter()
    times: list[float] = []
    pieces = opened.stream(asked, seed=seed, times=times, temperature=temperature, top_k=top_k, top_p=top_p)
    if stream and not as_json:
        try:
            for piece in pieces:
                print(piece, end="", flush=True)
        finally:  # after Ctrl-C too
            print()
            _say_speed(opened.model, len(asked.ids), times)
        return
    text = "".join(pieces)
    seconds = time.perf_counter() - begin
    if as_json:
        print_json({"run": run, "prompt": prompt, "text": text, "seed": seed, "seconds": round(seconds, 3)})
    else:
        print(text)
