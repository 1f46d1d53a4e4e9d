from collections.abc import Callable
from threading import Lock

import pytest

from regard.bench.crew import in_turns


def doubled(item: int, alone: Lock) -> Callable[[], int]:
    with alone:
        if item == 13:
            raise ValueError("13 cannot be prepared")
    return lambda: item * 2 if item >= 0 else 1 // 0


def test_in_order_from_several_processes() -> None:
    assert list(in_turns(doubled, range(5), 2)) == [0, 2, 4, 6, 8]
    assert list(in_turns(doubled, [], 2)) == []


def test_what_goes_wrong_reaches_the_caller() -> None:
    with pytest.raises(RuntimeError, match="ValueError: 13 cannot be prepared"):
        next(in_turns(doubled, [13], 1))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(in_turns(doubled, [3, -1], 1))
