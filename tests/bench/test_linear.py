"""The benchmark of linear attention: its check before the clock, its rows and its curves."""

import pytest
import torch

from regard.bench import linear
from regard.bench.timing import Timed


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "CHECKED", 301)


def test_rows_and_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "both_ways", lambda *_, **__: Timed(1.0, 2.0))
    report = linear.run("cpu", quick=True)
    cases = ["linear, causal, check=False", "elu1, causal, check=False", "elu1, causal, check=True"]
    assert [row.case for row in report.rows] == cases
    assert report.series["linear, with backward"] == {1024: 2.0, 2048: 2.0, 4096: 2.0}


def test_what_is_wrong_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = linear.linear_attend

    def wrong(*inputs: torch.Tensor, impl: str, **how: object) -> torch.Tensor:
        return right(*inputs, impl=impl, **how) * (1.0001 if impl == "auto" else 1)

    monkeypatch.setattr(linear, "linear_attend", wrong)
    monkeypatch.setattr(linear, "both_ways", lambda *_, **__: pytest.fail("timed"))
    with pytest.raises(ValueError, match=r"linear_attend: out is off by .* allowed 2; not timed"):
        linear.run("cpu", quick=True)
