"""A real browser walks through every room."""

import base64
import re
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from regard.cost import price
from regard.data import load
from regard.models.presets import preset
from regard.paper.pixels import png
from regard.pattern import parse
from regard.train import load_run

ROOMS = ("Patterns", "Costs", "Vision", "Dialogue", "Sentiment", "Recurrence", "Lessons")


def test_patterns(visit):
    seen = visit()
    assert f"{parse('strided(5)').pairs(24):,} of 576" in seen.text("picture-a")
    seen.press("t-a", "ArrowRight", 2)
    seen.wait("picture-a", f"{parse('strided(7)').pairs(24):,} of 576")
    seen.wait("formula-a", "8n − 28 for n > 7, n(n+1)/2 otherwise")
    seen.write("text-a", "windowed(6) | global(2) & causal")
    mixed = parse("windowed(6) | global(2) & causal")
    seen.wait("picture-a", f"{mixed.pairs(24):,} of 576")
    assert seen.page.locator("#kind-a input").input_value() == "as typed"
    seen.write("big", "64k")
    seen.wait("picture-a", f"{mixed.pairs(65_536):,} of {65_536**2:,}")
    link = seen.page.locator("#picture-a a.keep")
    assert link.get_attribute("download") == "pattern.svg"
    file = base64.b64decode(link.get_attribute("href").partition(",")[2]).decode()
    assert file.startswith("<svg")
    assert "windowed(6) | global(2) &amp; causal" in file
    seen.page.locator("#picture-a [data-copy]").click()
    seen.wait("picture-a", "Copied")
    assert "Windowed(size=6) | Global(first=2) & Causal()" in seen.text("picture-a")


def test_two_patterns_side_by_side(visit):
    seen = visit()
    seen.page.locator("#compare input").check()
    seen.page.wait_for_selector("#picture-b svg")
    assert f"{parse('windowed(8)').pairs(24):,} of 576" in seen.text("picture-b")
    seen.write("text-b", "nonsense(3)")
    seen.wait("picture-b", "no pattern is called 'nonsense'")
    seen.write("big", "100")
    seen.wait("picture-a", f"{parse('strided(5)').pairs(100):,} of 10,000")
    assert "nonsense" in seen.text("picture-b")
    boxes = [seen.page.locator(f"#picture-{side}").bounding_box() for side in "ab"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]


def test_the_keyboard_is_enough(visit):
    seen = visit()
    seen.page.get_by_role("tab", name="Patterns").focus()
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")
    seen.wait("price", "parameters")
    for _ in range(40):
        seen.page.keyboard.press("Tab")
        if seen.page.evaluate(
            "document.activeElement.closest('#power') && document.activeElement.type == 'range'"
        ):
            break
    seen.page.keyboard.press("ArrowLeft")
    seen.wait("price", f"{price(preset('gpt2'), tokens=512).flops:,}")


def test_costs(visit):
    seen = visit()
    seen.room("Costs")
    seen.wait("price", f"{price(preset('gpt2'), tokens=1024).flops:,}")
    seen.press("power", "ArrowRight")
    seen.wait("price", f"{price(preset('gpt2'), tokens=2048).flops:,}")
    seen.page.get_by_label("decoding, token by token").check()
    seen.wait("price", f"{price(preset('gpt2'), tokens=2048, decode=True).flops:,}")
    assert "from n = 1,026 strided(1024) is cheaper than causal" in seen.text("sweep")
    seen.write("further", "windowed(64)")
    seen.wait("sweep", "windowed(64)")
    seen.page.locator("#cost-model input").click()
    seen.page.get_by_role("option", name="config.json, pasted below").click()
    seen.wait("price", "paste a config.json")
    seen.write("config", '{"model_type": "llama", "vocab_size": 100}')
    seen.wait("price", "is missing")


def test_vision(visit, runs, tmp_path):
    model = load_run(runs[0])
    seen = visit()
    seen.room("Vision")
    seen.wait("vision", "truly")
    truth = load("digits").classes[int(load("digits").test.labels[0])]
    assert f"truly {truth}" in seen.text("vision")
    assert "all layers, all heads" in seen.text("vision")
    seen.press("layer", "ArrowRight")
    seen.wait("vision", "layer 1, all heads")
    path = tmp_path / "own.png"
    path.write_bytes(png(torch.randint(0, 256, (9, 8, 3), generator=torch.Generator().manual_seed(3)).byte()))
    seen.page.locator("#upload input[type=file]").set_input_files(path)
    seen.wait("vision", "own.png: 8×9 pixels")
    assert seen.text("vision").startswith(model.predict([str(path)])[0].label)
    seen.page.locator("#hide").click()
    seen.wait("hiding", "weakest first")
    assert "64 images" in seen.page.locator("#hiding").inner_html() or "hidden, %" in seen.text("hiding")


