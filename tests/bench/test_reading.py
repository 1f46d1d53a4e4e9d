"""Bits of a text that a model reads on through: every token is said once, and in context."""

from math import log2

import pytest
import torch
from torch import Tensor

from regard.bench.reading import bits, windows


@pytest.mark.parametrize(("context", "stride"), [(4, 1), (4, 3), (5, 5), (7, 2)])
def test_every_token_but_the_first_is_said_once_and_in_context(context, stride):
    for length in range(30):
        said, least = [], []
        for begin, end, fresh in windows(length, context, stride):
            assert 0 <= begin < begin + fresh < end <= length
            assert end - begin <= context + 1
            said += range(begin + fresh, end)
            least.append(fresh)
        assert said == list(range(1, length))
        assert all(fresh > context - stride for fresh in least[1:])
    with pytest.raises(ValueError, match="stride must be from 1 to the context, got stride=5, context=4"):
        list(windows(9, 4, 5))


class Counting:
    """Says the next token's chance by how many it reads: what it sees of a row decides its bits."""

    def __init__(self) -> None:
        self.widths: list[int] = []

    def __call__(self, tokens: Tensor) -> Tensor:
        self.widths.append(tokens.shape[1])
        seen = torch.arange(1, tokens.shape[1] + 1).view(1, -1, 1)
        return torch.cat([seen.log(), torch.zeros_like(seen)], -1).expand(len(tokens), -1, 2)


def test_what_is_not_counted_is_read_and_costs_nothing():
    row = [0] * 7
    model = Counting()
    # Targets 1 to 4 follow 1 to 4 tokens, the next two windows say one each after four.
    whole = bits(model, [row], [[True] * 7], context=4, stride=1)
    chances = [1 / 2, 2 / 3, 3 / 4, 4 / 5, 4 / 5, 4 / 5]
    assert whole == pytest.approx(-sum(map(log2, chances)), rel=1e-6)
    some = bits(model, [row], [[False] * 5 + [True] * 2], context=4, stride=1)
    assert some == pytest.approx(-2 * log2(4 / 5), rel=1e-6)
    assert max(model.widths) == 4


def test_rows_are_read_by_themselves():
    rows, all_of = [[0, 0], [0] * 5, [0]], [[True] * 2, [True] * 5, [True]]
    together = bits(Counting(), rows, all_of, context=4, stride=2)
    both = zip(rows, all_of, strict=True)
    apart = sum(bits(Counting(), [row], [said], context=4, stride=2) for row, said in both)
    assert together == pytest.approx(apart, rel=1e-6)
