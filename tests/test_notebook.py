"""What a notebook shows of patterns, costs, traces and runs, and the tutorial that is one."""

import json
import re
import sys
from xml.etree import ElementTree

import pytest
import torch

from regard.cost import AttentionShape, Cost, price
from regard.layers import Trace
from regard.models import GPT, GPTConfig
from regard.pattern import Axial, Blocks, Causal, Documents, Full, Strided
from regard.train import Result, open_run
from tests.test_docs import DOCS

SMALL = GPTConfig(vocab=20, context=16, depth=2, width=8, heads=2)


@pytest.mark.parametrize(
    "pattern",
    [Causal(), Strided(back=3), Strided(back=100_000), Axial(rows=3, cols=4), Documents((2, 3)), ~Full()],
    ids=str,
)
def test_a_pattern_is_drawn(pattern):
    text = pattern._repr_svg_()
    assert ElementTree.fromstring(text).tag.endswith("svg")


def test_where_no_length_fits_there_is_no_picture():
    assert (Axial(rows=3, cols=4) & Documents((2, 3)))._repr_svg_() is None


def test_a_large_window_is_seen():
    assert "256 queries" in Blocks(size=100)._repr_svg_()


def test_a_cost_is_a_table():
    cost = price(SMALL, tokens=16)
    lines = str(cost).splitlines()
    assert lines[0] == "a forward pass: 16 tokens, batch 1, float32"
    assert re.fullmatch(rf"parameters +{cost.parameters:,}", lines[1])
    assert not any(line.split()[-1] == "0" for line in lines)
    assert f"<td>{cost.flops:,}</td>" in cost._repr_html_()
    assert "blocks" in cost._repr_html_()
    assert str(Cost()) == "no cost"
    assert str(Cost(pairs=3, notices=("a < b",))).endswith("notice: a < b")
    assert "a &lt; b" in Cost(pairs=3, notices=("a < b",))._repr_html_()


def test_a_cost_in_letters_is_a_table_too():
    cost = price(AttentionShape(width=64, heads=4), tokens="n")
    assert "n" in str(cost)
    assert "<table" in cost._repr_html_()


def test_a_trace_lists_what_was_seen():
    trace = Trace()
    GPT(SMALL)(torch.zeros(1, 5, dtype=torch.long), trace=trace)
    shown = trace._repr_html_()
    assert all(name in shown for name in trace)
    assert "1 × 2 × 5 × 5" in shown
    trace.record("mask", torch.ones(2, dtype=torch.bool))
    assert "mask" in trace._repr_html_()
    assert repr(Trace()) == "Trace of 0 tensors: nothing recorded"


def test_a_run_says_what_it_is(tmp_path):
    run = open_run("zoo:verdicts-encoder")
    assert re.fullmatch(r"verdicts-encoder: Encoder for texts, [\d,]+ parameters", str(run))
    assert "verdicts" in run._repr_html_()
    result = Result(str(tmp_path), "a<b", 9, 5, {"loss": 1.25}, {"training": 2.0}, 3.0, 4)
    assert "a&lt;b" in result._repr_html_()
    (tmp_path / "curves.svg").write_text("<svg/>")
    assert result._repr_html_().endswith("<svg/>")


@pytest.fixture
def notebooks(monkeypatch):
    pytest.importorskip("nbformat")
    monkeypatch.syspath_prepend(str(DOCS))
    from pages import notebooks

    yield notebooks
    for name in [name for name in sys.modules if name.partition(".")[0] == "pages"]:
        del sys.modules[name]


def test_the_tutorial_notebook_is_fresh_and_was_run(notebooks):
    for name, page in notebooks.PAGES.items():
        stored = json.loads((DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
        fresh = notebooks.notebook(name, (DOCS / page).read_text(encoding="utf-8"))
        assert ["".join(cell["source"]) for cell in stored["cells"]] == [cell.source for cell in fresh.cells]
        code = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] for cell in code)
        kinds = {kind for cell in code for out in cell["outputs"] for kind in out.get("data", {})}
        assert {"image/svg+xml", "text/html"} <= kinds
        assert "error" not in {out["output_type"] for cell in code for out in cell["outputs"]}
