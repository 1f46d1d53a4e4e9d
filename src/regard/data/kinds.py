"""What a data set is once it is loaded: pictures or texts, with their labels, and how to cut a part off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import check_int

LEARNED, VALIDATED = -1, -2  # groups of which nothing, and of which everything is held out
SCORED = 10_000  # examples that are held out by their draws and scored: more says little, and takes long


@dataclass(frozen=True, eq=False)
class Pictures:
    """One part of a set of pictures: `images` uint8 (N, C, rows, cols) and `labels` int64 (N,).

    >>> part = Pictures(torch.zeros(5, 1, 2, 3, dtype=torch.uint8), torch.arange(5))
    >>> len(part), part.take(torch.tensor([4, 0])).labels
    (5, tensor([4, 0]))
    """

    images: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        if self.images.dtype != torch.uint8 or self.images.ndim != 4:
            got = f"{self.images.dtype} {tuple(self.images.shape)}"
            raise ValueError(f"images must be uint8 (N, C, rows, cols), got {got}")
        _check_labels(self.labels, len(self.images))

    def __len__(self) -> int:
        return len(self.images)

    def take(self, indices: Tensor | slice) -> Pictures:
        """The pictures at these indices, in their order; those of a slice share its memory."""
        return Pictures(self.images[indices], self.labels[indices])

    def to(self, device: torch.device | str) -> Pictures:
        """The same pictures on a device."""
        return Pictures(self.images.to(device), self.labels.to(device))


@dataclass(frozen=True, eq=False)
class Images:
    """A set of labelled pictures in two parts; `classes` names the labels.

    `draws`, where there are some, ascend: float64 in [0, 1) for every training example, by which a share of
    them is held out. `digest` then stands for the content, which may be too large to be read for that.
    """

    name: str
    classes: tuple[str, ...]
    train: Pictures
    test: Pictures
    draws: Tensor | None = None
    digest: str = ""


@dataclass(frozen=True)
class Corpus:
    """One long text.

    >>> Corpus("two", "A: yes?\\nB: no.\\n\\n\\nA: oh.\\n").dialogues()
    ['A: yes?\\nB: no.', 'A: oh.']
    """

    name: str
    text: str

    def dialogues(self) -> list[str]:
        """The stretches between blank lines."""
        blocks, block = [], []
        for line in [*self.text.split("\n"), ""]:
            if line.strip():
                block.append(line)
            elif block:
                blocks.append("\n".join(block))
                block = []
        return blocks


@dataclass(frozen=True, eq=False)
class Texts:
    """One part of a set of texts: N strings and `labels` int64 (N,)."""

    texts: Sequence[str]
    labels: Tensor

    def __post_init__(self) -> None:
        _check_labels(self.labels, len(self.texts))

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, indices: Tensor | slice) -> Texts:
        """The texts at these indices, in their order."""
        if isinstance(indices, slice):
            return Texts(self.texts[indices], self.labels[indices])
        return Texts(tuple(self.texts[i] for i in indices.tolist()), self.labels[indices])


@dataclass(frozen=True, eq=False)
class Reviews:
    """Labelled texts in two parts, and more without a label where the set has them.

    The `test` of SST-2 is its labelled `dev` part: the labels of its own test part were never published.
    `draws` and `digest` are as in `Images`. Where there are `groups`, int64 (N,), what has one number is held
    out together, of −1 nothing and of −2 everything; of what is held out, `whole`, bool (N,), is scored.
    """

    name: str
    classes: tuple[str, ...]
    train: Texts
    test: Texts
    unlabelled: tuple[str, ...] = ()
    draws: Tensor | None = None
    digest: str = ""
    groups: Tensor | None = None
    whole: Tensor | None = None


def held_out(found: Images | Reviews, share: float) -> tuple[Tensor | slice, Tensor | slice]:
    """Which training examples of a set train and which validate: by its own draws, or by a shuffle.

    By draws, what is held out stays so when others are added; at least one is, and one is not. Of many, the
    first validate.

    >>> part = Texts(("a", "b", "c"), torch.tensor([0, 1, 0]))
    >>> own = Reviews("x", ("no", "yes"), part, part, draws=torch.tensor([0.1, 0.5, 0.9]).double())
    >>> held_out(own, 0.2)
    (slice(1, None, None), slice(0, 1, None))
    """
    if isinstance(found, Reviews) and found.groups is not None:
        return _held_groups(found.groups, found.whole, share)
    if found.draws is None:
        return split(len(found.train), share, seed=0)
    if not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, got {share=}")
    draws = found.draws.contiguous()
    held = int(torch.searchsorted(draws, torch.tensor(share, dtype=draws.dtype)))
    if 0 < share < 1:
        held = min(max(held, 1), len(draws) - 1)
    return slice(held, None), slice(0, min(held, SCORED))


def _held_groups(groups: Tensor, whole: Tensor | None, share: float) -> tuple[Tensor, Tensor]:
    """Which examples train, and which of the groups that are held out validate.

    >>> _held_groups(torch.tensor([4, 4, 7, -1, -2]), torch.tensor([True, False, True, True, True]), 0.5)
    (tensor([2, 3]), tensor([0, 4]))
    """
    names, number = groups.unique(return_inverse=True)
    own = (names >= 0).nonzero()[:, 0]
    held = names == VALIDATED
    held[own[split(len(own), share, seed=0)[1]]] = True
    out = held[number]
    scored = out if whole is None else out & whole
    return (~out).nonzero()[:, 0], scored.nonzero()[:, 0]


def first_of(indices: Tensor | slice, count: int | None) -> Tensor | slice:
    """The first `count` of what `held_out` gives, or all.

    >>> first_of(slice(3, 9), 2), first_of(torch.tensor([4, 7]), 1)
    (slice(3, 5, None), tensor([4]))
    """
    if count is None:
        return indices
    if isinstance(indices, Tensor):
        return indices[:count]
    start = indices.start or 0
    return slice(start, start + count if indices.stop is None else min(start + count, indices.stop))


def split(count: int, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of a training and of a validation part, which gets this `share` of `count` examples.

    >>> train, validation = split(10, 0.3, seed=0)
    >>> len(train), len(validation), sorted([*train.tolist(), *validation.tolist()]) == list(range(10))
    (7, 3, True)
    """
    check_int("count", count, least=0)
    if not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, got {share=}")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    held = round(count * share)
    return order[held:], order[:held]


def _check_labels(labels: Tensor, count: int) -> None:
    if labels.dtype != torch.int64 or labels.shape != (count,):
        raise ValueError(f"labels must be int64 ({count},), got {labels.dtype} {tuple(labels.shape)}")
