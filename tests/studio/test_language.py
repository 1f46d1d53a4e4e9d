"""The Language room: what is written against the library, and every control in a real browser."""

import csv
import io
import json
import re

import pytest
import torch

from regard.pattern import parse
from regard.probe import see
from regard.studio.writing import patterned, written
from regard.train import open_run

PLAY = "modela=zoo:play-gpt&modelb=zoo:play-gpt"
DONE = """() => document.querySelector('.controls .main').textContent === 'Write'
    && document.querySelectorAll('.writer:not([hidden]) .said.idle').length === 0
    && document.querySelectorAll('.tok:not(.given)').length > 0"""


@pytest.fixture(scope="module")
def play():
    return open_run("zoo:play-gpt")


def opened(seen, state=PLAY):
    seen.room("language", state)
    seen.page.wait_for_selector(".writer", timeout=40_000)
    return seen


def finished(seen, name=None, text=None):
    """Until all is written, and says so much."""
    if text is not None:
        script = "([name, text]) => document.querySelector(`[data-read=said-${name}]`).textContent === text"
        seen.page.wait_for_function(script, arg=[name, text], timeout=40_000)
    seen.page.wait_for_function(DONE, timeout=40_000)
    return seen


def likeliest(play, prompt, count):
    return play.generate(prompt, count, temperature=0.0)


def test_it_looks_right_everywhere(everywhere):
    seen = opened(everywhere)
    seen.page.get_by_text("Nothing is written yet").first.wait_for()
    assert seen.fits()
    assert seen.unreadable() == []
    finished(opened(seen, f"{PLAY}&compare=1&patternb=strided(5)&tokens=60&run=1"))
    seen.page.locator("[data-read=said-a] .tok").nth(12).hover()
    seen.page.wait_for_function(
        "() => document.querySelector('[data-read=looked-a]').innerText.includes('back')"
    )
    assert seen.fits()
    assert seen.unreadable() == []
    seen.clean()


def test_axe_finds_nothing_serious(everywhere):
    seen = finished(opened(everywhere, f"{PLAY}&compare=1&patternb=strided(5)&tokens=30&run=1"))
    assert seen.axe() == []


def test_a_text_is_written_and_rewritten_as_one_steers(visit, play):
    seen = opened(visit())
    seen.slide("tokens", 40)
    seen.page.get_by_role("button", name="Write", exact=True).click()
    finished(seen, "a", play.generate("ROMEO:", 40, seed=0, temperature=0.8))
    assert "40 tokens" in seen.read("status-a")
    assert "a second" in seen.read("status-a")
    seen.slide("temperature", 0)
    finished(seen, "a", likeliest(play, "ROMEO:", 40))
    seen.slide("temperature", 1.2)
    seen.slide("topk", 6)
    seen.slide("topp", 0.85)
    seen.slide("seed", 17)
    finished(seen, "a", play.generate("ROMEO:", 40, seed=17, temperature=1.2, top_k=6, top_p=0.85))
    seen.page.get_by_role("button", name="Another seed").click()
    finished(seen, "a", play.generate("ROMEO:", 40, seed=18, temperature=1.2, top_k=6, top_p=0.85))
    seen.write("prompt", "JULIET:")
    finished(seen, "a", play.generate("JULIET:", 40, seed=18, temperature=1.2, top_k=6, top_p=0.85))
    seen.page.get_by_role("button", name="The likeliest words").click()
    finished(seen, "a", likeliest(play, "My lord,", 40))
    seen.clean()


def chance(seen):
    """The exact one that is told of a token."""
    return float(re.search(r"\(([\d.]+)\);", seen.read("about-a"))[1])


def test_a_token_tells_what_else_might_have_come_and_what_it_looked_at(visit, play):
    seen = finished(opened(visit(), f"{PLAY}&tokens=30&temperature=0.9&topk=5&seed=4&run=1"))
    asked, how = play.prompt("ROMEO:", 30), play.sampling(temperature=0.9, top_k=5)
    steps = list(written(play, asked, how, 4))
    seen.page.locator("[data-read=said-a] .tok").nth(6 + 11).hover()
    step, read = steps[11], play.reader.decode
    assert chance(seen) == pytest.approx(step.chance, rel=1e-4)
    shown = seen.page.locator("[data-read=others-a] .barline").all_inner_texts()
    want = [read([token]).replace(" ", "␣").replace("\n", "⏎") for token, _ in step.others[:5]]
    assert [one.split("\n")[0] for one in shown[:5]] == want
    ids = [*asked.ids, *(one.token for one in steps)]
    weights = see(play.gpt, torch.tensor([ids])).weights[0]

    def looked(row):
        best = row.topk(3)
        for value, at in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            digits = f"{100 * value:.3g}".rstrip("0").rstrip(".") if value < 1 else "100"
            seen.wait("looked-a", f"{digits}\N{NO-BREAK SPACE}%")
            seen.wait("looked-a", "itself" if at == 17 else f"{17 - at} back")

    looked(weights[:, :, 17].mean((0, 1)))
    seen.choose("layer", "2")
    looked(weights[1, :, 17].mean(0))
    seen.choose("head", "3")
    looked(weights[1, 2, 17])
    seen.wait_state("layer=2&head=3")
    seen.page.mouse.move(1, 1)
    seen.page.locator("[data-read=said-a]").focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp"):
        seen.page.keyboard.press(key)
    at = len(ids) - 12
    assert seen.page.locator(".tok.now").get_attribute("data-i") == str(at)
    assert chance(seen) == pytest.approx(steps[at - 6].chance, rel=1e-4)
    seen.clean()


