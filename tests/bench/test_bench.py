"""The benchmark's parts without their clock: rows, ratios, files, and that a wrong result is never timed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import regard.attention
from regard.bench import attention, exact
from regard.bench.report import BenchReport, TimeRow, plot
from regard.bench.timing import Timed, both_ways, milliseconds
from regard.cli.main import main
from regard.pattern import Causal, Dilated, Global, Pattern, Strided, Windowed


def a_report() -> BenchReport:
    report = BenchReport("attention", {"device": "cpu", "quick": True})
    report.add(
        "strided(8)",
        Timed(2.0, 5.0),
        {"SDPA": Timed(6.0, 10.0), "absent": Timed(note="not installed")},
        floor=0.5,
    )
    report.series["ours"] = {1024: 1.0, 4096: 4.0}
    return report


def test_ratios_are_the_peers_time_over_ours(capsys: pytest.CaptureFixture[str]) -> None:
    ours, sdpa, absent = a_report().rows
    assert (ours.who, ours.forward_ratio, ours.floor_ms) == ("regard", None, 0.5)
    assert (sdpa.forward_ratio, sdpa.both_ratio, sdpa.floor_ms) == (3.0, 2.0, None)
    assert (absent.forward_ratio, absent.both_ratio, absent.note) == (None, None, "not installed")
    assert capsys.readouterr().out.splitlines() == [ours.line(), sdpa.line(), absent.line()]


def test_a_line_has_the_columns_of_the_header() -> None:
    text = TimeRow("strided(8)", "regard", 2.0, 5.0, 0.5).line()
    assert text.split() == ["strided(8)", "regard", "2.000", "5.000", "–", "–", "0.500", "25%"]
    assert TimeRow("x", "SDPA", 6.0, 10.0, None, 3.0, 2.0).line().split()[2:] == [
        "6.000",
        "10.000",
        "3.00×",
        "2.00×",
        "–",
        "–",
    ]
    for title, value in (("forward", "2.000"), ("with back", "5.000"), ("floor", "0.500"), ("share", "25%")):
        assert TimeRow.titles().index(title) + len(title) == text.index(value) + len(value)


def test_a_saved_report_says_what_it_ran_on(tmp_path: Path) -> None:
    report = a_report()
    path = report.save(tmp_path / "new" / "folder")
    assert path.name == f"attention-{report.machine.slug}.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["machine"]["torch"] == torch.__version__
    assert stored["settings"] == {"device": "cpu", "quick": True}
    assert stored["rows"][1]["forward_ratio"] == 3.0
    assert stored["series"] == {"ours": {"1024": 1.0, "4096": 4.0}}


def test_the_plot_has_log_axes_and_names(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot(a_report(), tmp_path / "plot.svg", "attention on a machine")
    text = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    for word in ("attention on a machine", "sequence length n", "milliseconds", "ours", "1k", "4k"):
        assert f"<!-- {word} -->" in text


def test_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    takes = iter([9.0, 0.004, 0.002, 0.003])  # a slow first call is not counted

    def run() -> None:
        nonlocal now
        now += next(takes)

    monkeypatch.setattr("time.perf_counter", lambda: now)
    assert milliseconds(run, "cpu", budget=0.005) == pytest.approx(3.0)


def test_both_ways_times_the_forward_without_a_graph() -> None:
    x = torch.ones(3, requires_grad=True)
    graphs = []

    def forward() -> torch.Tensor:
        graphs.append(torch.is_grad_enabled())
        return x * 2

    timed = both_ways(forward, [x], "cpu", budget=0.0)
    assert timed.forward is not None
    assert timed.both is not None
    assert graphs == [False] * 4 + [True] * 5


class TestTheCheck:
    inputs = tuple(torch.randn(1, 2, 600, 16, generator=torch.Generator().manual_seed(i)) for i in range(3))

    @pytest.mark.parametrize(
        "pattern",
        [Strided(back=40), Windowed(size=50), Dilated(back=3, step=4), Global(first=2), ~Causal()],
        ids=str,
    )
    def test_what_is_right_passes(self, pattern: Pattern) -> None:
        exact.check(pattern, self.inputs)

    def test_in_half_precision_too(self) -> None:
        exact.check(Strided(back=40), tuple(x.bfloat16() for x in self.inputs))

    @pytest.mark.parametrize(
        ("wrong", "name"),
        [
            (lambda q, k, v, p, **o: regard.attention.attend(q, k, v, p, **o) * 1.0001, "out"),
            (lambda q, k, v, p, **o: regard.attention.attend(q, k, v, Strided(back=39), **o), "out"),
            (lambda q, k, v, p, **o: regard.attention.attend(q.detach() + q * 0, k, v, p, **o), "dq"),
            (lambda q, k, v, p, **o: regard.attention.attend(q, k.detach() + k * 0, v, p, **o), "dk"),
            (lambda q, k, v, p, **o: regard.attention.attend(q, k, v.detach() + v * 0, p, **o), "dv"),
            (lambda q, k, v, p, **o: regard.attention.attend(q, k, v, p, **o) * torch.nan, "out"),
        ],
    )
    def test_what_is_wrong_does_not(
        self, wrong: Callable[..., Any], name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(exact, "attend", wrong)
        with pytest.raises(ValueError, match=rf"strided\(40\): {name} is off by .*; not timed"):
            exact.check(Strided(back=40), self.inputs)


@pytest.fixture
def without_a_clock(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Nothing is run for its time; gives the order of checks and measurements."""
    order: list[str] = []

    def check(pattern: Pattern, inputs: tuple[torch.Tensor, ...]) -> None:
        order.append(f"checked {pattern}")

    def line(row: TimeRow) -> str:
        order.append(f"{row.who}: {row.case}")
        return ""

    monkeypatch.setattr(attention, "both_ways", lambda *_, **__: Timed(1.0, 2.0))
    monkeypatch.setattr(attention, "milliseconds", lambda *_, **__: 1.0)
    monkeypatch.setattr(exact, "check", check)
    monkeypatch.setattr(TimeRow, "line", line)
    return order


