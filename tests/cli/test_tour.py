import json
import re
from html.parser import HTMLParser

from regard.cli.main import main
from regard.cli.page import Section, page, table
from regard.cli.tour import SECTIONS


class Balanced(HTMLParser):
    """Fails where a tag is closed that is not open."""

    VOID = ("meta", "br", "img", "rect", "path", "circle")

    def __init__(self):
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_page(tmp_path, capsys):
    assert main(["tour", "--out", str(tmp_path / "deep" / "tour")]) == 0
    text = (tmp_path / "deep" / "tour" / "index.html").read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert text.count("<svg") == 3
    outside = set(re.findall(r"https?://[^\"' <]+", text))
    assert outside == {"http://www.w3.org/2000/svg"}  # the name of a format, not a place
    assert not re.search(r"<script|<link|@import|src=", text)
    assert "prefers-color-scheme: dark" in text
    for said in (
        "136 of 256 pairs",
        "58 of 256 pairs",
        "40 of 256 pairs",
        "2,147,516,416",
        "262,138",
        "163,840",
    ):
        assert said in text
    out = capsys.readouterr().out
    for said in ("136 of 256", "(t+1)(2n−t)/2 for n > t", "262,138", "index.html"):
        assert said in out


def test_for_machines(tmp_path, capsys):
    assert main(["tour", "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["out"] == str(tmp_path / "index.html")
    assert len(found["sections"]) == len(SECTIONS)
    assert found["sections"]["Who may look at whom"]["strided(3)"]["pairs"] == 58


def test_a_page_escapes_its_words():
    shown = page("a & b", [Section("1 < 2", "<p>ok</p>", [])])
    assert "<h1>a &amp; b</h1>" in shown
    assert "<h2>1 &lt; 2</h2>" in shown
    assert "<td>&lt;</td>" in table(["x"], [["<"]])
