"""The Patterns room in a real browser: every control, and what it must show."""

import json
import random

import pytest

from regard.pattern import parse

TOO_LONG = {"error": {"message": "it took too long", "field": None}}


def pairs(text, n):
    return f"{parse(text).pairs(n):,}"


def test_it_looks_right_everywhere(everywhere):
    seen = everywhere.room("patterns", "compare=1&view=ranks&n=48")
    seen.wait("pairs-a", pairs("strided(5)", 48))
    seen.wait("formula-b", "if 8 divides n")
    assert seen.fits()
    assert seen.unreadable() == []
    seen.clean()


def test_axe_finds_nothing_serious(everywhere):
    seen = everywhere.room("patterns", "compare=1&view=ranks&n=48&a=strided(t);causal")
    seen.wait("formula-b", "if 8 divides n")
    assert seen.axe() == []


def test_sliders_end_on_their_last_value(visit):
    seen = visit().room("patterns")
    for key, text, value in (("t", "strided({})", 17), ("n", "strided(17)", 131), ("w", "windowed({})", 31)):
        if key == "w":
            seen.write("a", "windowed(w)")
        for step in [*random.Random(value).sample(range(2, 60), 30), value]:
            seen.slide(key, step)
        seen.wait("pairs-a", pairs(text.format(value), 131 if key != "t" else 24))
        seen.key(key, "range").focus()
        seen.page.keyboard.press("ArrowRight")  # it goes on steering after a drag
        n = value + 1 if key == "n" else 131 if key == "w" else 24
        seen.wait("pairs-a", pairs(text.format(value + 1 if key != "n" else 0), n))
        seen.page.keyboard.press("ArrowLeft")
    seen.clean()


@pytest.mark.alone
def test_a_drag_repaints_fast_without_the_server(visit):
    seen = visit().room("patterns", "n=256&t=3&compare=1&a=strided(t)|global(w)%26causal")
    seen.wait("formula-a", "n")
    asked = len(seen.requests)
    for key, count in (("t", 60), ("w", 60), ("n", 120)):
        moves = f"""Array.from({{length: {count}}}, (_, i) => () => {{
            const one = document.querySelector('[data-key={key}][type=range]');
            one.value = i + 3; one.dispatchEvent(new Event('input', {{bubbles: true}})); }})"""
        found = [seen.frames(moves) for _ in range(3)]
        best = min(found, key=sum)  # of three, where the machine has other work as well
        assert sum(best) / len(best) < 1000 / 30, (key, best)
    assert all("/api/patterns/formula" in url for url in seen.requests[asked:])


def test_expressions(visit):
    seen = visit().room("patterns")
    seen.write("a", "windowed(6) | global(2) & causal")
    seen.wait("pairs-a", pairs("windowed(6) | global(2) & causal", 24))
    seen.write("a", "nonsense(3)")
    seen.page.get_by_text("no pattern is called 'nonsense'").wait_for()
    assert "stale" in seen.page.locator(".look").first.get_attribute("class")
    seen.write("a", "axial(rows, cols)")
    seen.wait("pairs-a", pairs("axial(4, 6)", 24))
    assert "no pattern" not in seen.page.locator("main").inner_text()
    seen.write("n", "25")
    seen.wait("pairs-a", pairs("axial(5, 5)", 25))
    seen.write("a", "documents((10, 14))")
    seen.page.get_by_text("documents((10, 14)) covers 24 positions, got n=25").wait_for()
    seen.page.get_by_role("button", name="Dilated").click()
    seen.wait("pairs-a", pairs("dilated(5, 2)", 25))
    seen.wait("formula-a", "in letters")
    seen.clean()


def test_long_sequences_are_counted_by_the_server(visit):
    seen = visit().room("patterns", "a=windowed(6)|global(2)%26causal")
    seen.write("n", "64k")
    seen.wait("pairs-a", pairs("windowed(6) | global(2) & causal", 65_536))
    seen.page.locator(".readout", has_text="Each square stands for 512×512 pairs").first.wait_for()
    seen.choose("view", "ranks")
    plan = parse("windowed(6) | global(2) & causal").exchange(65_536, 4)
    seen.page.get_by_role("cell", name=f"{plan.pairs[1]:,}", exact=True).first.wait_for()
    seen.page.get_by_text(f"{plan.keys:,}", exact=False).first.wait_for()
    seen.choose("view", "pairs")
    seen.write("n", "70000")
    seen.page.get_by_text("from 2 to 65,536").wait_for()
    seen.slide("n", 30)
    seen.wait("pairs-a", pairs("windowed(6) | global(2) & causal", 30))
    assert seen.key("n", "text").input_value() == "30"
    seen.clean()


