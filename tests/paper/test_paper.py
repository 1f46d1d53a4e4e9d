"""What every room relies on when it shows something."""

import re
from xml.etree import ElementTree

import pytest

from regard.paper import ink, pages, quantities, svg, tables
from regard.paper.plot import Axis, curves


def test_colours_are_typed_once():
    colours = [ink.INK, ink.QUIET, ink.SEEN, ink.UNSEEN, ink.MARK, ink.GOOD, ink.BAD]
    assert len(set(colours)) == len(colours)
    assert set(ink.DARK) <= set(ink.LIGHT)
    for sheet in (pages.PARTS, pages.PAGE):
        assert not re.search(r"#[0-9a-f]{3,6}\b", sheet), "a style sheet names its colours"
        assert set(re.findall(r"var\(--(\w+)", sheet)) <= {*ink.LIGHT, "n", "a", "deep"}


def test_words_are_escaped_wherever_they_stand():
    hostile = '"><script>&'
    parts = [svg.words(0, 0, hostile, fill=hostile), svg.element("rect", style=hostile)]
    root = ElementTree.fromstring(svg.document(parts, (0, 0, 10, 5), hostile))
    assert [e.text for e in root.iter() if e.tag.endswith(("title", "text"))] == [hostile, hostile]
    html = pages.table([hostile], [[hostile, hostile]]) + pages.numbers([(hostile, hostile)])
    html += pages.bars([(hostile, 0.5, hostile)]) + pages.image(b"", hostile)
    html += curves(Axis(hostile, 0, 1), Axis(hostile, 0, 1), {hostile: [(0, 0), (1, 1)]}, title=hostile)
    assert "<script" not in html


def test_a_page_escapes_its_words():
    shown = pages.page("a & b", [pages.Section("1 < 2", "<p>ok</p>")], under="c < d")
    assert "<h1>a &amp; b</h1>" in shown
    assert '<h2 id="1-2">1 &lt; 2</h2>' in shown
    assert "c &lt; d" in shown


def test_a_page_ties_numbers_to_their_percent_signs():
    shown = pages.page("t", [pages.Section("s", "<p>97.1 % of 5 %</p>")], under="1 %")
    assert shown.count("\N{NO-BREAK SPACE}%") == 3
    assert "<nav>" not in shown
    assert '<a href="#s">' in pages.page("t", [pages.Section("s", "")], contents=True)


def test_rows_keep_their_depth():
    shown = pages.table(["part", "flops"], [["all", "3"], ["  inner", "1"], ["    deep", "1"]])
    assert re.findall(r"--deep:([\d.]+)rem", shown) == ["1.1", "2.2"]


@pytest.mark.parametrize(("value", "shown"), [(-0.004, "0.00"), (0.005, "+0.01"), (-12.5, "−12.50")])
def test_signs(value, shown):
    assert quantities.signed(value) == shown


def test_markdown_means_nothing_in_cells():
    assert tables.markdown(["a"], [[tables.plain("x|y_z")]]).splitlines()[2] == r"| x\|y\_z |"
