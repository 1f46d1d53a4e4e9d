"""Which phrases are parts of which sentences, and reviews with sentences as one set."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.data.contrasts import contrasts
from regard.data.kinds import LEARNED, VALIDATED, Reviews, Texts

FILM = 50  # reviews in the order of the set, in which those of a film stand together: at most 30 of each
MADE = 40_000  # contrasts to learn from
PROBES = 2_000  # contrasts by rules of their own, to choose by


def grouped(texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """The group of each text, which is that of the sentence it is a part of, and whether it is a sentence.

    A phrase that is in several sentences goes with one of them.

    >>> grouped(["a fine film", "fine", "dull", "a fine film indeed", "film ind"])
    (tensor([3, 3, 2, 3, 4]), tensor([False, False,  True,  True,  True]))
    """
    words = [text.split() for text in texts]
    keys = [" ".join(one) for one in words]
    known = set(keys)
    inside: dict[str, int] = {}
    whole = torch.zeros(len(texts), dtype=torch.bool)
    for i in sorted(range(len(texts)), key=lambda i: -len(words[i])):
        if keys[i] in inside:
            continue
        whole[i], one = True, words[i]
        for first in range(len(one)):
            for last in range(first + 1, len(one) + 1):
                if (part := " ".join(one[first:last])) in known:
                    inside.setdefault(part, i)
    return torch.tensor([inside[key] for key in keys], dtype=torch.int64), whole


def with_contrasts(reviews: Reviews, sentences: Reviews, name: str) -> Reviews:
    """One set of reviews and sentences, with contrasts made from the sentences' words.

    A contrast is held out with the sentence of which it has a word, and not scored; some rules make contrasts
    for validation alone. The tests of both stand one after the other, that of the reviews first.
    """
    if sentences.groups is None or sentences.whole is None:
        raise ValueError(f"sentences must have groups, got {sentences.name} without")
    parts = sentences.train
    made = contrasts(MADE, [*zip(parts.texts, parts.labels.tolist(), strict=True)], seed=0)
    probes = contrasts(PROBES, seed=1, probes=True)
    films = _films(reviews.train.labels)
    groups = sentences.groups + int(films.max()) + 1
    theirs = [LEARNED if one.source is None else int(groups[one.source]) for one in made]
    every = Texts(
        tuple(one.text for one in (*made, *probes)), torch.tensor([one.label for one in (*made, *probes)])
    )
    return Reviews(
        name,
        reviews.classes,
        _joined(reviews.train, parts, every),
        _joined(reviews.test, sentences.test),
        groups=torch.cat([films, groups, torch.tensor([*theirs, *[VALIDATED] * len(probes)])]),
        whole=torch.cat(
            [
                torch.ones(len(films), dtype=torch.bool),
                sentences.whole,
                torch.arange(len(every)) >= len(made),
            ]
        ),
    )


def _films(labels: Tensor) -> Tensor:
    """Stretches of reviews as groups; each label has its own order, as the films do."""
    out = torch.zeros_like(labels)
    for label in labels.unique():
        mine = (labels == label).nonzero()[:, 0]
        out[mine] = torch.arange(len(mine)) // FILM * (int(labels.max()) + 1) + label
    return out


def _joined(*parts: Texts) -> Texts:
    return Texts(
        tuple(text for part in parts for text in part.texts), torch.cat([one.labels for one in parts])
    )
