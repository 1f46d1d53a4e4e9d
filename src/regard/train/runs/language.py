"""Language models in use: a prompt continued, token by token, and a look at what the next token hung on."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Unpack

import torch

from regard.data import Source
from regard.errors import check_int
from regard.layers import Learned
from regard.models import GPT
from regard.models.own_texts import OwnLanguageModel
from regard.models.sampling import Sampling, SamplingOptions
from regard.probe import TextLook
from regard.probe.report import WORST, EvaluationReport
from regard.train.runs.reading import ReadingRun
from regard.train.runs.run import Folder, Prediction, Prompt

USUAL = 200  # tokens where nobody asks for a number
NAMED = 5  # unknown characters or words that a notice lists
MOST = 10_000_000  # tokens that one call may ask for; more is taken for a slip


class LanguageRun(ReadingRun):
    """A GPT, or a language model of one's own, with its tokenizer."""

    @property
    def writer(self) -> GPT | OwnLanguageModel:
        """Its model, whoever made it."""
        if not isinstance(self.model, GPT | OwnLanguageModel):
            raise ValueError(
                f"{self.name} is a {type(self.model).__name__}, which writes no text: a GPT is needed"
            )
        return self.model

    @property
    def gpt(self) -> GPT:
        """Its model, which must be a GPT."""
        if not isinstance(found := self.writer, GPT):
            raise ValueError(f"{self.name} is a model of one's own, where a GPT is needed")
        return found

    def predict(self, inputs: object) -> list[Prediction]:
        """Nothing: it names no classes."""
        raise ValueError(
            "predict needs a classifier of images or texts, this model is for language; use regard generate"
        )

    def report(
        self,
        *,
        test: bool = False,
        data: Source | None = None,
        whole: bool = False,
        data_dir: Folder = None,
        worst: int = WORST,
    ) -> EvaluationReport:
        """Nothing: there are no classes to confuse and, without a recipe, no part that could be scored."""
        if self.recipe is not None:
            return super().report(test=test, worst=worst)  # which says who has one
        raise ValueError(
            f"{self.name} has no recipe that tells what text was held out, so there is nothing to score: "
            "its card has its score, and a run of `regard train` can be scored"
        )

    def look_at(self, text: str, *, steps: int = 32) -> TextLook:
        """What the token after one text hung on."""
        tokens = [self.reader.decode([i]) for i in range(self.reader.vocab)]
        return self.windows_seen(text, tokens, steps=steps)

    @property
    def positions(self) -> int | None:
        """How many positions it has learned; None where there is no end to them."""
        if isinstance(self.writer, OwnLanguageModel):
            return None
        config = self.writer.config
        return config.context if isinstance(config.position, Learned) else None

    def prompt(self, text: str, tokens: int | None = None) -> Prompt:
        """A prompt with its start token where the model was trained on dialogues, or a ValueError.

        Without `tokens`, 200 are to follow, or what fits.
        """
        ids, notice = self.encoded(text)
        most = self.positions
        left = None if most is None else most - len(ids)
        if tokens is None:
            tokens = USUAL if left is None else max(1, min(USUAL, left))
        check_int("tokens", tokens, 1, MOST)
        if left is not None and tokens > left:
            room = f"at most --tokens {left}" if left > 0 else "which leaves no room"
            raise ValueError(
                f"this model's learned positions end at {most}: a prompt of {len(ids)} tokens and {tokens} "
                f"more do not fit, {room}"
            )
        return Prompt(ids, tokens, notice)

    def encoded(self, text: str, name: str = "prompt") -> tuple[tuple[int, ...], str]:
        """The token ids of a prompt, which must hold a known one, and a notice where some are unknown.

        What is said calls it by `name`.
        """
        tokenizer, start = self.reader, self.reader.start
        words = tokenizer.encode(text)
        if not words:
            raise ValueError(f'the {name} has no tokens; give some text, such as "ROMEO:", got {text!r}')
        unknown = 0 if tokenizer.unk is None else words.count(tokenizer.unk)
        if unknown == len(words):
            every = (
                f"the one token of the {name} is"
                if unknown == 1
                else f"all {unknown} tokens of the {name} are"
            )
            raise ValueError(f"{every} unknown to this model, got {text[:60]!r}")
        begin = [start] if self.description.get("cut") == "dialogues" and start is not None else []
        notice = f"{unknown} of {len(words)} tokens of the {name} are unknown" if unknown else ""
        if unknown and (strange := tokenizer.strange(text)):
            more = f" and {len(strange) - NAMED} more" if len(strange) > NAMED else ""
            notice += f" ({', '.join(map(repr, strange[:NAMED]))}{more})"
        if 2 * unknown > len(words):
            notice += ": most of it, so that the text will have little to do with it"
        return (*begin, *words), notice

    def sampling(self, **how: Unpack[SamplingOptions]) -> Sampling:
        """How tokens are chosen: a start or padding ends a text, and the unknown token never comes."""
        tokenizer = self.reader
        stop = [one for one in (tokenizer.start, tokenizer.pad, *tokenizer.ends) if one is not None]
        ban = () if tokenizer.unk is None else (tokenizer.unk,)
        return replace(Sampling(stop=stop, ban=ban), **how)

    def tokens(self, prompt: Prompt, sampling: Sampling, seed: int = 0) -> Iterator[int]:
        """Token after token, until one that ends a text or until there are enough."""
        steps = self.writer.stream(
            torch.tensor([prompt.ids], device=self.device),
            max_new_tokens=prompt.tokens,
            sampling=sampling,
            generator=torch.Generator(self.device).manual_seed(seed),
        )
        for step in steps:
            if (token := int(step[0])) in sampling.stop:  # type: ignore[operator]
                return
            yield token

    def stream(
        self,
        prompt: str | Prompt,
        tokens: int | None = None,
        *,
        seed: int = 0,
        times: list[float] | None = None,
        **how: Unpack[SamplingOptions],
    ) -> Iterator[str]:
        """The text of `generate`, piece by piece: the prompt, then what each token adds.

        When each token came is appended to `times`, where that is given.

        >>> from regard.train import open_run
        >>> "".join(open_run("zoo:play-gpt").stream("PORTIA:", 5, temperature=0.0))[:7]
        'PORTIA:'
        """
        asked = self.prompt(prompt, tokens) if isinstance(prompt, str) else prompt
        steps = self.tokens(asked, self.sampling(**how), seed)
        return self._texts(asked, steps if times is None else _timed(steps, times))

    def _texts(self, prompt: Prompt, steps: Iterator[int]) -> Iterator[str]:
        tokenizer = self.reader
        starts = prompt.ids[:1] == (tokenizer.start,)
        seen, shown = list(prompt.ids[1:] if starts else prompt.ids), ""
        for token in chain([None], steps):
            if token is not None:
                seen.append(token)
            text = tokenizer.shown(seen)
            # A character of several bytes may still be incomplete: it is shown when it is whole.
            if text.endswith("\N{REPLACEMENT CHARACTER}") and tokenizer.unk is None:
                continue
            yield text[len(shown) :]
            shown = text


def _timed(tokens: Iterator[int], times: list[float]) -> Iterator[int]:
    """The same tokens, and when each came."""
    for token in tokens:
        times.append(time.perf_counter())
        yield token
