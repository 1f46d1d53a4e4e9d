"""GPT: at every position, logits for the token that follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TypeVar, Unpack

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from regard.attention import Choice
from regard.layers import Assembly, Cache, Learned, Mixer, Position, PreNorm, Softmax, Trace
from regard.layers.initial import without_memory
from regard.layers.letters import check_size
from regard.layers.position import encode_at, position_shape
from regard.layers.shapes import (
    ElementwiseShape,
    EmbeddingShape,
    LinearShape,
    LossShape,
    ModelShape,
    MovedShape,
    tree,
)
from regard.layers.stack import causal
from regard.models.decode_loop import IMPLS, Prompts, check_prompts, choose, refused, run
from regard.models.decode_ranks import over_ranks, ranks_for
from regard.models.decode_store import Request
from regard.models.sampling import Sampling, SamplingOptions
from regard.models.trunk import Trunk, WithTrunk, WithVocab, check_part, check_tokens
from regard.parallel import Ranks, Shard
from regard.pattern import Causal, Pattern
from regard.values import Terse, unsaid


@dataclass(frozen=True, kw_only=True, repr=False)
class _Ends(Terse):
    """What lies before the first block and behind the last.

    Embedded tokens are multiplied by `embed_scale`; a `softcap` bends the logits into ±softcap (Gemma).
    """

    embed_scale: float = unsaid(1.0)
    softcap: float | None = unsaid(None)

    def __post_init__(self) -> None:
        for name, value in (("embed_scale", self.embed_scale), ("softcap", self.softcap)):
            if value is not None and not 0 < value < inf:
                raise ValueError(f"{name} must be positive, got {name}={value!r}")

    @property
    def plain(self) -> bool:
        """Whether embeddings and logits are as they are."""
        return self.embed_scale == 1 and self.softcap is None

    def embedded(self, x: Tensor) -> Tensor:
        """The embedded tokens (…,C) as the model takes them, the scale rounded to their type."""
        return x if self.embed_scale == 1 else x * x.new_full((), self.embed_scale)

    def capped(self, logits: Tensor) -> Tensor:
        """The logits as the model gives them."""
        return logits if self.softcap is None else torch.tanh(logits / self.softcap) * self.softcap


@dataclass(frozen=True, repr=False)
class Tied(_Ends):
    """The logits are products with the token embedding itself."""


@dataclass(frozen=True, repr=False)
class Untied(_Ends):
    """The logits come from a Linear of their own."""

    bias: bool = True


Head = Tied | Untied
Rows = TypeVar("Rows", Tensor, list[Tensor])


@dataclass(frozen=True, kw_only=True)
class GPTConfig(WithVocab, WithTrunk):
    """The shape of a GPT; `pattern` and `mixer` may be sequences, which are cycled over depth.

    So may `position`, where all are Rotary.

    `vocab=None` leaves the vocabulary to a tokenizer, which training sets; a model cannot be built before.

    >>> from regard.pattern import Strided
    >>> config = GPTConfig(vocab=50, context=64, depth=3, pattern=[Strided(back=7), Causal()])
    >>> config.patterns
    (Strided(back=7), Causal(), Strided(back=7))
    """

    vocab: int | None
    context: int
    depth: int = 6
    width: int = 384
    heads: int = 6
    kv_heads: int | None = None
    head_width: int | None = None
    pattern: Pattern | Sequence[Pattern] = Causal()  # noqa: RUF009 - a frozen value
    mixer: Mixer | Sequence[Mixer] = Softmax()  # noqa: RUF009 - a frozen value
    position: Position | Sequence[Position] = Learned()  # noqa: RUF009 - a frozen value
    block: Assembly = PreNorm()  # noqa: RUF009 - a frozen value
    head: Head = Tied()
    dropout: float = 0.0

    def __post_init__(self) -> None:
        self.check_vocab()
        check_size("context", self.context)
        if not isinstance(self.position, list | tuple):
            check_part("position", self.position, Position)
        check_part("head", self.head, Head)
        self.check_trunk()

    def applied(self, pattern: Pattern) -> Pattern:
        """What a block makes of a pattern: it looks back only."""
        return causal(pattern)

    def shapes(self) -> ModelShape:
        """Embedding, positions, blocks, logits at every position."""
        vocab, width = self.vocab_size, self.width
        tied = isinstance(self.head, Tied)
        bias = isinstance(self.head, Untied) and self.head.bias
        scaled, capped = self.head.embed_scale != 1, self.head.softcap is not None
        bent = ElementwiseShape(multiplies=2 * vocab, kind="tanh", elements=vocab, kept=vocab)
        parts = {
            "embed": EmbeddingShape(vocab=vocab, width=width),
            "embed_scale": ElementwiseShape(multiplies=width, kept=width) if scaled else None,
            "position": position_shape(self.position, self.context, width),
            **self.trunk.shapes(),
            "output_norm": self.trunk.norm if self.block.norms_output else None,
            "head (tied)" if tied else "head": LinearShape(inputs=width, outputs=vocab, bias=bias, tied=tied),
            "softcap": bent if capped else None,
            "output": MovedShape(width=vocab),
        }
        return ModelShape(tree(parts), LossShape(classes=vocab), writes=True)


class GPT(Trunk):
    """A causal language model.

    >>> model = GPT(GPTConfig(vocab=50, context=16, depth=2, width=32, heads=4))
    >>> model(torch.zeros(5, 7, dtype=torch.long)).shape
    torch.Size([5, 7, 50])
    """

    def __init__(self, config: GPTConfig, *, generator: torch.Generator | None = None) -> None:
        device = torch.get_default_device()
        with without_memory():
            super().__init__(config.trunk)
            self.config, vocab = config, config.vocab_size
            self.embed = nn.Embedding(vocab, config.width)
            position = config.position
            self.position = (
                position.build(config.context, config.width) if isinstance(position, Position) else None
            )
            self.head = (
                nn.Linear(config.width, vocab, config.head.bias) if isinstance(config.head, Untied) else None
            )
        self.fill(device, generator)

    def features(
        self,
        tokens: Tensor,
        *,
        segments: Tensor | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        shard: Shard | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map tokens (B,N) to what the head reads (B,N,C)."""
        check_tokens("tokens", tokens)
        if segments is not None:
            check_tokens("segments", segments, tokens.shape)
        if shard is not None:
            shard.check(tokens.shape[1])
        x = self.config.head.embedded(self.embed(tokens))
        if self.position is not None:
            start = 0 if cache is None else cache.length
            x = self.position(x, start) if shard is None else self._placed(x, shard)
        x = self.run(x, segments=segments, cache=cache, trace=trace, shard=shard, generator=generator)
        return self.output_norm(x)

    def forward(
        self,
        tokens: Tensor,
        *,
        segments: Tensor | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        shard: Shard | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map tokens (B,N) to logits (B,N,vocab).

        With a cache, these are the new tokens; with a shard, those of this rank, of a sequence on several.
        """
        x = self.features(
            tokens, segments=segments, cache=cache, trace=trace, shard=shard, generator=generator
        )
        return self.logits(x)

    def _placed(self, x: Tensor, shard: Shard) -> Tensor:
        """Add the positions of a rank's tokens."""
        if isinstance(self.config.position, Learned) and shard.n > self.config.context:
            raise ValueError(f"the position table has {self.config.context} rows, got n={shard.n} positions")
        assert self.position is not None
        return x + encode_at(self.position, shard.positions.to(x.device), x.shape[2]).to(x.dtype)

    def logits(self, x: Tensor) -> Tensor:
        """Map features (…,C) to logits (…,vocab)."""
        logits = x @ self.embed.weight.T if self.head is None else self.head(x)
        return self.config.head.capped(logits)

    def cache(self, capacity: int) -> Cache:
        """An empty cache for so many positions."""
        return self.blocks.cache(capacity)

    def decoding(self, batch: int = 1) -> Choice:
        """How `generate` decodes a batch of this size unless told, and why."""
        return choose(self, batch)

    def stream(
        self,
        tokens: Prompts,
        *,
        max_new_tokens: int,
        sampling: Sampling = Sampling(),  # noqa: B008 - a frozen value
        segments: Tensor | None = None,
        generator: torch.Generator | None = None,
        impl: str = "auto",
        mesh: DeviceMesh | Ranks | None = None,
        **options: Unpack[SamplingOptions],
    ) -> Iterator[Tensor]:
        """Yield the next token of every row (B,), again and again; a row that stopped repeats its stop."""
        prompts = check_prompts(self.config, tokens, max_new_tokens, segments)
        how = replace(sampling, **options)
        how.check(self.config.vocab_size)
        if impl not in ("auto", *IMPLS):
            raise ValueError(f"impl must be auto, {', '.join(IMPLS)}, got {impl=}")
        if (why := refused(self, len(prompts), impl)) is not None:
            raise ValueError(f"{impl=} cannot run: {why}")
        stops = torch.tensor(how.stop, dtype=torch.long, device=prompts[0].device)
        # A graph that is recorded serves any stops, so they are no part of how it samples.
        how = replace(how, stop=())
        request = Request(self, prompts, max_new_tokens, how, stops, segments, generator)
        return run(request, impl) if mesh is None else over_ranks(request, ranks_for(request, mesh, impl))

    def generate(
        self,
        tokens: Rows,
        *,
        max_new_tokens: int,
        sampling: Sampling = Sampling(),  # noqa: B008 - a frozen value
        segments: Tensor | None = None,
        generator: torch.Generator | None = None,
        impl: str = "auto",
        mesh: DeviceMesh | Ranks | None = None,
        **options: Unpack[SamplingOptions],
    ) -> Rows:
        """The tokens (B,T) continued by up to `max_new_tokens`; temperature 0 takes the likeliest.

        How tokens are chosen is one `Sampling`, or its fields as keywords: `temperature`, `top_k`, `top_p`,
        `stop`, `ban`.

        Prompts of unequal length come as a list of (T,), each continued as if it were alone, and so do the
        results. Or they are padded on the left, with segments −1 there; then positions count the padding,
        as they do in `forward`. Generation ends early when every row has met one of the `stop` tokens;
        those in `ban` never come.

        `impl`: "plain" runs the model itself on its cache, "lean" the same step on fixed memory, "graph"
        records that step once and replays it (CUDA); "auto" takes the fastest that can, and `decoding`
        tells which. "int8" (on a GPU for up to four rows) reads the matrices rounded to a byte a weight, so
        it is another model by a little, and only taken by name.

        With a `mesh` of one dimension, all its processes call this alike, and each keeps the keys and values
        of its part of the prompts: a text that no device could hold is continued by all of them.

        >>> model = GPT(GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2))
        >>> [len(row) for row in model.generate([torch.tensor([1]), torch.tensor([2, 3])], max_new_tokens=4)]
        [5, 6]
        """
        found: list[Tensor] = list(
            self.stream(
                tokens,
                max_new_tokens=max_new_tokens,
                sampling=sampling,
                segments=segments,
                generator=generator,
                impl=impl,
                mesh=mesh,
                **options,
            )
        )
        if isinstance(tokens, Tensor):
            return torch.cat([tokens, *(token[:, None] for token in found)], dim=1)
        new = torch.stack(found, dim=1) if found else torch.empty(len(tokens), 0, dtype=torch.long)
        return [torch.cat([row, more.to(row)]) for row, more in zip(tokens, new, strict=True)]