def test_a_cell_tells_itself_by_pointer_and_by_keyboard(visit):
    seen = visit().room("patterns", "compare=1")
    grid, readout = seen.page.locator("canvas[data-grid]"), seen.page.locator(".readout")
    box = grid.first.bounding_box()
    seen.page.mouse.move(box["x"] + 2, box["y"] + 2)
    assert readout.first.inner_text() == "query 0 sees key 0; it sees 1 of 24; the other pattern sees it"
    assert readout.last.inner_text().startswith("query 0 sees key 0")  # linked
    seen.page.mouse.move(1, 1)
    grid.first.focus()
    for key in ("ArrowDown", "Shift+ArrowDown", "ArrowRight", "ArrowRight"):
        seen.page.keyboard.press(key)
    assert (
        readout.first.inner_text()
        == "query 10 does not see key 2; it sees 6 of 24; the other pattern does not"
    )


@pytest.mark.parametrize("deal", ["auto", "even", "zigzag", "pairs"])
def test_ranks_exchange_what_python_says(visit, studio, deal):
    text, n, ranks = "strided(5) | global(3) & causal", 50, 7
    seen = visit().room("patterns", f"view=ranks&n={n}&a=strided(t)|global(3)%26causal")
    seen.write("ranks", str(ranks))
    seen.choose("deal", deal)
    plan = parse(text).exchange(n, ranks, deal)
    table = seen.page.get_by_role("table").first
    seen.page.wait_for_function("count => document.querySelectorAll('tbody tr').length === count", arg=ranks)
    rows = [row.split() for row in table.locator("tbody tr").all_inner_texts()]
    want = [
        [str(i), str(held.count), str(count), str(received), str(sent)]
        for i, (held, count, received, sent) in enumerate(
            zip(plan.held, plan.pairs, plan.received_keys, plan.sent_keys, strict=True)
        )
    ]
    assert rows == want
    assert studio.ask("patterns/exchange", pattern=text, n=n, ranks=ranks, deal=deal)[1]["keys"] == plan.keys


def test_tiles_and_cache(visit):
    seen = visit().room("patterns", "n=40")
    seen.choose("view", "tiles")
    seen.choose("tile", 4)
    tiles = parse("strided(5)").tiles(40, size=4)
    facts = seen.page.locator("dl.facts").first
    facts.get_by_text(f"{tiles.full} full, {tiles.partial} partial").wait_for()
    assert f"{tiles.cells():,}" in facts.inner_text()
    seen.choose("view", "cache")
    facts.get_by_text("held at most").wait_for()
    assert "6 keys" in facts.inner_text()
    seen.page.locator(".curves svg").focus()
    seen.page.keyboard.press("ArrowRight")
    seen.page.keyboard.press("ArrowRight")
    assert seen.page.locator("#tip").inner_text() == "step 1\n2"
    assert seen.page.locator(".readout").first.inner_text().startswith("step 1 holds 2 keys")


def test_heads_have_patterns_of_their_own(visit):
    seen = visit().room("patterns")
    seen.page.get_by_role("button", name="Another head").first.click()
    seen.write("a", "causal")
    total = parse("strided(5)").pairs(24) + parse("causal").pairs(24)
    seen.page.get_by_text(f"{total:,} pairs").wait_for()
    seen.page.get_by_role("button", name="head 1", exact=True).click()
    seen.wait("pairs-a", pairs("strided(5)", 24))
    seen.page.get_by_role("button", name="Remove head 1").click()
    seen.wait("pairs-a", pairs("causal", 24))
    assert seen.page.get_by_text("all 2 heads").count() == 0


def test_the_address_is_the_state_and_back_is_undo(visit):
    seen = visit().room("patterns")
    seen.write("n", "50")
    seen.wait_state("n=50")
    seen.choose("view", "tiles")
    seen.wait_state("view=tiles")
    seen.write("a", "~windowed(w) & causal | strided(3)")
    seen.wait_state("windowed")
    link = seen.page.evaluate("location.href")
    again = visit()
    again.page.goto(link)
    again.wait("pairs-a", pairs("~windowed(8) & causal | strided(3)", 50))
    assert again.key("view", "radio").evaluate_all("all => all.find((one) => one.checked).value") == "tiles"
    assert again.state == seen.state
    seen.page.go_back()
    seen.wait("pairs-a", pairs("strided(5)", 50))
    assert seen.key("view", "radio").evaluate_all("all => all.find((one) => one.checked).value") == "tiles"
    seen.page.go_back()
    seen.wait_state("tiles", there=False)
    seen.page.go_back()
    seen.wait("pairs-a", pairs("strided(5)", 24))
    assert seen.key("n", "text").input_value() == "24"
    seen.page.go_forward()
    seen.wait("pairs-a", pairs("strided(5)", 50))


