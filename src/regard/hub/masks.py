"""What a model's mask says, without the mask: a pattern, where queries and keys stand, padding, documents."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import ClassVar, NoReturn

import torch
from torch import Tensor
from transformers import masking_utils

from regard.pattern import Causal, Full, Local, Pattern, Strided, Windowed

MaskFunction = Callable[..., Tensor | bool]


@dataclass(frozen=True, eq=False)
class MaskSpec:
    """The model's own pattern for `keys` keys from position `first` on and queries from `start` on.

    `real` (B, keys) is False where a key is padding, `begins` (B,) says where each row's first real token
    stands, and `documents` (B, keys) numbers the documents that are packed in a row.
    """

    pattern: Pattern
    start: int
    first: int
    keys: int
    real: Tensor | None = None
    begins: Tensor | None = None
    documents: Tensor | None = None
    unsaid: Tensor | None = None  # documents that the model was given and its mask does not tell apart

    @property
    def causal(self) -> bool:
        """Whether the model itself hides later keys."""
        return not isinstance(self.pattern, Full | Local)

    ndim: ClassVar = 0  # what `generate` made goes through the model's own making of masks as it is

    def contiguous(self) -> MaskSpec:
        """Itself: `generate` asks every mask that it made for it."""
        return self

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(_computed_with(f".{name}"))

    def __add__(self, other: object) -> NoReturn:
        raise TypeError(_computed_with("+"))

    def __getitem__(self, at: object) -> NoReturn:
        raise TypeError(_computed_with("[…]"))

    __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __add__


def _computed_with(how: str) -> str:
    return (
        f'this model computes with its attention mask ({how}), which attn_implementation="regard" does not '
        "make: use another implementation"
    )


def regard_mask(  # noqa: PLR0913, PLR0917 - the arguments of transformers' mask interface
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int = 0,
    mask_function: MaskFunction = masking_utils.causal_mask_function,
    attention_mask: Tensor | MaskSpec | None = None,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    **_: object,
) -> MaskSpec | Tensor | None:
    """The mask as a `MaskSpec`; a dense one, as for sdpa, where a model's own function says more than that.

    The slots of a static cache, which are more than the keys in it, have a dense one too.
    """
    if isinstance(attention_mask, MaskSpec):
        return attention_mask
    read = None if use_vmap else known(mask_function)
    static = isinstance(q_offset, Tensor) or (
        read is not None
        and not isinstance(read[0], Full)
        and q_offset + q_length != kv_offset + kv_length  # its slots are more than its keys
    )
    if read is None or static:
        return masking_utils.sdpa_mask(
            batch_size=batch_size, q_length=q_length, kv_length=kv_length,
            q_offset=q_offset,  # type: ignore[arg-type]  # a tensor, as static caches have it
            kv_offset=kv_offset, mask_function=mask_function, attention_mask=attention_mask,
            use_vmap=use_vmap, device=device, allow_is_causal_skip=False, allow_is_bidirectional_skip=False,
        )  # fmt: skip
    assert not isinstance(q_offset, Tensor)
    pattern, documents = read
    real = begins = None
    if attention_mask is not None and (torch.compiler.is_compiling() or not bool(attention_mask.all())):
        whole = masking_utils.prepare_padding_mask(attention_mask, kv_length, kv_offset)
        assert whole is not None
        whole = whole.bool()
        real, begins = whole[:, kv_offset : kv_offset + kv_length], whole.int().argmax(1)
    unsaid = None
    if documents is None and q_offset == 0 and q_length == kv_length:
        unsaid = documents_of(positions_of_caller(), real)
    return MaskSpec(pattern, q_offset, kv_offset, kv_length, real, begins, documents, unsaid)


def known(function: MaskFunction) -> tuple[Pattern, Tensor | None] | None:
    """What `geometry` says; of the compiler's functions, into which one cannot look, the plain ones alone."""
    if not torch.compiler.is_compiling():
        return geometry(function)
    if function is masking_utils.causal_mask_function:
        return Causal(), None
    return (Full(), None) if function is masking_utils.bidirectional_mask_function else None


