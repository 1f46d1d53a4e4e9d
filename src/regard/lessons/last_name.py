"""A small task for positions, which name came last, and one-layer models that learn it from three starts."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, layer_norm, relu

from regard.attention import attend
from regard.layers import Alibi, Learned, Natural, Position, Rotary, Scaled, Sinusoidal
from regard.lessons.measuring import train
from regard.pattern import Causal, Pattern

NAMES, VOCAB, LENGTH = 2, 8, 16
STEPS, STARTS = 220, 3
WIDTH, HEADS, HEAD = 16, 8, 6


class LastName(nn.Module):
    """Three models at once, from three random starts: one attention layer and one feed-forward layer each."""

    def __init__(self, position: Position) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)

        def matrix(rows: int, cols: int, size: float | None = None) -> nn.Parameter:
            scale = rows**-0.5 if size is None else size
            return nn.Parameter(torch.randn(STARTS, rows, cols, generator=generator) * scale)

        self.position = position
        # Natural numbers drown tokens of size 1; larger tokens hold their own, and nothing else needs them.
        self.token = matrix(VOCAB, WIDTH, 4.0 if isinstance(position, Natural) else 1.0)
        self.table = matrix(LENGTH, WIDTH, 0.5)  # used by Learned alone
        self.qkv, self.bias = matrix(WIDTH, 3 * HEADS * HEAD), matrix(1, 3 * HEADS * HEAD, 0.5)
        self.out, self.head = matrix(HEADS * HEAD, WIDTH), matrix(WIDTH, VOCAB)
        self.up, self.down = matrix(WIDTH, 2 * WIDTH), matrix(2 * WIDTH, WIDTH)

    def forward(self, tokens: Tensor, pattern: Pattern = Causal()) -> Tensor:  # noqa: B008 - a frozen value
        """Map tokens (B, N) to logits (STARTS, B, N, VOCAB)."""
        N, way = tokens.shape[1], self.position
        x = self.token[:, tokens]  # STARTS B N C
        if isinstance(way, Learned):
            x = x + self.table[:, None, :N]
        elif isinstance(way, Natural | Scaled | Sinusoidal):
            x = x + way.encode(N, WIDTH)
        x = x.flatten(1, 2)  # STARTS B·N C: one product for each start
        parts = (x @ self.qkv + self.bias).chunk(3, -1)
        q, k, v = (part.reshape(-1, N, HEADS, HEAD).transpose(1, 2) for part in parts)
        if isinstance(way, Rotary):
            q, k = way.turn(q), way.turn(k)
        bias = way.bias(HEADS) if isinstance(way, Alibi) else None
        mixed = attend(q, k, v, pattern, bias=bias).transpose(1, 2)
        x = x + mixed.reshape(STARTS, -1, HEADS * HEAD) @ self.out
        x = x + relu(layer_norm(x, (WIDTH,)) @ self.up) @ self.down
        return (layer_norm(x, (WIDTH,)) @ self.head).unflatten(1, (-1, N))


def sequences(seed: int, length: int, size: int = 12) -> tuple[Tensor, Tensor]:
    """Random words, of which the first NAMES are names and one stands first; and the last name so far."""
    tokens = torch.randint(VOCAB, (size, length), generator=torch.Generator().manual_seed(seed))
    tokens[:, 0] %= NAMES
    last = torch.where(tokens < NAMES, torch.arange(length), 0).cummax(1).values
    return tokens, tokens.gather(1, last)


def learned(position: Position) -> LastName:
    """The models of one way, trained on inputs of LENGTH words."""
    model = LastName(position)

    def loss(step: int) -> Tensor:
        tokens, answers = sequences(step, LENGTH)
        return STARTS * cross_entropy(model(tokens).flatten(0, 2), answers.repeat(STARTS, 1).flatten())

    train(model.parameters(), loss, STEPS, rate=2e-2)
    return model


def hits(model: LastName, length: int, pattern: Pattern = Causal()) -> list[float]:  # noqa: B008
    """For each start the share of right answers at the last LENGTH words that are no names."""
    tokens, answers = sequences(10**6 + length, length, 64)
    with torch.no_grad():
        found = model(tokens, pattern).argmax(-1)
    asked = (tokens >= NAMES) & (torch.arange(length) >= length - LENGTH)
    return [(one == answers)[asked].float().mean().item() for one in found]