def test_two_patterns_side_by_side_and_what_they_keep(visit, play):
    seen = opened(visit(), f"{PLAY}&tokens=50&temperature=0")
    seen.page.get_by_text("Two side by side").click()
    seen.page.get_by_role("button", name="Write", exact=True).click()
    text = likeliest(play, "ROMEO:", 50)
    finished(seen, "b", text)
    seen.page.locator("input[data-key=patternb]").fill("strided(t)")
    seen.page.get_by_text("unknown", exact=False).or_(
        seen.page.locator(".wrong:not(:empty)")
    ).first.wait_for()
    seen.page.locator("input[data-key=patternb]").fill("windowed(8) | global(1) & causal")
    bounded = patterned(play, parse("windowed(8) | global(1) & causal"))
    other = bounded.generate("ROMEO:", 50, temperature=0.0)
    assert other != text
    finished(seen, "b", other)
    finished(seen, "a", text)
    steps = list(written(bounded, play.prompt("ROMEO:", 50), play.sampling(), 0))
    whole = list(written(play, play.prompt("ROMEO:", 50), play.sampling(), 0))
    assert f"{steps[-1].cached:,} bytes" in seen.read("facts-b")
    assert f"{whole[-1].cached:,} bytes" in seen.read("facts-a")
    assert f"{steps[-1].cached:,} bytes" in seen.read("ratio")
    seen.page.locator(".chart svg").focus()
    for _ in range(20):
        seen.page.keyboard.press("ArrowRight")
    tip = seen.page.locator("#tip").inner_text()
    assert [int(one.replace(",", "")) for one in re.findall(r": ([\d,]+)$", tip, re.M)] == [
        whole[19].cached,
        steps[19].cached,
    ]
    assert [one for one in seen.complaints if "422" not in one] == []


def test_two_models_side_by_side(visit):
    seen = opened(visit(), "modela=zoo:play-gpt&modelb=play-gpt&compare=1&tokens=20&temperature=0&run=1")
    finished(seen, "a", likeliest(open_run("zoo:play-gpt"), "ROMEO:", 20))
    seen.choose("modelb", "zoo:dialogue")
    finished(seen, "b", likeliest(open_run("zoo:dialogue"), "ROMEO:", 20))
    assert "<START>" not in seen.page.locator("main").inner_text()
    seen.clean()


def test_writing_can_be_stopped(visit):
    seen = opened(
        visit(), "modela=zoo:dialogue&modelb=zoo:dialogue&tokens=256&temperature=1&compare=1&seed=5"
    )
    seen.page.get_by_role("button", name="Write", exact=True).click()
    seen.page.wait_for_selector(".tok:not(.given)", timeout=40_000)
    seen.page.get_by_role("button", name="Stop", exact=True).click()
    seen.wait("status-a", "stopped")
    count = seen.page.locator(".tok").count()
    assert count < 500
    seen.page.wait_for_timeout(500)
    assert seen.page.locator(".tok").count() == count
    seen.page.get_by_role("button", name="Write", exact=True).click()  # and begun anew
    seen.page.wait_for_function(
        "() => !document.querySelector('[data-read=status-a]').innerText.includes('stopped')"
    )
    seen.page.get_by_role("button", name="Stop", exact=True).click()
    seen.wait("status-a", "stopped")
    seen.clean()


def test_what_is_wrong_is_said_beside_its_field(visit):
    seen = opened(visit(), f"{PLAY}&run=1&tokens=30")
    finished(seen)
    for key, text, message in (
        ("prompt", "", "the prompt has no tokens"), ("prompt", "x" * 200, "at most 128 tokens here, got 200"),
        ("patterna", "nonsense", "no pattern is called 'nonsense'"),
        ("patterna", "neighbourhood(4, 6, 1)", "24"),
    ):  # fmt: skip
        seen.write("prompt", "ROMEO:")
        seen.write(key, text)
        seen.page.locator(f".field:has([data-key={key}]) .wrong").get_by_text(message).wait_for()
        if text != "neighbourhood(4, 6, 1)":  # which ends when 24 positions are full, so that some is written
            assert "idle" in seen.page.locator("[data-read=said-a]").get_attribute("class")
    seen.write("patterna", "")
    seen.wait_state("neighbourhood", there=False)
    finished(seen)
    seen.page.locator(".wrong:not(:empty)").first.wait_for(state="detached")
    assert [one for one in seen.complaints if "422" not in one] == []