@pytest.mark.parametrize(
    "text", ["n=1e99&t=x&tile=7&view=&heada=5", "a=%E0%A4%A&b=;;;", "n=-3&ranks=NaN", "x=1&&&=="]
)
def test_any_address_opens(visit, text):
    seen = visit().room("patterns", text)
    seen.page.wait_for_selector("canvas[data-grid]")
    seen.clean()


def test_files(visit):
    seen = visit().room("patterns", "n=30")
    seen.wait("pairs-a", pairs("strided(5)", 30))
    got = {}
    for kind in ("PNG", "SVG", "CSV"):
        with seen.page.expect_download() as waiting:
            seen.page.get_by_role("button", name=kind).first.click()
        got[kind] = waiting.value.path().read_bytes()
    assert got["PNG"].startswith(b"\x89PNG")
    assert got["SVG"].startswith(b"<svg")
    rows = [line.split(",") for line in got["CSV"].decode().splitlines()]
    assert [[int(x) for x in row[2:]] for row in rows[1:]] == parse("strided(5)").dense(30).int().tolist()
    seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    seen.page.get_by_role("button", name="Copy Python").first.click()
    line = seen.page.evaluate("navigator.clipboard.readText()")
    assert line == 'from regard.pattern import parse; parse("strided(5)").pairs(30)'


def test_the_theme_can_be_switched_and_is_kept(visit):
    seen = visit(color_scheme="light").room("patterns")
    dark = "getComputedStyle(document.documentElement).colorScheme"
    seen.page.get_by_role("button", name="Light or dark").click()
    assert seen.page.evaluate(dark) == "dark"
    seen.page.reload()
    seen.page.wait_for_selector("main[data-ready]")
    assert seen.page.evaluate(dark) == "dark"


def test_what_the_server_is_asked(studio):
    status, said = studio.ask("patterns/count", pattern="windowed(5) | global(2)", n=65_536)
    pattern = parse("windowed(5) | global(2)")
    assert (status, said["pairs"], said["kept"]) == (200, pattern.pairs(65_536), pattern.keys_kept())
    short = {key: said[key] for key in ("pairs", "kept", "most")}
    assert studio.ask("patterns/pairs", pattern="windowed(5) | global(2)", n=65_536) == (200, short)
    status, said = studio.ask("patterns/formula", pattern="strided(5)")
    assert said["cases"] == [["6n − 15", "for n > 5"], ["n(n+1)/2", "otherwise"]]
    assert said["letters"]["cases"][0] == ["(t+1)(2n−t)/2", "for n > t"]
    assert "its blocks are drawn at random" in json.dumps(
        studio.ask("patterns/formula", pattern="randomblocks(4)")
    )


def test_a_count_is_there_though_its_overview_takes_too_long(visit):
    text, n = "neighbourhood(1, 65521, 3)", 65_521
    seen = visit()
    seen.page.route("**/api/patterns/count", lambda route: route.fulfill(status=503, json=TOO_LONG))
    seen.room("patterns", f"n={n}&a=neighbourhood(rows,cols,3)&view=cache")
    seen.wait("pairs-a", pairs(text, n))
    seen.page.get_by_text("only the overview is missing: it took too long").wait_for()
    assert "stale" not in seen.page.locator(".numbers").first.get_attribute("class")
    assert seen.page.locator("canvas[data-grid]").first.is_hidden()
    seen.write("n", "100")
    seen.page.locator("canvas[data-grid]").first.wait_for()


def test_how_many_times_fewer_is_what_regard_count_says(visit):
    seen = visit().room("patterns", "n=65536")
    seen.wait("pairs-a", pairs("strided(5)", 65_536))
    assert f"{65_536**2 / parse('strided(5)').pairs(65_536):,.0f}× fewer" in seen.read("share-a")


def test_a_sign_of_two_halves_is_said_whole(visit):
    seen = visit().room("patterns", "a=%F0%9F%98%80")
    seen.page.get_by_text("'😀' has no meaning here").wait_for()
    seen.clean()
