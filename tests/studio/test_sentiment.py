"""The Sentiment room in a real browser: every control, and what Python says of the same text."""

import time

import pytest
import torch

from regard import zoo
from regard.studio.flipping import Depth, Edit, applied, chances, search, words_of

TEXT = "I expected little, and got a wonderful film."
LARGE, SMALL = "model=zoo:sentiment", "model=zoo:verdicts-encoder"


@pytest.fixture(scope="module")
def run():
    return zoo.load("sentiment")


@pytest.fixture(scope="module")
def small():
    return zoo.load("verdicts-encoder")


def per_cent(share):
    """As the page writes a share."""
    digits = next(count for count in range(3, 13) if share >= 1 or float(f"{100 * share:.{count}g}") < 100)
    return f"{float(f'{100 * share:.{digits}g}'):.12g} %"


def test_it_looks_right_everywhere(everywhere):
    seen = everywhere.room("sentiment", f"{SMALL}&text=It+starts+well,+but+the+ending+is+dull+%F0%9F%98%80.")
    seen.wait("progress", "All 8 words")
    seen.page.get_by_role("button", name="Search").click()
    seen.wait("tried", "texts were tried")
    assert seen.fits()
    assert seen.unreadable() == []
    seen.clean()


@pytest.mark.parametrize("by", ["without", "attention", "gradient"])
def test_axe_finds_nothing_serious(visit, by):
    seen = visit(color_scheme="dark").room("sentiment", f"{SMALL}&by={by}")
    seen.wait("progress", "All 8 words")
    seen.page.wait_for_selector(".reading:not(.stale)")
    seen.page.wait_for_timeout(300)
    assert seen.axe() == []
    assert seen.unreadable() == []


def test_the_verdict_follows_what_one_types(visit, run):
    seen = visit().room("sentiment", LARGE)
    for text in (TEXT, "It starts well, but the ending is awful."):
        seen.write("text", text)
        found = run.predict_text(text)
        seen.wait("probability", f"{per_cent(found.probability)} likely")
        assert seen.read("verdict") == found.label
    assert "divided by 1.18, fitted on held-out texts" in seen.page.locator(".verdict").inner_text()
    field = seen.page.locator("textarea[data-key=text]")
    asked = len(seen.requests)
    field.fill("")
    field.press_sequentially("A warm, funny film.", delay=20)
    seen.wait("probability", per_cent(run.predict_text("A warm, funny film.").probability))
    verdicts = [url for url in seen.requests[asked:] if url.endswith("/verdict")]
    assert len(verdicts) < 6  # not one for every key
    field.fill("  ")
    seen.page.get_by_text("Nothing to judge yet").wait_for()
    seen.page.get_by_role("button", name="Litotes").click()
    seen.wait("probability", per_cent(run.predict_text("The film is not without charm.").probability))
    assert field.input_value() == "The film is not without charm."
    seen.clean()


def test_words_tell_their_numbers(visit, run):
    seen = visit().room("sentiment", LARGE)
    seen.wait("progress", "All 8 words were left out in turn")
    whole = run.predict_text(TEXT)
    left = run.predict_text("I expected little, and got a film.")
    moved = 100 * (whole.probability - left.probabilities[whole.label])
    seen.page.locator(".word", has_text="wonderful").first.hover()
    readout = seen.page.locator(".reading .readout")
    said = readout.inner_text()
    assert said.startswith("“wonderful”: without it “positive” is ")
    assert float(said.split(" is ")[1].split(" points less")[0]) == pytest.approx(moved, abs=1e-3)
    look = run.look_at(TEXT, steps=12)
    share = dict(zip(look.pieces, look.attention, strict=True))[" wonderful"]
    assert float(said.split("attention ")[1].split("×")[0]) == pytest.approx(share, rel=1e-3)
    seen.choose("by", "gradient")
    seen.page.get_by_text("Integrated gradients in 12 steps: an estimate").wait_for()
    slope = dict(zip(look.pieces, look.gradient, strict=True))[" wonderful"]
    seen.page.mouse.move(1, 1)
    seen.page.locator(".words").focus()
    for _ in range(8):
        seen.page.keyboard.press("ArrowRight")
    assert readout.inner_text().startswith("“wonderful”")
    assert float(readout.inner_text().split("gradient +")[1].split(" of")[0]) == pytest.approx(
        slope, rel=1e-3
    )
    seen.choose("by", "attention")
    seen.page.get_by_text("the even share of attention").wait_for()
    seen.page.locator(".left-row").first.hover()
    assert readout.inner_text().startswith("“wonderful”")  # linked
    seen.page.locator("summary").click()
    row = seen.page.get_by_role("row").filter(has_text="wonderful").inner_text().split()
    assert float(row[1].replace("−", "-")) == pytest.approx(-moved, abs=2e-3)
    seen.clean()


