"""The generation benchmark: agreement before the clock, absent peers named, both curves recorded."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.bench import endless, generate
from regard.bench.compiles import compilations
from regard.bench.generate_sizes import LARGE, LLAMA, SMALL, TINY
from regard.cli.main import main
from regard.cost import price
from regard.pattern import Strided


def test_quick_on_a_cpu(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    assert main(["bench", "generate", "--device", "cpu", "--quick", "--out", str(tmp_path)]) == 0
    [path] = tmp_path.glob("*.json")
    found = json.loads(path.read_text())
    assert [row["who"] for row in found["rows"]] == [
        *["regard", "transformers, default", "transformers, static cache"] * 2,
        *["regard", "regard, int8 weights"],
        *["regard", "transformers, default", "transformers, static cache"],
        *["regard", "transformers, SDPA"],
        *["regard", "regard", "one training step on them"],
    ]
    rows = {row["who"]: row["note"] for row in found["rows"]}
    assert "tokens/s" in rows["transformers, default"]
    assert rows["transformers, static cache"] == "compiled on a GPU only"
    settings = found["settings"]
    assert all("0 of them differ" in check for check in settings["checks"])
    assert "tokens/s read" in rows["transformers, SDPA"]
    assert settings["prompts"]["compiled"] == []
    assert list(settings["prompts"]["ms to first token"]) == ["5", "17"]
    assert settings["training"]["tokens"] == 32


def test_one_part_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["bench", "generate", "--device", "cpu", "--quick", "--out", str(tmp_path), "--only"]
    assert main([*command, "prompts"]) == 0
    assert "nothing compiled after a prompt of 8" in capsys.readouterr().out
    assert main([*command, "all"]) == 2
    assert "only must be some of one, many, 124m" in capsys.readouterr().err
    assert main(["bench", "linear", "--device", "cpu", "--quick", "--only", "one"]) == 2
    assert "only is for generate" in capsys.readouterr().err


def test_a_part_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(*_: object) -> None:
        assert json.loads(next(tmp_path.glob("*.json")).read_text())["rows"]  # written before
        raise RuntimeError("out of memory\nand more")

    monkeypatch.setattr(generate, "absent", lambda: "not installed")
    monkeypatch.setattr(generate, "_prompts", fails)
    report = generate.run("cpu", True, tmp_path, ["one", "prompts", "training"])
    notes = {row.case: row.note for row in report.rows}
    assert notes["prompts"] == "failed: RuntimeError: out of memory"
    assert report.rows[-1].who == "one training step on them"


def test_a_peer_that_fails_is_a_row() -> None:
    def fails(count: int) -> torch.Tensor:
        raise RuntimeError("no such cache")

    works = (torch.zeros, (1, 2))
    found = generate._rates({"regard": works, "peer": (fails, (1, 2))}, 1, "cpu")
    assert found["peer"].note == "failed: RuntimeError: no such cache"
    assert "tokens/s" in found["regard"].note


def test_compilations_are_seen() -> None:
    with compilations() as compiled:
        torch.compile(lambda x: x + 1, backend="eager")(torch.zeros(3))
    assert compiled == ["torch.compile"]


def test_endless_on_a_cpu(tmp_path: Path) -> None:
    assert main(["bench", "endless", "--device", "cpu", "--quick", "--out", str(tmp_path)]) == 0
    found = json.loads(next(tmp_path.glob("endless-*.json")).read_text())
    strided, causal = found["settings"]["curves"]
    assert (strided["tokens"], strided["cut"], causal["tokens"]) == (2_000, None, 1_000)
    assert strided["ms per token"].keys() == strided["megabytes"].keys()
    assert "2,000 of 2,000 tokens" in found["rows"][0]["note"]
    assert next(tmp_path.glob("endless-*.svg")).stat().st_size > 5_000


def test_a_stream_cut_short_between_two_points(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = endless.Curve("strided(16)", 1000, 900, {256: 2.0, 512: 3.0}, {256: 1.0, 512: 1.0}, 9.0)
    monkeypatch.setattr(endless, "curve", lambda *_: cut)
    assert endless.run("cpu", quick=True).rows[0].forward_ms == 3.0


def test_a_stream_is_cut_short_by_time() -> None:
    config = replace(endless._config(1, 32, 100), pattern=Strided(back=16))
    found = endless.curve(config, 10**9, "cpu", torch.float32, limit=0.3)
    assert 0 < found.tokens < 10**9
    assert "stopped after" in found.as_dict()["cut"]
    assert "of 1,000,000,000 tokens" in found.summary


def test_the_shapes_are_those_of_the_issue() -> None:
    assert (SMALL.depth, SMALL.width, SMALL.vocab) == (6, 256, 12_000)
    sizes = []
    for shape in LARGE:
        config = shape.config()
        width, depth = config.width, config.depth
        sizes.append(12 * width**2 * depth + (config.vocab + config.context) * width)
    assert sizes[0] == pytest.approx(124e6, rel=0.01)
    assert sizes[1] == pytest.approx(1.557e9, rel=0.01)
    assert price(LLAMA.config(), tokens=1).parameters == 8_030_261_248


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
    monkeypatch.setattr(generate, "absent", lambda: "not installed")
    report = generate.run("cpu", quick=True, only=["one"])
    assert [row.note for row in report.rows[1:3]] == ["not installed"] * 2
    assert "not compared" in report.settings["checks"][0]
