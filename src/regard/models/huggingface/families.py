"""What a family of transformers is to us: its config read and written, and its table of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor, nn

from regard.layers import GeGLU, Gelu, SwiGLU
from regard.layers.feedforward import FeedForwardPart
from regard.models.huggingface.names import WeightMatch, read_rows, write_rows
from regard.models.huggingface.settings import Config, Settings
from regard.models.trunk import TrunkConfig
from regard.pattern import Causal, Pattern, Strided

Shapes = Mapping[str, tuple[int, ...]]  # of the weights by their names, which tell what heads there are
Weights = dict[str, Tensor]
C = TypeVar("C")


def as_they_are(config: object, weights: Weights) -> Weights:
    """Nothing to be done."""
    return weights


@dataclass(frozen=True)
class Family(Generic[C]):
    """One `model_type` of theirs; `read` and `write` know configs alone, `rows` what follows from ours.

    In a model with a head the names of all weights but its own begin with `prefix`; `bare` are configs that
    become a model without one. `arrive` and `leave` turn whole weights, still under their names, where a
    table cannot.
    """

    name: str  # their model_type
    title: str
    model: Callable[[C], nn.Module]
    read: Callable[[Settings, Shapes], C]
    write: Callable[[C], Config]
    rows: Callable[[C], list[WeightMatch]]
    prefix: str
    heads: tuple[str, ...]  # beginnings of the names of a head's weights
    bare: Callable[[C], bool]
    constants: tuple[str, ...] = ()  # ends of names of what older versions saved among the weights
    arrive: Callable[[C, Weights], Weights] = as_they_are
    leave: Callable[[C, Weights], Weights] = as_they_are

    def config_of(self, theirs: Config, shapes: Shapes) -> C:
        """Our config; a field that is not known is refused by name."""
        settings = Settings(theirs, self.title)
        config = self.read(settings, shapes)
        settings.finish()
        return config

    def named(self, weights: Weights) -> Weights:
        """Without the prefix, and without constants."""
        found = {name.removeprefix(self.prefix): weight for name, weight in weights.items()}
        return {name: weight for name, weight in found.items() if not name.endswith(self.constants)}

    def weights_of(self, config: C, weights: Weights) -> Weights:
        """Ours from theirs, which are without a prefix."""
        return read_rows(self.rows(config), self.arrive(config, weights), self.title)

    def written(self, config: C, ours: Mapping[str, Tensor]) -> Weights:
        """Theirs from ours."""
        theirs = self.leave(config, write_rows(self.rows(config), ours))
        if self.bare(config):
            return theirs
        return {n if n.startswith(self.heads) else self.prefix + n: w for n, w in theirs.items()}


GELUS = {"gelu": False, "gelu_new": True, "gelu_pytorch_tanh": True}


def tanh_of(settings: Settings, name: str, default: str) -> bool:
    """Whether an activation is GELU's approximation, or a ValueError where it is no GELU."""
    activation = settings.word(name, default)
    if activation not in GELUS:
        known = ", ".join(GELUS)
        raise ValueError(f"{settings.family} with {name}={activation!r} is not supported, only {known}")
    return GELUS[activation]


def gated_of(settings: Settings, name: str, default: str, hidden: int, bias: bool = False) -> SwiGLU | GeGLU:
    """The gated feed-forward of an activation."""
    activation = settings.word(name, default)
    if activation in ("silu", "swish"):
        return SwiGLU(hidden=hidden, bias=bias)
    if activation not in GELUS:
        known = f"silu, {', '.join(GELUS)}"
        raise ValueError(f"{settings.family} with {name}={activation!r} is not supported, only {known}")
    return GeGLU(hidden=hidden, tanh=GELUS[activation], bias=bias)


def activation_of(feedforward: FeedForwardPart) -> str:
    """What bends a feed-forward, in their words."""
    if isinstance(feedforward, SwiGLU):
        return "silu"
    return "gelu_pytorch_tanh" if feedforward.tanh else "gelu"


def shortest(values: Sequence[object]) -> object:
    """One value where all are alike, else the shortest that gives the sequence when cycled.

    >>> shortest("ababa"), shortest("aa")
    (('a', 'b'), 'a')
    """
    for length in range(1, len(values) + 1):
        if all(values[i] == values[i % length] for i in range(len(values))):
            return values[0] if length == 1 else tuple(values[:length])
    return tuple(values)


SLIDING, FULL = "sliding_attention", "full_attention"


def patterns_of(settings: Settings, kinds: Sequence[str], window: int | None) -> list[Pattern]:
    """What each layer sees, by their names for it."""
    if strange := set(kinds) - {SLIDING, FULL}:
        raise ValueError(f"{settings.family} with layer_types of {strange.pop()!r} is not supported")
    if window is None and SLIDING in kinds:
        raise ValueError(f"{settings.family}: layer_types of {SLIDING} need a sliding_window")
    return [Causal() if kind == FULL or window is None else Strided(back=window - 1) for kind in kinds]


def window_of(patterns: Sequence[Pattern]) -> int | None:
    """The window of all layers that have one; None where there is none, 0 where they cannot be said so."""
    found = {pattern for pattern in patterns if pattern != Causal()}
    if not found:
        return None
    pattern = found.pop()
    return pattern.back + 1 if isinstance(pattern, Strided) and not found else 0


def kinds_of(patterns: Sequence[Pattern]) -> list[str]:
    """Their names for what each layer sees."""
    return [FULL if pattern == Causal() else SLIDING for pattern in patterns]


def trunk_settings(trunk: TrunkConfig) -> Config:
    """What BERT's config and ViT's say in the same words."""
    feedforward = trunk.block.feedforward
    return {
        "num_hidden_layers": trunk.depth,
        "hidden_size": trunk.width,
        "num_attention_heads": trunk.heads,
        "intermediate_size": feedforward.hidden_of(trunk.width),
        "hidden_act": "gelu_new" if isinstance(feedforward, Gelu) and feedforward.tanh else "gelu",
        "layer_norm_eps": trunk.block.norm.eps,
        "hidden_dropout_prob": trunk.dropout,
        "attention_probs_dropout_prob": 0.0,
    }