def geometry(function: MaskFunction) -> tuple[Pattern, Tensor | None] | None:
    """The pattern that a mask function of transformers stands for, and the documents in it; None: unknown.

    >>> geometry(masking_utils.sliding_window_causal_mask_function(4))
    (Strided(back=3), None)
    """
    known: dict[str, object] = {}
    for part in _parts(function):
        name = part.__qualname__.split(".")[0]
        if name in known:
            return None
        known[name] = part
    documents = None
    if "packed_sequence_mask_function" in known:
        documents = _cell(known.pop("packed_sequence_mask_function"), "packed_sequence_mask")
    match sorted(known):
        case ["causal_mask_function"]:
            pattern: Pattern = Causal()
        case ["bidirectional_mask_function"]:
            pattern = Full()
        case ["causal_mask_function", "sliding_window_overlay"]:
            pattern = Strided(back=_cell(known["sliding_window_overlay"], "sliding_window") - 1)
        case ["bidirectional_mask_function", "sliding_window_bidirectional_overlay"]:
            pattern = Local(reach=_cell(known["sliding_window_bidirectional_overlay"], "sliding_window"))
        case ["causal_mask_function", "chunked_overlay"]:
            pattern = Windowed(size=_cell(known["chunked_overlay"], "chunk_size"))
        case _:
            return None
    return pattern, documents


def _parts(function: MaskFunction) -> list[MaskFunction]:
    """The functions that must all allow a pair."""
    if function.__module__ == masking_utils.__name__ and function.__qualname__.startswith("and_masks."):
        return [inner for part in _cell(function, "mask_functions") for inner in _parts(part)]
    return [function] if function.__module__ == masking_utils.__name__ else [function, function]


def _cell(function: object, name: str):  # type: ignore[no-untyped-def]
    code, cells = function.__code__, function.__closure__  # type: ignore[attr-defined]
    return cells[code.co_freevars.index(name)].cell_contents


def positions_of_caller() -> object:
    """The position_ids of the model that asks for a mask, whether or not it says them.

    Masks for both directions, and those beside padding, are made without positions; the compiler, which has
    no frames, sees none.
    """
    if torch.compiler.is_compiling():
        return None
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") != masking_utils.__name__:
            found = frame.f_locals.get("position_ids")
            if found is not None or frame.f_code.co_name == "forward":
                return found
        frame = frame.f_back
    return None


def documents_of(position_ids: object, real: Tensor | None = None) -> Tensor | None:
    """The documents (B,N) that positions which begin anew tell apart; None where there is one a row.

    Beside padding, which is −1 then, a document begins where the positions of real tokens no longer rise.

    >>> documents_of(torch.tensor([[0, 1, 2, 0, 1]])), documents_of(torch.tensor([[3, 4, 5]]))
    (tensor([[0, 0, 0, 1, 1]]), None)
    >>> documents_of(torch.tensor([[0, 0, 1, 0, 0]]), torch.tensor([[False, True, True, True, False]]))
    tensor([[-1,  0,  0,  1, -1]])
    """
    if not isinstance(position_ids, Tensor) or position_ids.ndim != 2 or position_ids.shape[1] == 0:
        return None
    if real is None:
        return masking_utils.find_packed_sequence_indices(position_ids)
    if position_ids.shape[1] != real.shape[1]:
        return None
    real = real.to(position_ids.device)
    highest = torch.where(real, position_ids, -1)
    before = torch.cat([torch.full_like(highest[:, :1], -1), _latest(highest, real)[:, :-1]], dim=1)
    number = (real & (position_ids <= before)).int().cumsum(1)
    if not torch.compiler.is_compiling() and not bool(number.any()):
        return None
    documents = torch.where(real, number, -1)
    if not torch.compiler.is_compiling():
        _check_whole(documents)
    return documents


def _latest(x: Tensor, real: Tensor) -> Tensor:
    """At every place, what stands at the latest real one up to it; −1 where there is none."""
    at = torch.where(real, torch.arange(x.shape[1], device=x.device), -1).cummax(1).values
    return torch.where(at >= 0, x.gather(1, at.clamp(min=0)), -1)


def _check_whole(documents: Tensor) -> None:
    for row in documents:
        runs = torch.unique_consecutive(row)
        runs = runs[runs >= 0]
        if len(runs) != len(runs.unique()):
            raise ValueError("padding must not stand inside one of the documents that are packed in a row")