def test_everything_is_checked_before_it_is_timed(without_a_clock: list[str]) -> None:
    report = attention.run("cpu", quick=True)
    ours = [entry for entry in without_a_clock if entry.startswith("regard: ")]
    assert len(ours) >= 5
    for entry in ours:
        check = entry.replace("regard: ", "checked ")
        assert check in without_a_clock, check
        assert without_a_clock.index(check) < without_a_clock.index(entry)
    assert {row.who for row in report.rows} >= {
        "regard",
        "SDPA, dense mask",
        "SDPA, folded",
        "SDPA, causal",
        "SDPA",
    }
    assert all(len(points) >= 3 for points in report.series.values())
    assert report.settings["n"] == 4096


@pytest.mark.usefixtures("without_a_clock")
def test_a_failed_check_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    def check(pattern: Pattern, inputs: tuple[torch.Tensor, ...]) -> None:
        raise ValueError(f"{pattern}: out is off")

    monkeypatch.setattr(exact, "check", check)
    assert main(["bench", "attention", "--device", "cpu", "--quick", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "error: strided(128): out is off\n"
    assert list(tmp_path.iterdir()) == []


class TestTheVerb:
    @pytest.fixture(autouse=True)
    def tiny(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attention, "run", lambda device, quick: a_report())

    def test_a_table_a_file_and_a_plot(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("matplotlib")
        assert main(["bench", "attention", "--device", "cpu", "--quick", "--out", str(tmp_path)]) == 0
        header, *rows, last = capsys.readouterr().out.splitlines()
        assert header == TimeRow.titles()
        assert len(rows) == 3
        (stored,) = tmp_path.glob("attention-*.json")
        assert last == f"written to {stored}"
        assert stored.with_suffix(".svg").exists()

    def test_json_alone_on_stdout(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["bench", "attention", "--device", "cpu", "--out", str(tmp_path), "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["rows"][0]["case"] == "strided(8)"
        assert len(err.splitlines()) == 3

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["nonsense"], "name must be one of attention"),
            (["attention", "--device", "tpu"], "device must be one of cpu, cuda, mps, got device='tpu'"),
        ],
    )
    def test_bad_arguments(
        self, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["bench", *arguments]) == 2
        assert message in capsys.readouterr().err
