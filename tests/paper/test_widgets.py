"""Widgets of notebooks in a real browser: the text that anywidget gets, with a model that Python answers."""

import base64
import sys

import pytest
import torch

from regard.layers import Trace
from regard.models import GPT, GPTConfig
from regard.paper.widgets import bundled, style
from regard.pattern import Causal, Pattern, Strided, parse
from tests.studio.conftest import chromium

# What JupyterLab's side does: values by name, changes told to Python and to who listens.
PAGE = """async ([source, css, state]) => {
  document.body.innerHTML = ""; document.head.append(Object.assign(document.createElement("style"), {textContent: css}));
  const plain = (all) => Object.fromEntries(Object.entries(all).map(([name, one]) => [name, name === "values" ? new DataView(Uint8Array.from(atob(one), (c) => c.charCodeAt(0)).buffer) : one]));
  const now = plain(state), heard = {}, waiting = {};
  const put = (name, value) => { if (now[name] === value) return; now[name] = value; (heard[`change:${name}`] ?? []).forEach((act) => act()); };
  const model = {
    get: (name) => now[name], set: (name, value) => { put(name, value); waiting[name] = value; },
    on: (event, act) => { (heard[event] ??= []).push(act); }, off: (event, act) => { heard[event] = (heard[event] ?? []).filter((one) => one !== act); },
    save_changes: async () => { const told = {...waiting}; Object.keys(waiting).forEach((one) => delete waiting[one]); for (const [name, value] of Object.entries(plain(await python(told)))) put(name, value); },
  };
  const module = await import(URL.createObjectURL(new Blob([source], {type: "text/javascript"}))), el = document.createElement("div");
  document.body.append(el);
  window.ended = module.default.render({model, el});
}"""  # noqa: E501
NAMES = {
    "widget_pattern.js": ("text", "n"),
    "widget_trace.js": ("names", "name", "at", "maps", "sides", "values"),
}


@pytest.fixture(scope="module")
def page():
    pytest.importorskip("anywidget", reason="no widgets: pip install 'regard[notebook]'")
    with chromium() as browser:
        yield browser.new_page()


@pytest.fixture
def shown(page):
    """`shown(widget, entry)` draws it, and gives the faults of the page so far."""
    faults, now = [], {}
    page.on("pageerror", lambda fault: faults.append(str(fault)))

    def plain(value):
        return base64.b64encode(value).decode() if isinstance(value, bytes) else value

    def state():
        return {name: plain(getattr(now["widget"], name)) for name in NAMES[now["entry"]]}

    def python(changes):
        for name, value in changes.items():
            setattr(now["widget"], name, value)
        return state()

    def draw(widget, entry):
        now.update(widget=widget, entry=entry)
        page.goto("about:blank")
        page.evaluate(PAGE, [bundled(entry), style(), state()])
        return faults

    page.expose_function("python", python)
    return draw


def slide(page, name, value):
    script = "(one, value) => { one.value = value; one.dispatchEvent(new Event('input', {bubbles: true})); }"
    page.get_by_role("slider", name=name, exact=True).evaluate(script, str(value))


def test_a_pattern_and_a_trace_are_played_with(page, shown):
    made = (parse("strided(3) | global(2)") & Causal()).widget(10)
    faults = shown(made, "widget_pattern.js")
    numbers = page.locator(".regard-numbers")
    assert f"{parse(made.text).pairs(10)} of 100 pairs" in numbers.inner_text()
    slide(page, "strided back", 5)
    slide(page, "global first", 1)
    slide(page, "n", 20)
    pattern = parse("(strided(5) | global(1)) & causal")
    script = "(text) => document.querySelector('.regard-numbers').innerText.includes(text)"
    wanted = f"{pattern.pairs(20)} of 400 pairs; keys kept decoding: at most 7"
    page.wait_for_function(script, arg=wanted)
    page.wait_for_timeout(100)
    assert (parse(made.text), made.n) == (pattern, 20)  # Python has what was set there
    page.locator("canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.locator(".regard-told").inner_text() == "query 0 does not see key 1; it sees 1 of 20"
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5 / 20, box["y"] + box["height"] * 19.5 / 20)
    assert page.locator(".regard-told").inner_text() == "query 19 sees key 0; it sees 7 of 20"

    shown(parse("axial(2, 3)").widget(6), "widget_pattern.js")
    slide(page, "rows", 4)
    assert "axial(4, 3) covers 12 positions, got n=6" in page.locator(".regard-wrong").inner_text()
    slide(page, "n", 12)
    assert f"{parse('axial(4, 3)').pairs(12)} of 144" in numbers.inner_text()

    trace = Trace()
    config = GPTConfig(vocab=9, context=16, depth=2, width=16, heads=2)
    GPT(config, generator=torch.Generator().manual_seed(0))(torch.arange(7)[None], trace=trace)
    made = trace.widget()
    shown(made, "widget_trace.js")
    assert page.get_by_role("combobox").input_value() == "blocks.0.attention.weights"
    page.get_by_role("combobox").select_option("blocks.1.attention.weights")
    slide(page, "map", 1)
    weights = trace["blocks.1.attention.weights"][0, 1]
    page.wait_for_function("() => document.querySelector('.regard-numbers').innerText.includes('map 0, 1')")
    page.wait_for_timeout(100)
    page.locator("canvas").focus()
    page.keyboard.press("ArrowDown")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    told = page.locator(".regard-told").inner_text()
    assert told.startswith("[0, 1, 4, 1] = ")
    assert float(told.partition(" = ")[2]) == pytest.approx(weights[4, 1].item(), rel=1e-5)
    for name in trace:
        page.get_by_role("combobox").select_option(name)
        page.wait_for_timeout(60)
        assert page.locator(".regard-numbers").inner_text().startswith("from ")
    assert faults == []


def test_what_cannot_be_drawn_is_refused():
    pytest.importorskip("anywidget")
    with pytest.raises(ValueError, match="n must be at most 256, got n=257"):
        Causal().widget(257)
    with pytest.raises(ValueError, match="covers 15 positions"):
        parse("axial(3, 5)").widget(14)
    assert parse("axial(3, 5)").widget().n == 15
    assert Strided(back=1000).widget().n == 256
    with pytest.raises(ValueError, match="filled by a forward pass, got 0 tensors"):
        Trace().widget()


def test_a_pattern_of_ones_own_is_told_what_draws_it():
    pytest.importorskip("anywidget")

    class Odd(type(Strided(back=1)).__mro__[1]):
        def allows(self, q, k):
            return (q - k) % 2 == 1

    Odd.__module__ = "mine"
    assert issubclass(Odd, Pattern)
    with pytest.raises(ValueError, match="the package's own patterns, got Odd"):
        Odd().widget(8)


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    for make in (lambda: Causal().widget(8), lambda: Trace().widget()):
        with pytest.raises((ImportError, ValueError), match=r"notebook|forward pass"):
            make()
    trace = Trace()
    trace.record("x", torch.ones(2, 2))
    with pytest.raises(ImportError, match=r"anywidget is not installed: .*notebook"):
        trace.widget()


@pytest.mark.parametrize("entry", NAMES)
def test_the_text_is_one_module(entry):
    text = bundled(entry)
    assert "import " not in text.replace("// ", "")
    assert text.count("export ") == 1
    assert len(text) < 60_000
