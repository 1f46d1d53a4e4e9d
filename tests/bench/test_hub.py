"""The benchmark of caches without its clock: what is held, and that perplexity is that of the pattern."""

import math
from functools import partial

import pytest
import torch
from torch.nn.functional import cross_entropy

pytest.importorskip("transformers")

from regard.bench import hub
from regard.bench.report import BenchReport, TimeRow
from regard.hub import PatternCache, use
from tests.hub.families import logits, made, ours, tokens


def test_bytes_are_those_of_the_keys_that_are_kept(capsys):
    report = BenchReport("hub", {})
    hub._decoding(report, "cpu", [10, 50], 20)
    assert "2 M, 50 before" in capsys.readouterr().out
    mine, theirs = (row for row in report.rows if row.case == "2 M, 50 before")
    key = 2 * 2 * 32 * 4  # of one token in two layers, with its value
    steps = (hub.ROUNDS + 1) * hub.STEPS
    assert mine.note == f"{20 * key:,} bytes of cache"
    assert theirs.note == f"{(50 + steps) * key:,} bytes of cache"
    assert mine.forward_ms > 0 < theirs.forward_ratio


def test_caches_that_do_not_agree_are_not_timed():
    with pytest.raises(ValueError, match="do not agree where nothing is let go"):
        hub._check(torch.zeros(3), torch.ones(3))


def test_perplexity_is_that_of_the_pattern(monkeypatch):
    monkeypatch.setattr(hub, "PIECE", 5)
    model, x = ours(made("llama")), tokens(1, 31)
    use(model, "strided(6)")
    want = cross_entropy(logits(model, input_ids=x)[0, :-1], x[0, 1:])
    cache = PatternCache(model)
    row = hub._scored("case", "who", x, partial(hub._by_cache, model, cache), cache)
    assert row.note.startswith(f"{math.exp(float(want)):.3f}; up to 30: ")
    assert row.note.endswith(f"{3 * 2 * 2 * 7 * 6 * 4:,} bytes of cache")


def test_what_is_read_anew_sees_a_window(monkeypatch):
    monkeypatch.setattr(hub, "PIECE", 5)
    model, x = ours(made("llama")), tokens(1, 17)
    with torch.no_grad():
        found = torch.cat(list(hub._anew(model, 6, x)))
    rows = [logits(model, input_ids=x[:, max(0, i - 5) : i + 1])[0, -1] for i in range(17)]
    assert torch.allclose(found, torch.stack(rows), atol=1e-5)


def test_a_part_that_is_not_measured_again_stays(tmp_path):
    old = BenchReport("hub", {"clock": "wall", "steps": 3})
    old.rows += [TimeRow("2 M, 10 before", "a", 1.0), TimeRow("perplexity of 9 characters", "b", 2.0)]
    old.save(tmp_path)
    report = BenchReport("hub", {"clock": "processor time"})
    assert [row.who for row in hub._kept(report, tmp_path, "perplexity")] == ["b"]
    assert [row.who for row in hub._kept(report, tmp_path, "decoding")] == ["a"]
    assert report.settings["clock"] == "processor time"
    assert report.settings["steps"] == 3
    assert report.settings["perplexity kept from"] == f"{old.machine.date}, by wall"
    assert hub._kept(report, tmp_path / "none", "decoding") == []
    with pytest.raises(ValueError, match="only must be some of decoding, perplexity, got speed"):
        hub.run("cpu", True, only=["speed"])
