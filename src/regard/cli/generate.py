"""`regard generate RUN --prompt TEXT`: what a language model says after a text."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import AsJson, print_json
from regard.errors import check_int

if TYPE_CHECKING:
    import torch

    from regard.models import GPT

USUAL = 200  # tokens where nobody asks for a number
MOST = 10_000_000  # tokens that one call may ask for; more is taken for a slip

RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's folder, or zoo:NAME.", show_default=False)
]


def generate(  # noqa: PLR0913, PLR0917 - each is one option
    run: RunName,
    prompt: Annotated[str, typer.Option(help="The text to continue.", show_default=False)],
    tokens: Annotated[
        int | None,
        typer.Option(help=f"How many tokens to add; unset: {USUAL}, or what fits.", show_default=False),
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print the text as it arises.")] = False,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token.")] = 0.8,
    top_k: Annotated[
        int | None, typer.Option(help="Draw from so many likeliest.", show_default=False)
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw from the fewest that make up this share.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same text.")] = 0,
    device: Annotated[
        str, typer.Option(help="cpu or cuda; unset: cuda if there is one.", show_default=False)
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Continue a text with a trained language model.

    Example: regard generate zoo:dialogue --prompt "ROMEO:" --tokens 200 --stream
    """
    import torch

    from regard.layers import Learned
    from regard.zoo import open_run

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device not in ("cpu", "cuda") or (device == "cuda" and not torch.cuda.is_available()):
        raise ValueError(f"device must be cpu, or cuda where there is one, got {device!r}")
    found = open_run(run)
    model, tokenizer = language_model(run, found)
    cut = found.description.get("cut")
    ids, notice = prompt_ids(model, tokenizer, prompt, 1 if tokens is None else tokens, cut=cut)
    if tokens is None:
        learned = isinstance(model.config.position, Learned)
        tokens = min(USUAL, model.config.context - len(ids)) if learned else USUAL
    if notice:
        print(notice, file=sys.stderr)
    model = model.to(device)
    begin = time.perf_counter()
    steps = model.stream(
        torch.tensor([ids], device=device),
        max_new_tokens=tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        stop=[one for one in (tokenizer.start, tokenizer.pad) if one is not None],
        ban=() if tokenizer.unk is None else tokenizer.unk,
        generator=torch.Generator(device).manual_seed(seed),
    )
    pieces = texts(tokenizer, ids[len(ids) - len(tokenizer.encode(prompt)) :], steps)
    if stream and not as_json:
        try:
            for piece in pieces:
                print(piece, end="", flush=True)
        finally:  # after Ctrl-C too
            print()
        return
    text = "".join(pieces)
    seconds = time.perf_counter() - begin
    if as_json:
        print_json({"run": run, "prompt": prompt, "text": text, "seed": seed, "seconds": round(seconds, 3)})
    else:
        print(text)


def language_model(name: str, run: Any) -> tuple[GPT, Any]:
    """The model and the tokenizer of a run, or a ValueError where it does not write texts."""
    from regard.models import GPT

    if not isinstance(run.model, GPT):
        raise ValueError(f"{name} is a {type(run.model).__name__}, which writes no text: a GPT is needed")
    if run.tokenizer is None:
        raise ValueError(f"{name} has no tokenizer, so a prompt cannot be read")
    return run.model.eval(), run.tokenizer


def prompt_ids(
    model: GPT, tokenizer: Any, prompt: str, tokens: int, cut: str | None = None
) -> tuple[list[int], str]:
    """The prompt's ids, after a start token where the model was trained on dialogues, and a notice."""
    from regard.layers import Learned

    check_int("tokens", tokens, 1, MOST)
    words = tokenizer.encode(prompt)
    if not words:
        raise ValueError(f'the prompt has no tokens; give some text, as in --prompt "ROMEO:", got {prompt!r}')
    unknown = 0 if tokenizer.unk is None else words.count(tokenizer.unk)
    if unknown == len(words):
        raise ValueError(f"all {unknown} tokens of the prompt are unknown to this model, got {prompt!r}")
    starts = cut == "dialogues" and tokenizer.start is not None
    ids = [tokenizer.start, *words] if starts else list(words)
    if isinstance(model.config.position, Learned) and len(ids) + tokens > (most := model.config.context):
        left = most - len(ids)
        room = f"at most --tokens {left}" if left > 0 else "which leaves no room"
        raise ValueError(
            f"this model's learned positions end at {most}: a prompt of {len(ids)} tokens and {tokens} more "
            f"do not fit, {room}"
        )
    return ids, f"note: {unknown} of {len(words)} tokens of the prompt are unknown" if unknown else ""


def texts(tokenizer: Any, ids: Sequence[int], steps: Iterator[torch.Tensor]) -> Iterator[str]:
    """The text of the prompt and then, token by token, what is added to it."""
    seen, shown = list(ids), ""
    specials = {tokenizer.start, tokenizer.pad}
    for step in chain([None], steps):
        if step is not None:
            token = int(step[0])
            if token in specials:
                return
            seen.append(token)
        text = tokenizer.decode(seen)
        # A character of several bytes may still be incomplete: it is shown when it is whole.
        if text.endswith("\N{REPLACEMENT CHARACTER}") and tokenizer.unk is None:
            continue
        yield text[len(shown) :]
        shown = text