def test_dialogue(visit):
    seen = visit()
    seen.room("Dialogue")
    seen.write("prompt", "PORTIA:")
    seen.page.locator("#write").click()
    seen.page.wait_for_selector(".tokens", timeout=60_000)
    assert seen.page.locator(".tokens").inner_text().startswith("PORTIA:")
    written = int(re.search(r"(\d+) tokens, [\d,]+ per second", seen.text("said"))[1])
    assert 20 < written <= 120
    assert seen.page.locator(".tokens span[data-i]").count() == len("PORTIA:") + written
    seen.page.locator(".tokens span[data-i='20']").hover()
    seen.wait("said", "token 21 ")
    spans = "[...document.querySelectorAll('.tokens span')].filter(one => one.style.background)"
    lit = seen.page.evaluate(f"{spans}.map(one => +one.dataset.i)")
    assert lit
    assert max(lit) <= 20
    seen.page.locator(".tokens span[data-i='20']").focus()
    seen.page.keyboard.press("ArrowLeft")
    seen.wait("said", "token 20 ")
    seen.press("text-layer", "ArrowRight")
    seen.wait("attended", "layer 1, all heads")
    seen.page.locator("#measure").click()
    seen.wait("speed", "without cache")


def test_writing_can_be_stopped(visit):
    seen = visit()
    seen.room("Dialogue")
    seen.page.locator("#cached input").uncheck()
    seen.press("new", "End")
    seen.page.locator("#write").click()
    seen.wait("said", "per second")
    seen.page.locator("#write-stop").click()
    seen.page.wait_for_selector(".tokens", timeout=60_000)
    assert 6 < seen.page.locator(".tokens span[data-i]").count() < 192


def test_sentiment(visit, runs):
    model = load_run(runs[2])
    text = "the acting is not dull"
    found = model.predict([text])[0]
    seen = visit()
    seen.room("Sentiment")
    seen.write("review", text)
    seen.wait("tried", text)
    assert seen.page.locator("#verdict .answer strong").inner_text() == found.label
    seen.wait("fewer", "“not”")
    assert "Gradient" in seen.text("verdict")
    seen.write("review", "")
    seen.wait("verdict", "text must hold something to read")


def test_recurrence_and_sharing(visit):
    seen = visit()
    seen.room("Recurrence")
    assert "5 + 7 − 1 = 11" in seen.text("grids")
    seen.press("step", "ArrowRight")
    seen.wait("grids", "7 of 35 cells after 7 of 35 steps")
    seen.wait("grids", "25 of 35 cells after 7 of 11 steps")
    assert "x_1 vanishes" in seen.text("share")
    seen.press("radius", "End")
    seen.wait("share", "x_1 explodes")
    assert "y3 = k1·x3 + k2·x4 + k3·x5" in seen.text("toeplitz")
    seen.press("place", "ArrowRight")
    seen.wait("toeplitz", "y4 = k1·x4 + k2·x5 + k3·x6")


def test_lessons(visit):
    seen = visit()
    seen.room("Lessons")
    seen.page.locator("#compute").click()
    seen.page.wait_for_selector("#lesson-text h1", timeout=120_000)
    assert "checks, all of which hold" in seen.text("lesson-text")
    assert seen.page.locator("#lesson-text .katex-display").count() > 2
    assert seen.page.locator("#lesson-text img").first.evaluate("one => one.naturalWidth") > 100
    seen.write("given", "n(n+1)/2")
    seen.page.locator("#check").click()
    seen.wait("judged", "right on the domain")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_room_fits_and_nothing_comes_from_outside(visit, studio, width, scheme):
    seen = visit(width, color_scheme=scheme)
    for room in ROOMS:
        seen.room(room)
        seen.page.wait_for_timeout(300)
        assert seen.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, room
    paper = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", paper))) < 60) == (scheme == "dark")
    assert len(seen.requests) > 20
    inside = (studio.address, "data:", "blob:")
    assert [url for url in seen.requests if not url.startswith(inside)] == []
    assert seen.complaints == []


def test_with_a_token_the_page_works_and_without_it_nothing_does(browser, start, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "secret").write_text("correct horse battery\n")
    guarded = start("--token-file", tmp_path / "secret")
    with suppress(FileNotFoundError):  # nothing to look at but on Linux
        assert b"horse" not in Path(f"/proc/{guarded.process.pid}/cmdline").read_bytes()
    bare = guarded.address.partition("?")[0]
    context = browser.new_context()
    page = context.new_page()
    assert page.goto(bare).status == 401
    assert page.goto(bare + "config").status == 401
    page.goto(guarded.address)
    page.wait_for_selector("#picture-a svg", timeout=60_000)
    assert "token" not in page.url
    page.locator("#text-a textarea").fill("causal")
    page.wait_for_function("document.querySelector('#picture-a').innerText.includes('300 of 576')")
    context.close()
    guarded.process.terminate()
    assert guarded.process.wait(20) == 143
    assert [path.name for path in tmp_path.iterdir() if "regard" in path.name or path.name == "gradio"] == []
