"""One attention call as a value: its tensors, what shapes its scores, and the form that decides who runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention.bias import DistanceBias
from regard.pattern import Pattern

# What a problem may use, as sentences call it.
CALLED = {
    "bias": "a bias tensor",
    "slopes": "a DistanceBias",
    "mask": "a mask",
    "offset": "an offset",
    "lse": "the normalisers of rows",
    "places": "distances or draws in a longer sequence",
}


class Segments(NamedTuple):
    """The documents of the queries (B,N) and of the keys (B,M); a pair needs one that is not negative."""

    query: Tensor
    key: Tensor


class WholePositions(NamedTuple):
    """Where queries (N,) and keys (M,) stand in a longer sequence, whose number of positions is `length`.

    Distances and draws are those of the whole; a pattern is in the problem's own numbers.
    """

    query: Tensor
    key: Tensor
    length: int


class Form:
    """All of a problem but the numbers in its tensors: equal forms are one object, and run alike."""

    __slots__ = (
        "B", "D", "E", "G", "H", "M", "N", "device", "dtype", "empty", "pattern", "plain", "scale", "sizes",
        "strides", "uses",
    )  # fmt: skip

    def __init__(
        self,
        sizes: tuple[int, int, int, int, int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        pattern: Pattern,
        uses: tuple[str, ...] = (),  # what else is asked for, in the words of `Problem._uses`
        scale: float = 1.0,
        strides: tuple[tuple[int, ...], ...] = (),  # of query, key and value
    ) -> None:
        self.sizes = sizes
        self.B, self.H, self.G, self.N, self.M, self.D, self.E = sizes
        self.dtype, self.device, self.pattern, self.scale = dtype, device, pattern, scale
        self.uses, self.strides = uses, strides
        self.plain = uses in ((), ("packed",))  # the pattern alone decides
        self.empty = 0 in self.sizes  # a query, a key or a value has no numbers at all

    @classmethod
    def of(
        cls, query: Tensor, key: Tensor, value: Tensor, pattern: Pattern, uses: tuple[str, ...], scale: float
    ) -> Form:
        """The form of these tensors."""
        (B, H, N, D), (_, G, M, E) = query.shape, value.shape
        strides = query.stride(), key.stride(), value.stride()
        return cls((B, H, G, N, M, D, E), query.dtype, query.device, pattern, uses, scale, strides)

    def asks_beyond(self, *known: str) -> str | None:
        """What a backend that knows only so much says to the first other thing asked for, or None."""
        word = next((word for word in self.uses if word not in (*known, "packed")), None)
        if word == "weights":
            return "it never makes the weights; impl='reference' returns them"
        return None if word is None else f"it does not take {CALLED.get(word, word)}"


@dataclass(frozen=True)
class Choice:
    """A backend and the reason for it, in one sentence."""

    impl: str
    why: str

    def as_dict(self) -> dict[str, str]:
        """The name and the reason, as `--json` prints them."""
        return asdict(self)


_FORMS: dict[tuple, Form] = {}
MOST_FORMS = 1 << 14


def form_of(
    query: Tensor, key: Tensor, value: Tensor, pattern: Pattern, uses: tuple[str, ...], scale: float
) -> Form:
    """The form of these tensors, checked when it is met for the first time."""
    if torch.compiler.is_compiling():  # sizes may be symbols
        check_tensors(query, key, value)
        return Form.of(query, key, value, pattern, uses, scale)
    met: tuple = ()
    found = None
    try:
        met = (
            query.shape, query.stride(), query.dtype, query.device, key.shape, key.stride(), key.dtype,
            key.device, value.shape, value.stride(), value.dtype, value.device, pattern, uses, scale,
        )  # fmt: skip
        found = _FORMS.get(met)
    except (AttributeError, TypeError):  # no tensors at all, or symbols
        met = ()
    if found is None:
        check_tensors(query, key, value)
        if "offset" not in uses and "slots" not in uses:
            N, M = query.shape[2], key.shape[2]
            if isinstance(N, int) and isinstance(M, int):  # else checked when they are numbers
                pattern.resolve(N, M)
        found = Form.of(query, key, value, pattern, uses, scale)
        if len(_FORMS) >= MOST_FORMS:
            _FORMS.clear()
        if met:
            _FORMS[met] = found
    return found


def check_tensors(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless query (B,H,N,D), key (B,G,M,D) and value (B,G,M,E) fit together."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, Tensor):
            raise ValueError(f"{name} must be a torch tensor, got {type(x).__name__}")
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"query, key and value must have 4 axes (batch, heads, length, width), got {shapes}")
    (B, H, _, D), (G, M) = query.shape, key.shape[1:3]
    if key.shape[0] != B or value.shape[0] != B:
        raise ValueError(f"query, key and value must have one batch size, got {shapes}")
    if key.shape[3] != D:
        raise ValueError(f"query and key must have one width, got {shapes}")
    if value.shape[1] != G or value.shape[2] != M:
        raise ValueError(f"key and value must have the same heads and length, got {shapes}")
    if (G == 0 and H) or (G and H % G):
        raise ValueError(f"the key heads must divide the query heads, got H={H}, G={G}")
    if D == 0:
        raise ValueError(f"the width must be at least 1, got {shapes}")
    if not query.dtype == key.dtype == value.dtype or not query.is_floating_point():
        dtypes = f"query {query.dtype}, key {key.dtype}, value {value.dtype}"
        raise ValueError(f"query, key and value must share one floating dtype, got {dtypes}")
    if not query.device == key.device == value.device:
        devices = f"query {query.device}, key {key.device}, value {value.device}"
        raise ValueError(f"all tensors must be on one device, got {devices}")


class Attended(NamedTuple):
    """The output (B,H,N,E), and where they were asked for the normalisers (B,H,N) and weights (B,H,N,M)."""

    out: Tensor
    lse: Tensor | None = None
    weights: Tensor | None = None


@dataclass(slots=True, eq=False)  # not frozen: that would make the making of it slow
class Problem:
    """Query (B,H,N,D), key (B,G,M,D), value (B,G,M,E), and what shapes the scores; it is never changed.

    The queries are the last of the M positions, or stand from `offset` (B or 1) on. `slots` (B or 1, M) says
    where the keys stand, −1 nowhere; without it they stand at 0 … M − 1.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    pattern: Pattern
    scale: float
    bias: Tensor | DistanceBias | None = None
    segments: Segments | None = None
    mask: Tensor | None = None  # bool, broadcastable to (B,H,N,M)
    offset: Tensor | None = None
    slots: Tensor | None = None
    softcap: float | None = None
    dropout: float = 0.0
    seed: Tensor | None = None  # int64 (1,), which draws are made
    lse: bool = False
    weights: bool = False
    places: WholePositions | None = None  # where distances or draws count, if those of a longer sequence do
    packed: Tensor | None = None  # the projection (B,N,H+2G,D) that query, key and value are views of
    form: Form = None  # type: ignore[assignment]  # made where it is not given

    def __post_init__(self) -> None:
        if self.form is None:
            self.form = form_of(self.query, self.key, self.value, self.pattern, self._uses(), self.scale)

    def changed(self, **parts: object) -> Problem:
        """The same problem but for these parts."""
        return replace(self, form=None, **parts)  # type: ignore[arg-type]

    def _uses(self) -> tuple[str, ...]:
        out = []
        if self.bias is not None:
            out.append("slopes" if isinstance(self.bias, DistanceBias) else "bias")
        if self.segments is not None:
            out.append("segments")
        if self.mask is not None:
            out.append("mask")
        if self.slots is not None:
            out.append("slots")
        elif self.offset is not None:
            out.append("offset")
        if self.softcap is not None:
            out.append("softcap")
        if self.dropout:
            out.append("dropout")
        if self.lse:
            out.append("lse")
        if self.weights:
            out.append("weights")
        if self.places is not None:
            out.append("places")
        if self.packed is not None:
            out.append("packed")
        return tuple(out)

    def beside(self) -> list[Tensor]:
        """What a backward pass reads beside the inputs; saved, so that torch notices a change in between."""
        slopes = self.bias.slopes if isinstance(self.bias, DistanceBias) else self.bias
        every = (*(self.segments or ()), slopes, self.mask, self.offset, self.seed)
        return [x for x in every if isinstance(x, Tensor)]

    def positions(self) -> tuple[Tensor, Tensor]:
        """Where queries and keys stand: (N,1) and (1,M), or with a batch in front."""
        N, M, device = self.form.N, self.form.M, self.form.device
        start = M - N if self.offset is None else self.offset.view(-1, 1, 1)
        q = start + torch.arange(N, device=device)[:, None]
        return q, torch.arange(M, device=device)[None, :] if self.slots is None else self.slots[:, None, :]

    def standing(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Where positions of queries and keys stand in the whole sequence; of none such, anywhere."""
        if self.places is None:
            return q, k
        N, M = self.form.N, self.form.M
        return self.places.query[(q - (M - N)).clamp(0, N - 1)], self.places.key[k.clamp(0, M - 1)]

    def drawn(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """The numbers under which the weights of these positions are drawn: keys count from the last one."""
        q, k = self.standing(q, k)
        if self.places is not None:
            return q, self.places.length - 1 - k
        return q - (self.form.M - self.form.N), self.form.M - 1 - k

    def allowed(self) -> Tensor:
        """The pairs that pattern, segments and mask allow: bool, broadcastable to (B,H,N,M)."""
        q, k = self.positions()
        allowed = self.pattern.allows(q, k)
        allowed = allowed.expand(*allowed.shape[:-2], self.form.N, self.form.M)
        if self.slots is not None:
            allowed = allowed & (k >= 0)
        allowed = allowed[None, None] if allowed.ndim == 2 else allowed[:, None]
        if self.segments is not None:
            allowed = allowed & same_segment(
                self.segments.query[:, None, :, None], self.segments.key[:, None, None]
            )
        return allowed if self.mask is None else allowed & self.mask

    def dense_bias(self) -> Tensor | None:
        """The bias as a tensor that broadcasts to the scores, no less exact than they are."""
        kind = torch.promote_types(self.form.dtype, torch.float32)
        if isinstance(self.bias, DistanceBias):
            return self.bias.dense(*self.standing(*self.positions()), kind)
        return None if self.bias is None else self.bias.to(kind)


def same_segment(q: Tensor, k: Tensor) -> Tensor:
    """Whether two positions lie in one segment; negative segments are padding."""
    return (q == k) & (k >= 0)
