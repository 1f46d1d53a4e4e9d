import json
import re
from html.parser import HTMLParser

import pytest

from regard.cli.main import main
from regard.tour.walk import STOPS

GPT, VIT, ENCODER = list(STOPS)[-3:]
RUNS = ("play-gpt", "digits-vit", "verdicts-encoder")


class Balanced(HTMLParser):
    """Fails where a tag is closed that is not open; keeps every attribute."""

    VOID = ("meta", "br", "img")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen += [(tag, name, value) for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A whole tour with models that hardly learn: its folder."""
    out = tmp_path_factory.mktemp("made") / "deep" / "tour"
    assert main(["tour", "--out", str(out), "--steps", "2"]) == 0
    return out


def outside(text):
    """Everything in a page by which a browser would reach for something that is not in it."""
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # of formats: not places
    found = (
        set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\"' <)]*", re.sub(r"base64,[^\"]*", "", text))) - names
    )
    found |= {one for one in re.findall(r"url\(\s*['\"]?([^)]*)\)", text) if not one.startswith("#")}
    found |= set(re.findall(r"@import|<script|<link|<iframe|<object|<base|srcset", text))
    parser = Balanced()
    parser.feed(text)
    for _, name, value in parser.seen:
        if name == "src" and not value.startswith("data:image/png;base64,"):
            found.add(value)
        if name in ("href", "xlink:href", "data", "action", "poster") and not value.startswith("#"):
            found.add(value)
        if name.startswith("on"):
            found.add(name)
    return found


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://example.org">x</a>',
        '<img src="a.png">',
        '<link rel="stylesheet" href="#x">',
        "<style>@import 'a.css'</style>",
        "<p style=\"background: url('a.png')\">x</p>",
        '<a href="other.html">x</a>',
        '<img src="//example.org/a.png">',
        '<p onclick="go()">x</p>',
    ],
)
def test_what_leads_outside_would_be_found(text):
    assert outside(text)


def test_the_page_is_whole_and_alone(made):
    text = (made / "index.html").read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert outside(text) == set()
    assert "prefers-color-scheme: dark" in text
    assert text.count("<section>") == len(STOPS)
    places = {value for _, name, value in parser.seen if name == "id"}
    links = {value for tag, name, value in parser.seen if (tag, name) == ("a", "href")}
    assert len(links) == len(STOPS)
    assert {link.removeprefix("#") for link in links} <= places
    # Three patterns, two curves for each run, and the check of the maps.
    assert text.count("<svg") == 3 + 2 * 3 + 1
    assert text.count("data:image/png") >= 4 * 4 + 2 * 4  # cards of four pictures, and heads
    for said in ("136 of 256 pairs", "58 of 256 pairs", "40 of 256 pairs", "2,147,516,416", "124,439,808"):
        assert said in text
    for name in RUNS:
        assert f"regard train {name} --set steps=2" in text
    for said in ("Before", "After 2 steps", "true ", "predicted ", "bag of words", "all 2 steps"):
        assert said in text
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text).split("<body>")[1].lower().split()


def test_the_runs_are_there(made):
    for name in RUNS:
        assert (made / "runs" / name / "summary.json").exists()
    assert (made / "digit.png").read_bytes()[1:4] == b"PNG"


def test_reuse_trains_nothing_and_json_tells_all(made, capsys, monkeypatch):
    def never(*_, **__):
        raise AssertionError("trained again")

    monkeypatch.setattr("regard.tour.runs.train", never)
    assert main(["tour", "--out", str(made), "--steps", "2", "--reuse", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["out"] == str(made / "index.html")
    assert list(found["sections"]) == list(STOPS)
    assert found["sections"]["Who may look at whom"]["strided(3)"]["pairs"] == 58
    gpt, vit, encoder = (found["sections"][name] for name in (GPT, VIT, ENCODER))
    assert gpt["before"] != gpt["after"]
    assert len(gpt["after"]) == 3
    assert 0 <= vit["accuracy"] <= 1
    assert 0.5 < encoder["bag"] < 0.75
    assert 0.5 < encoder["pairs"] < 0.75
    assert encoder["examples"]
    for part in (gpt, vit, encoder):
        assert part["cost"]["flops"] == 2 * part["cost"]["flops_per_step"] > 0
        assert part["cost"]["parameters"] == part["result"]["parameters"]


def test_a_folder_of_other_runs_is_left_alone(tmp_path, capsys):
    own = tmp_path / "runs" / "play-gpt" / "model.safetensors"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine")
    assert main(["tour", "--out", str(tmp_path)]) == 2
    assert "holds runs that no tour made; choose another --out" in capsys.readouterr().err
    assert own.read_bytes() == b"mine"
    assert not (tmp_path / "index.html").exists()
