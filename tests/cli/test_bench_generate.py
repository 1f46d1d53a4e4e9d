"""The generation benchmark: agreement before the clock, absent peers named, both curves recorded."""

import pytest
import torch

from regard.cli.benches import generate
from regard.cli.benches.generate import LARGE, SMALL, TINY


def test_quick_on_a_cpu() -> None:
    pytest.importorskip("transformers")
    report = generate.run("cpu", quick=True)
    assert [row.who for row in report.rows] == [
        *["regard", "transformers, default", "transformers, static cache"] * 2,
        "regard",
    ]
    assert all("tokens/s" in row.note for row in report.rows if row.who == "transformers, default")
    assert "0 of them differ" in report.settings["checks"][0]
    million = report.settings["million"]
    assert len(million["ms per token"]) == len(million["megabytes"]) == 10
    assert max(million["ms per token"]) == million["tokens"] == 2_000


def test_the_shapes_are_those_of_the_issue() -> None:
    assert (SMALL.depth, SMALL.width, SMALL.vocab) == (6, 256, 12_000)
    sizes = []
    for shape in LARGE:
        config = generate._config(shape)
        width, depth = config.width, config.depth
        sizes.append(12 * width**2 * depth + (config.vocab + config.context) * width)
    assert sizes[0] == pytest.approx(124e6, rel=0.01)
    assert sizes[1] == pytest.approx(1.557e9, rel=0.01)


def test_a_model_that_disagrees_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    read = generate.from_huggingface

    def off(theirs: torch.nn.Module) -> torch.nn.Module:
        ours = read(theirs)
        with torch.no_grad():
            ours.get_parameter("blocks.0.attention.qkv.bias")[:20] += 2
        return ours

    monkeypatch.setattr(generate, "from_huggingface", off)
    with pytest.raises(ValueError, match="of them differ from transformers'; not timed"):
        generate.check(TINY, "cpu")


def test_an_absent_peer_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "_absent", lambda: "not installed")
    monkeypatch.setattr(generate, "_forever", lambda *_: None)
    report = generate.run("cpu", quick=True)
    assert [row.note for row in report.rows[1:3]] == ["not installed"] * 2
    assert "not compared" in report.settings["checks"][0]