def test_the_address_is_the_state_and_back_is_undo(visit, play):
    seen = opened(visit(), "")
    assert seen.state == "modela=play-gpt&modelb=play-gpt"
    state = "modela=zoo:play-gpt&patterna=strided(9)&modelb=zoo:play-gpt"
    state += "&prompt=KING:&tokens=30&temperature=0&layer=1&run=1"
    seen = opened(visit(), state)
    assert seen.state == state
    first = patterned(play, parse("strided(9)")).generate("KING:", 30, temperature=0.0)
    finished(seen, "a", first)
    assert seen.key("patterna").input_value() == "strided(9)"
    seen.slide("tokens", 12)
    finished(seen, "a", patterned(play, parse("strided(9)")).generate("KING:", 12, temperature=0.0))
    seen.wait_state("tokens=12")
    seen.page.go_back()
    finished(seen, "a", first)
    seen.page.go_forward()
    finished(seen, "a", patterned(play, parse("strided(9)")).generate("KING:", 12, temperature=0.0))
    seen.clean()


def test_back_leads_to_the_room_before_as_it_was(visit, play):
    seen = visit().room("patterns", "n=50")
    seen.room("token", "model=zoo:play-gpt&text=KING")
    seen.page.wait_for_selector(".flow:not(.waits):not([hidden])", timeout=40_000)
    seen.page.get_by_role("button", name="Let it write on").click()
    seen.page.wait_for_selector("main[data-ready=language]")
    seen.page.wait_for_selector(".writer")
    assert seen.key("prompt").input_value() == "KING"
    assert seen.key("modela").input_value() == "zoo:play-gpt"
    for name, there in (("token", "text=KING"), ("patterns", "n=50")):
        seen.page.go_back()
        seen.page.wait_for_selector(f"main[data-ready={name}]")
        seen.wait_state(there)
    for name in ("token", "language"):
        seen.page.go_forward()
        seen.page.wait_for_selector(f"main[data-ready={name}]")
    assert "modela=zoo:play-gpt&modelb=play-gpt&prompt=KING" in seen.state
    seen.clean()


@pytest.mark.parametrize("text", ["tokens=1e99&layer=44&topp=0&run=1", "modela=none&prompt=%E0%A4%A&seed=-4"])
def test_any_address_opens(visit, text):
    seen = opened(visit(), text)
    seen.page.wait_for_selector(".said")
    seen.clean()


def test_files(visit, play):
    seen = finished(opened(visit(), f"{PLAY}&tokens=25&run=1"))
    got = {}
    for name in ("PNG", "SVG", "CSV", "Text"):
        with seen.page.expect_download() as waiting:
            seen.page.get_by_role("button", name=name, exact=True).click()
        got[name] = waiting.value.path().read_bytes()
    assert got["PNG"].startswith(b"\x89PNG")
    assert got["SVG"].startswith(b"<svg")
    text = play.generate("ROMEO:", 25, seed=0, temperature=0.8)
    assert got["Text"].decode() == text
    rows = list(csv.reader(io.StringIO(got["CSV"].decode(), newline="")))
    assert "".join(row[3] for row in rows[1:]) == text
    steps = list(written(play, play.prompt("ROMEO:", 25), play.sampling(temperature=0.8), 0))
    assert [float(row[5]) for row in rows[7:]] == pytest.approx([step.chance for step in steps])
    assert [int(row[7]) for row in rows[7:]] == [step.cached for step in steps]
    seen.clean()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"tokens": 257}, "tokens"), ({"seed": -1}, "seed"), ({"topp": 0}, "topp"), ({"topk": 1.5}, "topk"),
        ({"temperature": "hot"}, "temperature"), ({"prompt": "a" * 4001}, "prompt"),
        ({"patterna": "causal " * 200}, "patterna"), ({"modela": "digits-vit"}, None),
        ({"compare": 1}, "compare"), ({"compare": True}, "modelb"),
    ],
)  # fmt: skip
def test_the_server_refuses_in_one_line(studio, wrong, field):
    status, said = studio.ask("language/write", **{"modela": "zoo:play-gpt", "prompt": "ROMEO:", **wrong})
    assert (status, said["error"]["field"]) == (422, field)
    assert "\n" not in json.dumps(said["error"]["message"])


def test_attention_is_asked_for_within_bounds(studio):
    for wrong in ({"ids": [99]}, {"ids": [3] * 400}, {"layer": 9}, {"ids": []}):
        (field,) = wrong
        given = {"modela": "zoo:play-gpt", "ids": [4, 5, 6], **wrong}
        status, said = studio.ask("language/attention", **given)
        assert (status, said["error"]["field"]) == (422, field)


def test_a_model_that_is_not_there_is_said(visit):
    seen = visit().room("language", "modela=zoo:nope")
    said = seen.page.get_by_text("no model is called zoo:nope: this is")
    said.wait_for()
    taken = seen.page.locator("select[data-key=modela]").input_value()
    assert said.inner_text().endswith(f"this is {taken} instead")


def test_an_empty_prompt_is_told_without_words_of_the_command_line(studio):
    _, said = studio.ask("language/write", modela="zoo:play-gpt", prompt="", tokens=1)
    assert said["error"]["message"] == "the prompt has no tokens; give some text, such as \"ROMEO:\", got ''"
