"""A language model that writes: its prompt, token by token with and without a cache, and how fast."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

import torch

from regard.models.sampling import Sampling
from regard.studio import limits
from regard.studio.budget import Budget
from regard.train.runs.language import LanguageRun
from regard.train.runs.run import Prompt

MEASURED = 48  # tokens that a speed is taken over


@dataclass(frozen=True)
class Decoding:
    """How tokens are chosen, with what luck, and whether keys and values are kept."""

    sampling: Sampling = Sampling(temperature=0.8)  # noqa: RUF009 - a frozen value
    seed: int = 0
    cached: bool = True


@dataclass(frozen=True)
class Continuation:
    """A text as token ids, how many of them were the prompt, and the seconds that the others took."""

    name: str
    ids: tuple[int, ...]
    given: int
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens per second."""
        return (len(self.ids) - self.given) / self.seconds if self.seconds > 0 else 0.0


def prompt(run: LanguageRun, text: object, new: int) -> Prompt:
    """A prompt that is not too long; where positions end, its end alone and what then fits."""
    given = limits.text("a prompt", text, limits.TEXT)
    limits.tokens("a prompt", run.reader.encode(given))
    ids, notice = run.encoded(given)
    most = run.positions
    if most is None or len(ids) + new <= most:
        return Prompt(ids, new, notice)
    ids = ids[-(most // 2) :]
    room = min(new, most - len(ids))
    cut = f"its positions end at {most}, so {len(ids)} tokens of the prompt and {room} more fit"
    return Prompt(ids, room, "; ".join(filter(None, (notice, cut))))


def write(run: LanguageRun, prompt: Prompt, how: Decoding) -> Iterator[int]:
    """Token after token, until one that ends the text."""
    if how.cached:
        return run.tokens(prompt, how.sampling, how.seed)
    return _anew(run, prompt, how)


@torch.no_grad()
def _anew(run: LanguageRun, prompt: Prompt, how: Decoding) -> Iterator[int]:
    """The same without a cache: all keys and values are computed again for every token."""
    ids, draw = torch.tensor([prompt.ids]), torch.Generator().manual_seed(how.seed)
    for _ in range(prompt.tokens):
        token = how.sampling.pick(run.gpt(ids)[:, -1], draw)
        if int(token) in how.sampling.stop:  # type: ignore[operator]
            return
        yield int(token)
        ids = torch.cat([ids, token[:, None]], dim=1)


def speeds(run: LanguageRun, prompt: Prompt) -> Iterator[tuple[str, float, int]]:
    """(with or without a cache, tokens per second, tokens), the likeliest token each time."""
    ids, new, most, budget = prompt.ids, MEASURED, run.positions, Budget()
    if most is not None:
        ids = ids[-max(1, most - new) :]
        new = min(new, most - len(ids))
    measured = Prompt(ids, new)
    for cached in (True, False):
        how = Decoding(Sampling(), cached=cached)
        list(write(run, replace(measured, tokens=min(2, new)), how))  # the first call sets memory up
        begin = time.perf_counter()
        count = sum(1 for _ in takewhile(lambda _: not budget.over, write(run, measured, how)))
        yield ("with" if cached else "without"), count / (time.perf_counter() - begin), count