def test_unknown_words_are_marked(visit, small):
    seen = visit().room("sentiment", f"{SMALL}&text=Not+one+dull+minute,+said+Ödön")
    seen.wait("count", "unknown to the model")
    ids = small.reader.encode("Not one dull minute, said Ödön")
    strange = ids.count(small.reader.unk)
    assert f"{strange} words are unknown" in seen.read("count")
    assert seen.page.locator(".words .unknown").count() == strange
    seen.write("text", "Ödön")
    seen.page.get_by_text("text must hold something that the model knows, got 'Ödön'").wait_for()
    assert "stale" in seen.page.locator(".verdict").get_attribute("class")
    seen.write("text", "Not one dull minute.")
    seen.wait("count", "5 tokens")
    assert "must hold" not in seen.page.locator("main").inner_text()


def test_edits_that_turn_the_verdict(visit, small):
    text = "The film is not without charm."
    seen = visit().room("sentiment", f"{SMALL}&text={text.replace(' ', '+')}")
    label = small.predict_text(text).label
    seen.wait("verdict", label)
    seen.page.get_by_role("button", name="Search").click()
    seen.wait("tried", "texts were tried")
    found = list(search(small, text, 15.0))
    flips = [one for one in found if not isinstance(one, Depth)]
    assert f"{len(flips)} with one edit" in seen.read("tried")
    shown = seen.page.locator(".flip .made").all_inner_texts()
    assert shown == [one.text for one in flips[:12]]
    assert all(small.predict_text(one).label != label for one in shown)
    link = seen.page.evaluate("location.href")
    seen.page.locator(".flip").first.click()
    seen.wait("verdict", small.predict_text(shown[0]).label)
    assert seen.page.get_by_text("Not searched yet").count() == 1  # what belonged to the other text is gone
    seen.page.go_back()
    seen.wait("verdict", label)
    again = visit()
    again.page.goto(link)
    again.wait("tried", f"{len(flips)} with one edit")
    assert again.page.locator(".flip .made").all_inner_texts() == shown
    again.clean()
    seen.clean()


def test_the_search_can_be_cancelled(visit):
    long = "+".join(["A+warm,+funny+and+moving+film+that+I+loved+all+the+way+through."] * 8)
    seen = visit().room("sentiment", f"{LARGE}&text={long}")
    seen.wait("verdict", "positive")
    seen.page.get_by_role("button", name="Search").click()
    cancel = seen.page.locator(".flipping .busy button")
    cancel.wait_for()
    cancel.click()
    seen.page.get_by_role("button", name="Search").wait_for()
    assert seen.page.locator(".flipping .busy").count() == 0
    seen.clean()


def test_long_texts_are_read_in_windows(visit, small):
    text = "A dull film. " * 30
    seen = visit().room("sentiment", f"{SMALL}&text={text.strip().replace(' ', '+')}")
    found = small.predict_text(text)
    seen.wait("probability", per_cent(found.probability))
    seen.page.get_by_text("Read in 3 windows").wait_for()
    seen.wait("progress", "All 90 words")
    assert seen.fits()
    seen.clean()


@pytest.mark.parametrize(
    "text",
    ["text=&by=x&flip=NaN", "text=%F0%9F%98%80&flip=3", "text=%3Cscript%3E1%3C/script%3E", "text=%E0%A4%A"],
)
def test_any_address_opens(visit, text):
    seen = visit().room("sentiment", f"{SMALL}&{text}")
    seen.page.locator("textarea").wait_for()
    seen.page.wait_for_timeout(500)
    assert [one for one in seen.complaints if "422" not in one] == []


def test_a_model_that_is_not_there_is_said(visit):
    seen = visit().room("sentiment", "model=zoo:nonsense")
    seen.page.get_by_text("no model for sentiment is called zoo:nonsense").wait_for()
    seen.choose("model", "verdicts-encoder")  # the run that was named when the studio started
    seen.wait("probability", "likely")
    assert "Not calibrated" in seen.page.locator(".verdict").inner_text()


