"""GPT: at every position, logits for the token that follows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.layers import Assembly, Cache, Learned, Position, PreNorm, Trace, cycle
from regard.layers.stack import check_pattern
from regard.models.sampling import check_sampling, pick
from regard.models.trunk import Trunk, check_part, check_tokens, check_trunk
from regard.pattern import (
    And,
    Causal,
    Dilated,
    Full,
    Pattern,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
)


@dataclass(frozen=True)
class Tied:
    """The logits are products with the token embedding itself."""


@dataclass(frozen=True)
class Untied:
    """The logits come from a Linear of their own."""

    bias: bool = True


Head = Tied | Untied


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """The shape of a GPT; `pattern` may be a sequence, which is cycled over depth.

    >>> from regard.pattern import Strided
    >>> config = GPTConfig(vocab=50, context=64, depth=3, pattern=[Strided(back=7), Causal()])
    >>> config.patterns
    (Strided(back=7), Causal(), Strided(back=7))
    """

    vocab: int
    context: int
    depth: int = 6
    width: int = 384
    heads: int = 6
    kv_heads: int | None = None
    head_width: int | None = None
    pattern: Pattern | Sequence[Pattern] = Causal()  # noqa: RUF009 - a frozen value
    position: Position = Learned()  # noqa: RUF009 - a frozen value
    block: Assembly = PreNorm()  # noqa: RUF009 - a frozen value
    head: Head = Tied()
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_int("vocab", self.vocab, 1)
        check_int("context", self.context, 1)
        object.__setattr__(self, "pattern", check_pattern(self.pattern))
        cycle(self.pattern, self.depth)
        check_part("position", self.position, Position)
        check_part("head", self.head, Head)
        check_trunk(
            self.width,
            self.heads,
            self.head_width,
            self.block,
            dropout=self.dropout,
            kv_heads=self.kv_heads,
            position=self.position,
        )

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """What each block applies: always causal."""
        return tuple(causal(pattern) for pattern in cycle(self.pattern, self.depth))

    @property
    def head_size(self) -> int:
        """The width of one head."""
        return self.width // self.heads if self.head_width is None else self.head_width


class GPT(Trunk):
    """A causal language model.

    >>> model = GPT(GPTConfig(vocab=50, context=16, depth=2, width=32, heads=4))
    >>> model(torch.zeros(5, 7, dtype=torch.long)).shape
    torch.Size([5, 7, 50])
    """

    def __init__(self, config: GPTConfig, *, generator: torch.Generator | None = None) -> None:
        device = torch.get_default_device()
        with torch.device("meta"):
            super().__init__(
                config.patterns,
                config.block,
                width=config.width,
                heads=config.heads,
                kv_heads=config.kv_heads,
                head_width=config.head_width,
                position=config.position,
                dropout=config.dropout,
            )
            self.config = config
            self.embed = nn.Embedding(config.vocab, config.width)
            self.position = config.position.build(config.context, config.width)
            self.head = (
                nn.Linear(config.width, config.vocab, config.head.bias)
                if isinstance(config.head, Untied)
                else None
            )
        self.fill(device, generator)

    def features(
        self,
        tokens: Tensor,
        *,
        segments: Tensor | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map tokens (B,N) to what the head reads (B,N,C)."""
        check_tokens("tokens", tokens)
        if segments is not None:
            check_tokens("segments", segments, tokens.shape)
        x = self.embed(tokens)
        if self.position is not None:
            x = self.position(x, 0 if cache is None else cache.length)
        x = self.run(x, segments=segments, cache=cache, trace=trace, generator=generator)
        return self.output_norm(x)

    def forward(
        self,
        tokens: Tensor,
        *,
        segments: Tensor | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map tokens (B,N) to logits (B,N,vocab); with a cache, these are the new tokens."""
        x = self.features(tokens, segments=segments, cache=cache, trace=trace, generator=generator)
        return self.logits(x)

    def logits(self, x: Tensor) -> Tensor:
        """Map features (…,C) to logits (…,vocab)."""
        return x @ self.embed.weight.T if self.head is None else self.head(x)

    def cache(self, capacity: int) -> Cache:
        """An empty cache for so many positions."""
        return Cache(self.config.patterns, capacity)

    def stream(
        self,
        tokens: Tensor,
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: int | Collection[int] = (),
        segments: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Iterator[Tensor]:
        """Yield the next token of every row (B,), again and again; a row that stopped repeats its stop."""
        check_prompt(self.config, tokens, max_new_tokens, segments)
        check_sampling(temperature, top_k, top_p)
        choose = partial(pick, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        stops = torch.tensor([stop] if isinstance(stop, int) else sorted(stop), dtype=tokens.dtype)
        return steps(self, tokens, max_new_tokens, choose, stops.to(tokens.device), segments)

    def generate(
        self,
        tokens: Tensor,
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: int | Collection[int] = (),
        segments: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """The tokens (B,T) continued by up to `max_new_tokens`; temperature 0 takes the likeliest.

        Prompts of unequal length are padded on the left, with segments −1 there. Generation ends early
        when every row has met one of the `stop` tokens.
        """
        found = self.stream(
            tokens,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            stop=stop,
            segments=segments,
            generator=generator,
        )
        return torch.cat([tokens, *(token[:, None] for token in found)], dim=1)


@torch.no_grad()
def steps(
    model: GPT,
    tokens: Tensor,
    count: int,
    choose: Callable[[Tensor], Tensor],
    stops: Tensor,
    segments: Tensor | None,
) -> Iterator[Tensor]:
    """Read the prompt, then one token at a time, each chosen from the logits (B,V)."""
    ended = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    cache, new, last = model.cache(tokens.shape[1] + count), tokens, tokens[:, -1]
    for _ in range(count):
        x = model.features(new, segments=segments, cache=cache)[:, -1]
        last = torch.where(ended, last, choose(model.logits(x)).to(tokens.dtype))
        yield last
        if len(stops):
            ended = ended | torch.isin(last, stops)
            if bool(ended.all()):
                return
        new = last[:, None]
        segments = None if segments is None else segments[:, -1:]


def check_prompt(config: GPTConfig, tokens: Tensor, max_new_tokens: int, segments: Tensor | None) -> None:
    """Raise unless these tokens can be continued by so many."""
    check_tokens("tokens", tokens)
    check_int("max_new_tokens", max_new_tokens, 0)
    if (T := tokens.shape[1]) == 0:
        raise ValueError(f"tokens must hold at least one token per row, got {tuple(tokens.shape)}")
    if isinstance(config.position, Learned) and T + max_new_tokens > config.context:
        raise ValueError(f"a prompt of {T} and {max_new_tokens=} must fit context={config.context}")
    if segments is not None:
        check_tokens("segments", segments, tokens.shape)
        if bool((segments[:, -1] < 0).any()):
            raise ValueError("prompts must be padded on the left: the last of segments must not be negative")


def causal(pattern: Pattern) -> Pattern:
    """`pattern & Causal()`, left as it is where it looks back only.

    >>> causal(Strided(back=3)), causal(Full())
    (Strided(back=3), Causal())
    """
    if isinstance(pattern, Full):
        return Causal()
    if isinstance(pattern, Causal | Strided | Windowed | Dilated | SparseStrided | SparseFixed):
        return pattern
    if isinstance(pattern, And) and Causal() in pattern.parts:
        return pattern
    return pattern & Causal()
