"""Models of one's own that read tokens, called as ours are: a language model, and a classifier of texts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Unpack

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.importing import reason
from regard.layers import Trace
from regard.models.sampling import Sampling, SamplingOptions
from regard.models.trunk import check_tokens

NOISE = 1e-3  # of the largest logit: what sums in another order may change


class OwnReader(nn.Module):
    """A module around one's own, `inner`, which is called with tokens (B,N) and what its `forward` names.

    That may be `segments` (0, and −1 for padding), `mask` (true for real tokens), `attention_mask` (the same
    as numbers), `generator` and `trace`. It gives logits, a tuple that begins with them, or an object whose
    `logits` they are.
    """

    def __init__(self, inner: nn.Module, *, vocab: int, context: int) -> None:
        super().__init__()
        self.inner, self.vocab, self.context = inner, vocab, context
        self.takes = frozenset(inspect.signature(inner.forward).parameters)

    def forward(
        self,
        tokens: Tensor,
        *,
        segments: Tensor | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """The logits of one's own model."""
        given: dict[str, object] = {}
        if segments is not None:
            real = segments >= 0
            given = {"segments": segments, "mask": real, "attention_mask": real.long()}
        if trace is not None:
            given["trace"] = trace
        if generator is not None:
            given["generator"] = generator
        out = self.inner(tokens, **{name: one for name, one in given.items() if name in self.takes})
        if isinstance(out, Tensor):
            return out
        return out[0] if isinstance(out, tuple) else out.logits

    @torch.no_grad()
    def _tried(self, name: str, tokens: Tensor, wanted: tuple[int, ...], **given: Tensor) -> Tensor:
        """What it gives for tokens, if that has the wanted shape; a ValueError of one line if not."""
        mode = self.training
        try:
            out = self.eval()(tokens, **given)
        except Exception as error:
            size = tuple(tokens.shape)
            raise ValueError(f"the model of {name} does not take tokens {size}: {reason(error)}") from error
        finally:
            self.train(mode)
        if not isinstance(out, Tensor) or tuple(out.shape) != wanted:
            got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
            raise ValueError(f"the model of {name} must give logits {wanted}, got {got}")
        return out


class OwnClassifier(OwnReader):
    """One's own classifier of texts: logits (B,classes)."""

    def __init__(self, inner: nn.Module, *, vocab: int, context: int, classes: int) -> None:
        super().__init__(inner, vocab=vocab, context=context)
        self.classes = classes

    def try_out(self, name: str) -> None:
        """Raise unless it reads two texts, one of them padded, and gives a logit for each class."""
        tokens = torch.arange(2 * self.context).remainder(self.vocab).view(2, -1)
        segments = torch.zeros_like(tokens)
        segments[1, 1:] = -1
        self._tried(name, tokens, (2, self.classes), segments=segments)


class OwnLanguageModel(OwnReader):
    """One's own language model: at every position, logits (B,N,vocab) for the token that follows."""

    def try_out(self, name: str) -> None:
        """Raise unless it gives logits for two rows of tokens, and those before a token do not know it."""
        tokens = torch.arange(2 * self.context).remainder(self.vocab).view(2, -1)
        before = self._tried(name, tokens, (2, self.context, self.vocab))
        tokens[:, -1] = (tokens[:, -1] + 1) % self.vocab
        after = self._tried(name, tokens, (2, self.context, self.vocab))
        off = (after - before)[:, :-1].abs().amax((0, 2))
        if len(off) and bool((off > NOISE * before.abs().max()).any()):
            at = int((off > NOISE * before.abs().max()).nonzero()[0])
            raise ValueError(
                f"the model of {name} looks ahead: its logits at position {at} change with the token at "
                f"position {self.context - 1}; a language model must be causal"
            )

    @torch.no_grad()
    def stream(
        self,
        tokens: Tensor,
        *,
        max_new_tokens: int,
        sampling: Sampling = Sampling(),  # noqa: B008 - a frozen value
        generator: torch.Generator | None = None,
        **options: Unpack[SamplingOptions],
    ) -> Iterator[Tensor]:
        """Yield the next token of every row (B,), each from the last `context` tokens read anew.

        A row that stopped repeats its stop.
        """
        check_tokens("tokens", tokens)
        check_int("max_new_tokens", max_new_tokens, 0)
        how = replace(sampling, **options)
        how.check(self.vocab)
        stops = torch.tensor(how.stop, dtype=torch.long, device=tokens.device)
        ended = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
        for _ in range(max_new_tokens):
            found = how.pick(self(tokens[:, -self.context :])[:, -1], generator).to(tokens.dtype)
            last = torch.where(ended, tokens[:, -1], found)
            yield last
            ended |= torch.isin(last, stops)
            if bool(ended.all()):
                return
            tokens = torch.cat([tokens, last[:, None]], 1)

    def generate(
        self,
        tokens: Tensor,
        *,
        max_new_tokens: int,
        sampling: Sampling = Sampling(),  # noqa: B008 - a frozen value
        generator: torch.Generator | None = None,
        **options: Unpack[SamplingOptions],
    ) -> Tensor:
        """The tokens (B,T) continued by up to `max_new_tokens`."""
        steps = self.stream(
            tokens, max_new_tokens=max_new_tokens, sampling=sampling, generator=generator, **options
        )
        return torch.cat([tokens, *(token[:, None] for token in steps)], dim=1)