def test_files(visit):
    seen = visit().room("sentiment", SMALL)
    seen.wait("progress", "All 8 words")
    got = {}
    for kind in ("PNG", "SVG", "CSV"):
        with seen.page.expect_download() as waiting:
            seen.page.locator(".reading").get_by_role("button", name=kind).click()
        got[kind] = waiting.value.path().read_bytes()
    assert got["PNG"].startswith(b"\x89PNG")
    assert b">wonderful</text>" in got["SVG"]
    seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    seen.page.get_by_role("button", name="Copy Python").click()
    line = seen.page.evaluate("navigator.clipboard.readText()")
    assert line == f'from regard.train import open_run; open_run("zoo:verdicts-encoder").explain(["{TEXT}"])'
    assert got["CSV"].decode().splitlines()[0] == "word,points it brings,attention,gradient,unknown"


@pytest.mark.alone
def test_it_answers_soon(visit, studio, run):
    seen = visit().room("sentiment", LARGE)
    seen.wait("progress", "All 8 words")
    times = []
    for i in range(12):
        begin = time.monotonic()
        studio.ask("sentiment/verdict", model="zoo:sentiment", text=f"A warm, funny film, number {i}.")
        times.append(time.monotonic() - begin)
    assert sorted(times)[-2] < 0.8, times


def test_what_the_server_is_asked(studio, run):
    model = "zoo:sentiment"
    status, said = studio.ask("sentiment/verdict", model=model, text=TEXT)
    assert (status, said["label"]) == (200, "positive")
    assert "".join(one["text"] for one in said["pieces"]) == TEXT
    assert said["probability"] == pytest.approx(run.predict_text(TEXT).probability, abs=1e-5)
    for wrong, field in (
        ({"text": "x" * 5000}, "text"), ({"text": ""}, "text"), ({"text": 3}, "text"),
        ({"model": "zoo:digits-vit"}, "model"), ({"text": "😀" * 1500}, "text"),
    ):  # fmt: skip
        status, said = studio.ask("sentiment/verdict", **{"model": model, "text": TEXT, **wrong})
        assert (status, said["error"]["field"]) == (422, field), wrong
    long = "A fine film. " * 140
    assert "384" in studio.ask("sentiment/gradient", model=model, text=long)[1]["none"]
    assert "400 words" in studio.ask("sentiment/without", model=model, text=long)[1]["none"]
    assert studio.ask("sentiment/flip", model=model, text="😀 ! 3")[1]["error"]["field"] == "text"


def test_probabilities_are_those_of_predict(run, small):
    texts = [TEXT, "Awful.", "A dull film. " * 200]
    for model in (run, small):
        want = [list(model.predict_text(text).probabilities.values()) for text in texts]
        assert torch.allclose(chances(model, texts), torch.tensor(want), atol=1e-4)


def test_edits_are_written_as_people_would():
    text = "A dull film, and an awful end."
    spans = words_of(text)
    assert applied(text, spans, [Edit(1, "left out", "dull", "")]) == "A film, and an awful end."
    assert applied(text, spans, [Edit(5, "left out", "awful", "")]) == "A dull film, and an end."
    assert applied(text, spans, [Edit(5, "opposite", "awful", "great")]) == "A dull film, and a great end."
    assert applied(text, spans, [Edit(2, "left out", "film", "")]) == "A dull, and an awful end."
    both = [Edit(1, "opposite", "dull", "amusing"), Edit(6, "put in", "", "not")]
    assert applied(text, spans, both) == "An amusing film, and an awful not end."
    assert applied(text, spans, [Edit(0, "left out", "A", "")]) == "dull film, and an awful end."


def test_the_search_ends_in_time_and_says_so(small):
    text = "A dull film. " * 12
    begin = time.monotonic()
    found = list(search(small, text, 0.0))
    assert time.monotonic() - begin < 5
    assert found[-1] == Depth(1, 0, False)
    turned = [one for one in search(small, "Not one dull minute.", 10.0) if not isinstance(one, Depth)]
    assert turned
    label = small.predict_text("Not one dull minute.").label
    assert all(small.predict_text(one.text).label != label for one in turned)


def test_what_is_too_long_is_neither_cut_nor_judged(visit):
    seen = visit().room("sentiment")
    seen.page.locator("[aria-label=Verdict]:not(.stale) *").first.wait_for(timeout=40_000)
    text = "a fine film " * 500
    seen.write("text", text)
    seen.page.get_by_text("the text has 6,000 characters, at most 4,000 are read").wait_for()
    assert seen.key("text").input_value() == text
    assert not seen.page.locator("[aria-label=Verdict]").is_visible()
    seen.write("text", "a fine film")
    seen.page.locator("[aria-label=Verdict]:not(.stale)").wait_for()
    assert not seen.page.get_by_text("at most 4,000").is_visible()
