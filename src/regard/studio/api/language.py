"""The Language room: models write, one or two side by side; every token tells what it looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import torch

from regard.models.sampling import Sampling
from regard.probe import see
from regard.studio import limits
from regard.studio.api.body import Body
from regard.studio.api.one_token import packed
from regard.studio.api.patterns import read as read_pattern
from regard.studio.limits import FieldError
from regard.studio.models import here
from regard.studio.speech import label, writers
from regard.studio.writing import GIVEN, Detokenised, WrittenToken, patterned, prompt, written
from regard.train.runs.language import LanguageRun

DEFAULT = "zoo:dialogue"
NEW = 256  # tokens written at once


def models(body: Body) -> dict[str, object]:
    """The models that write, the one to begin with first."""
    return writers(DEFAULT)


def write(body: Body) -> Iterator[dict[str, object]]:
    """What one model or two write, in turns, a token each; every part names its side."""
    names = ("a", "b") if body.flag("compare", False) else ("a",)
    new, seed = body.whole("tokens", 1, NEW, 100), body.whole("seed", 0, 2**31, 0)
    sides = [_Side(name, side(body, name), body, new, seed) for name in names]
    for one in sides:
        yield one.begun()
    while any(not one.over for one in sides):
        for one in sides:
            if not one.over:
                yield one.next()


def attention(body: Body) -> dict[str, object]:
    """The weights (N,N) of one layer and head over these tokens; 0 takes the mean over layers or heads."""
    run = side(body, body.choice("side", ("a", "b"), "a"))
    config, ids = run.gpt.config, [_token(one, run) for one in body.items("ids", GIVEN + NEW + 1)]
    layer, head = body.whole("layer", 0, config.depth, 0), body.whole("head", 0, config.heads, 0)
    if not ids:
        raise FieldError("ids", "ids must hold a token")
    weights = see(run.gpt, torch.tensor([ids])).weights[0]  # L H N N
    weights = weights if layer == 0 else weights[layer - 1 : layer]
    weights = weights if head == 0 else weights[:, head - 1 : head]
    return {"weights": packed(weights.mean((0, 1)))}


def side(body: Body, name: str) -> LanguageRun:
    """The model of a side, looking as its pattern says where one is given."""
    run = here().open(body.text(f"model{name}", 200), LanguageRun)
    if not body.text(f"pattern{name}", limits.EXPRESSION, "").strip():
        return run
    try:
        return patterned(run, read_pattern(body, f"pattern{name}"))
    except FieldError:
        raise
    except ValueError as error:
        raise FieldError(f"pattern{name}", str(error)) from error


def sampling(body: Body, run: LanguageRun) -> Sampling:
    """The controls as a value; top-k 0 and top-p 1 leave everything in."""
    k, p = body.whole("topk", 0, 1000, 0), body.real("topp", 0.01, 1.0, 1.0)
    return run.sampling(
        temperature=body.real("temperature", 0.0, 5.0, 0.8), top_k=k or None, top_p=None if p == 1 else p
    )


def _token(given: object, run: LanguageRun) -> int:
    return limits.whole("ids", given, 0, run.reader.vocab - 1)


class _Side:
    """One model that writes."""

    def __init__(self, name: str, run: LanguageRun, body: Body, new: int, seed: int) -> None:
        try:
            self.asked = prompt(run, body.text("prompt", limits.TEXT), new)
        except FieldError:
            raise
        except ValueError as error:
            raise FieldError("prompt", str(error)) from error
        self.name, self.run, self.how = name, run, sampling(body, run)
        self.text = Detokenised(run.reader)
        self.steps = written(run, self.asked, self.how, seed)
        self.over, self.count = False, 0

    def begun(self) -> dict[str, object]:
        """The prompt, and what had to be done to it."""
        told = zip(self.asked.ids, self.text.all(self.asked.ids), strict=True)
        given = [[token, label(self.run.reader, token), text] for token, text in told]
        return {"side": self.name, "given": given, "notice": self.asked.notice}

    def next(self) -> dict[str, object]:
        """One more token, or why there is none."""
        with suppress(StopIteration):
            step = self._step()
            if step.token in self.how.stop:  # type: ignore[operator]
                self.over = True
                return {"side": self.name, "over": "the model ended its text here"}
            return self._told(step)
        self.over = True
        return {"side": self.name, "over": ""}

    def _step(self) -> WrittenToken:
        try:
            return next(self.steps)
        except ValueError as error:  # a pattern that ends, or that a cache cannot serve
            raise FieldError(f"pattern{self.name}", str(error)) from error

    def _told(self, step: WrittenToken) -> dict[str, object]:
        reader, self.count = self.run.reader, self.count + 1
        return {
            "side": self.name,
            "token": [step.token, label(reader, step.token), self.text.add(step.token)],
            "chance": step.chance, "plain": step.plain, "bytes": step.cached, "seconds": step.seconds,
            "others": [[label(reader, token), chance] for token, chance in step.others],
        }  # fmt: skip
