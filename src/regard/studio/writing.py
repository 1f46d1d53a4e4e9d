"""A language model that writes: its prompt, token by token with and without a cache, and how fast."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

import torch
from torch import Tensor

from regard.data import Tokenizer
from regard.layers import Learned
from regard.models import GPT
from regard.models.sampling import Sampling
from regard.studio import limits
from regard.studio.budget import Budget
from regard.train import Run

MEASURED = 48  # tokens that a speed is taken over


@dataclass(frozen=True)
class Manner:
    """How tokens are chosen, and whether keys and values are kept."""

    temperature: float = 0.8
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    cached: bool = True


@dataclass(frozen=True)
class Told:
    """A text as token ids, how many of them were the prompt, and the seconds that the others took."""

    name: str
    ids: tuple[int, ...]
    given: int
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens per second."""
        return (len(self.ids) - self.given) / self.seconds if self.seconds > 0 else 0.0


def parts(run: Run) -> tuple[GPT, Tokenizer]:
    """The model and the tokenizer of a run that writes."""
    if not isinstance(run.model, GPT) or run.tokenizer is None:
        raise ValueError(f"a GPT with a tokenizer is needed to write, got {type(run.model).__name__}")
    return run.model, run.tokenizer


def prompt(run: Run, text: object, new: int) -> tuple[list[int], int, str]:
    """The ids of a prompt, how many tokens may follow, and a notice where either was cut."""
    model, tokenizer = parts(run)
    ids = list(tokenizer.encode(limits.text("a prompt", text, limits.TEXT)))
    limits.tokens("a prompt", ids)
    if not ids:
        raise ValueError("the prompt has no tokens: give it some text")
    unknown = 0 if tokenizer.unk is None else ids.count(tokenizer.unk)
    if unknown == len(ids):
        raise ValueError("this model knows nothing of this prompt: try other words")
    notice = f"{unknown} of {len(ids)} tokens of the prompt are unknown to it" if unknown else ""
    if run.description.get("cut") == "dialogues" and tokenizer.start is not None:
        ids = [tokenizer.start, *ids]
    if not isinstance(model.config.position, Learned) or len(ids) + new <= model.config.context:
        return ids, new, notice
    most = model.config.context
    ids = ids[-(most // 2) :]
    room = min(new, most - len(ids))
    cut = f"its positions end at {most}, so {len(ids)} tokens of the prompt and {room} more fit"
    return ids, room, "; ".join(filter(None, (notice, cut)))


def write(
    model: GPT, ids: list[int], new: int, how: Manner, stop: list[int], ban: tuple[int, ...] = ()
) -> Iterator[int]:
    """Token after token, none of those in `ban`."""
    draw = torch.Generator().manual_seed(how.seed)
    start = torch.tensor([ids])
    if how.cached:
        steps = model.stream(
            start, max_new_tokens=new, temperature=how.temperature, top_k=how.top_k, top_p=how.top_p,
            stop=stop, ban=ban, generator=draw,
        )  # fmt: skip
    else:
        steps = _anew(model, start, new, Sampling(how.temperature, how.top_k, how.top_p, ban=ban), draw)
    for step in steps:
        token = int(step[0])
        if token in stop:
            return
        yield token


@torch.no_grad()
def _anew(model: GPT, tokens: Tensor, new: int, how: Sampling, draw: torch.Generator) -> Iterator[Tensor]:
    """The same without a cache: all keys and values are computed again for every token."""
    for _ in range(new):
        token = how.pick(model(tokens)[:, -1], draw)
        yield token
        tokens = torch.cat([tokens, token[:, None]], dim=1)


def speeds(run: Run, ids: list[int]) -> Iterator[tuple[str, float, int]]:
    """(with or without a cache, tokens per second, tokens), the likeliest token each time."""
    model, _ = parts(run)
    new, budget = MEASURED, Budget()
    if isinstance(model.config.position, Learned):
        ids = ids[-max(1, model.config.context - new) :]
        new = min(new, model.config.context - len(ids))
    for cached in (True, False):
        how = Manner(temperature=0.0, cached=cached)
        list(write(model, ids, min(2, new), how, []))  # the first call sets memory up
        begin = time.perf_counter()
        count = sum(1 for _ in takewhile(lambda _: not budget.over, write(model, ids, new, how, [])))
        yield ("with" if cached else "without"), count / (time.perf_counter() - begin), count
