"""A language model that writes, token by token on a cache, and tells of each what else might have come."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor

from regard.data import Tokenizer
from regard.layers.attention import check_mixer
from regard.layers.block import TransformerBlock
from regard.layers.stack import causal
from regard.models import GPT
from regard.models.sampling import COLDEST, Sampling, likeliest
from regard.pattern import Pattern
from regard.probe.twin import twin
from regard.studio import limits
from regard.train.runs.language import LanguageRun
from regard.train.runs.run import Prompt

ALTERNATIVES = 8  # of a token that are told
GIVEN = 128  # tokens of a prompt


@dataclass(frozen=True)
class WrittenToken:
    """One token that was written: its chance, what else was likely, and what the cache then holds."""

    token: int
    chance: float
    plain: float  # of the model itself: temperature 1, nothing cut
    others: tuple[tuple[int, float], ...]  # the likeliest tokens and their chances, this one maybe among them
    cached: int  # bytes
    seconds: float


def prompt(run: LanguageRun, text: object, new: int) -> Prompt:
    """A prompt that is not too long; where positions end, its end alone and what then fits."""
    given = limits.text("prompt", text, limits.TEXT)
    limits.tokens("prompt", run.reader.encode(given), GIVEN)
    ids, notice = run.encoded(given)
    most = run.positions
    if most is None or len(ids) + new <= most:
        return Prompt(ids, new, notice)
    ids = ids[-(most // 2) :]
    room = min(new, most - len(ids))
    cut = f"its positions end at {most}, so {len(ids)} tokens of the prompt and {room} more fit"
    return Prompt(ids, room, "; ".join(filter(None, (notice, cut))))


def patterned(run: LanguageRun, pattern: Pattern) -> LanguageRun:
    """The run over the same weights, all of whose layers look as a pattern says, and back only.

    >>> from regard.pattern import Strided
    >>> from regard.train import open_run
    >>> run = open_run("zoo:play-gpt")
    >>> patterned(run, Strided(back=7)).gpt.cache(99).layers[0].pattern, run.gpt.blocks[0].attention.pattern
    (Strided(back=7), Causal())
    """
    model = cast(GPT, twin(run.model)).eval()
    for block in model.blocks:
        attention, shown = cast(TransformerBlock, block).attention, causal(pattern)
        position = attention.rotary  # ALiBi asks nothing of a pattern
        check_mixer(attention.mixer, shown, position)
        attention.pattern, attention.packs = shown, False
    return replace(run, model=model)


@torch.no_grad()
def written(run: LanguageRun, asked: Prompt, how: Sampling, seed: int) -> Iterator[WrittenToken]:
    """Token after token, the one that ends the text being the last."""
    gpt, draw = run.gpt, torch.Generator(run.device).manual_seed(seed)
    cache = gpt.cache(len(asked.ids) + asked.tokens)
    ids = torch.tensor([asked.ids], device=run.device)
    for _ in range(asked.tokens):
        begin = time.perf_counter()
        logits = gpt.logits(gpt.features(ids, cache=cache)[:, -1])
        token = int(how.pick(logits, draw))
        seconds = time.perf_counter() - begin
        shaped, plain = chances(logits[0], how), logits[0].float().softmax(-1)
        best = shaped.topk(min(ALTERNATIVES, len(shaped)))
        others = tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        yield WrittenToken(token, float(shaped[token]), float(plain[token]), others, cache.nbytes, seconds)
        if token in how.stop:  # type: ignore[operator]
            return
        ids = torch.tensor([[token]], device=run.device)


def chances(logits: Tensor, how: Sampling) -> Tensor:
    """The chance of each token (V,) to be drawn.

    >>> chances(torch.tensor([0.5, 0.3, 0.2]).log(), Sampling(temperature=1.0, top_k=2))
    tensor([0.6250, 0.3750, 0.0000])
    """
    logits = logits.float().clone()
    logits[[*how.ban]] = -torch.inf  # type: ignore[misc]
    if how.greedy:
        return torch.zeros_like(logits).index_fill_(0, logits.argmax(), 1.0)
    behind = (logits - logits.max()) / max(how.temperature, COLDEST)
    return likeliest(behind[None], how.top_k, how.top_p)[0].softmax(-1)


class Detokenised:
    """What each further token adds to a text as people write it; a start adds nothing.

    >>> from regard.data import WordTokenizer
    >>> text = Detokenised(WordTokenizer(["!", "I", "go"]))
    >>> [text.add(token) for token in (0, 4, 5, 3)]
    ['', 'I', ' go', '!']
    """

    def __init__(self, reader: Tokenizer) -> None:
        self.reader, self.ids, self.shown = reader, [], ""  # type: tuple[Tokenizer, list[int], str]

    def add(self, token: int) -> str:
        """What one more adds; a character of several tokens comes with the last of them."""
        if token in (self.reader.start, self.reader.pad, *self.reader.ends):
            return ""
        self.ids.append(token)
        text = self.reader.shown(self.ids)
        if text.endswith("\N{REPLACEMENT CHARACTER}") and self.reader.unk is None:
            return ""
        more, self.shown = text[len(self.shown) :], text
        return more

    def all(self, tokens: Sequence[int]) -> list[str]:
        """What each of several adds."""
        return [self.add(token) for token in tokens]
