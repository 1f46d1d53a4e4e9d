"""The recurrence benchmark: all it times has passed its check, and what is wrong is refused."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.bench import recurrence
from regard.bench.timing import Timed
from regard.cli.main import main
from regard.recurrence import grid_rnn, linear_rnn, rnn


def test_quick_on_a_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "recurrence", "--device", "cpu", "--quick", "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("recurrence-*.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert capsys.readouterr().out.endswith(f"written to {path}\n")
    cases: dict[str, dict[str, dict[str, object]]] = {}
    for row in stored["rows"]:
        cases.setdefault(row["case"], {})[row["who"]] = row
    assert [case.split(" float32")[0] for case in cases] == [
        "grid 12×12 h16 B1",
        "grid 12×12 h16 B2",
        "linear_rnn T64 h16 B16",
        "rnn T64 h16 B16",
    ]
    for case, rows in cases.items():
        grid = case.startswith("grid")
        assert list(rows) == ["regard", *(["double loop", "simple wavefront"] if grid else ["loop"])]
        for who, row in rows.items():
            assert isinstance(row["forward_ms"], float)
            assert (row["both_ms"] is not None) or str(row["note"]).startswith("forward alone: ")
            assert (row["forward_ratio"] is None) == (who == "regard")
        assert not grid or rows["regard"]["note"] == "wavefront"
    names = [check.split(", float32")[0] for check in stored["settings"]["checks"]]
    assert names[:4] == ["grid_rnn", "simple wavefront", "linear_rnn", "rnn"]


def check(way: Callable[..., Tensor], dtype: torch.dtype = torch.float32) -> list[str]:
    problem = recurrence._grid((2, 5, 4, 3, 8), dtype, "cpu")
    return recurrence._check({"this": way}, recurrence.double_loop, problem)


class TestTheCheck:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("way", [grid_rnn, recurrence.simple_wavefront])
    def test_what_is_right_passes(self, way: Callable[..., Tensor], dtype: torch.dtype) -> None:
        (text,) = check(way, dtype)
        assert text.startswith(f"this, {str(dtype)[6:]}, 2×5×4×3 to 8: ")

    @pytest.mark.parametrize(
        ("wrong", "where"),
        [
            (lambda x, i, left, top: grid_rnn(x, i, left, top) * 1.00001, "out"),
            (lambda x, i, left, top: grid_rnn(x, i, top, left), "out"),
            (lambda x, i, left, top: grid_rnn(x, i, left, top) * torch.nan, "out|x|W_in|W_left|W_top"),
            (lambda x, i, left, top: grid_rnn(x.detach() + 0 * x, i, left, top), "x"),
            (lambda x, i, left, top: grid_rnn(x, i.detach(), left, top), "W_in"),
            (lambda x, i, left, top: grid_rnn(x, i, left.detach(), top), "W_left"),
            (lambda x, i, left, top: grid_rnn(x, i, left, top.detach()), "W_top"),
        ],
    )
    def test_what_is_wrong_does_not(self, wrong: Callable[..., Tensor], where: str) -> None:
        with pytest.raises(ValueError, match=rf"^this, .*: ({where}) is off by \S+ times .*; not timed$"):
            check(wrong)

    def test_one_row_has_no_top(self) -> None:
        problem = recurrence._grid((2, 1, 4, 3, 8), torch.float32, "cpu")
        assert recurrence._check({"this": grid_rnn}, recurrence.double_loop, problem)

    def test_every_activation_and_corner(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recurrence, "SHAPES", [(2, 7, 3, 4, 9)])
        found = recurrence._check_kinds("cpu", torch.float32)
        for kind in ("tanh, top-left", "relu, top-right", "sigmoid, bottom-left", "identity, bottom-right"):
            assert sum(f"grid_rnn, auto, {kind}" in text for text in found) == 1
        assert len(found) == 5


def test_a_failed_check_ends_the_run_before_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def clock(*_: object, **__: object) -> Timed:
        raise AssertionError("timed")

    monkeypatch.setattr(recurrence, "both_ways", clock)
    monkeypatch.setattr(recurrence, "simple_wavefront", partial(grid_rnn, activation=torch.relu))
    with pytest.raises(ValueError, match=r"simple wavefront, float32, 1×12×7×3 to 16: .*; not timed"):
        recurrence.run("cpu", quick=True)


@pytest.mark.parametrize("right", [True, False])
def test_a_sequence_with_wrong_gradients_is_timed_forward_alone(
    right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recurrence, "both_ways", lambda *_, **__: Timed(1.0, 2.0))
    monkeypatch.setattr(recurrence, "milliseconds", lambda *_, **__: 1.0)
    slow = recurrence.SEQUENCES["linear_rnn"][1]

    def fast(x: Tensor, W_x: Tensor, W_h: Tensor) -> Tensor:
        return slow(x, W_x, W_h if right else W_h.detach())

    report = recurrence.BenchReport("recurrence", {"checks": []})
    problem = recurrence._sequence((2, 9, 3, 5), torch.float32, "cpu")
    recurrence._time_sequence(report, "scan", fast, slow, problem)
    ours, loop = report.rows
    assert (ours.case, ours.forward_ms, loop.both_ms) == ("scan T9 h5 B2 float32", 1.0, 2.0)
    if right:
        assert (ours.both_ms, ours.note, loop.both_ratio) == (2.0, "", 1.0)
    else:
        assert (ours.both_ms, loop.both_ratio) == (None, None)
        assert ours.note.startswith("forward alone: scan, gradients, float32, 2×9×3 to 5: W_h is off by ")


def test_sequences_are_ours_and_their_definition() -> None:
    inputs, _ = recurrence._sequence((2, 9, 3, 5), torch.float64, "cpu")
    assert [fast for fast, _ in recurrence.SEQUENCES.values()] == [linear_rnn, rnn]
    for fast, slow in recurrence.SEQUENCES.values():
        torch.testing.assert_close(fast(*inputs), slow(*inputs))
