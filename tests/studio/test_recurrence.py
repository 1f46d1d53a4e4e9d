"""The Recurrence room in a real browser: the wavefront, the share of x₁, filter and matrix, the counts."""

import re

import pytest
import torch

from regard.recurrence import contribution, grid_rnn, identity
from regard.sharing import compare, conv_matrix, output_size

VIEWS = ("wave", "share", "filter", "counts")


def shown(seen, view, state=""):
    seen.room("recurrence", f"view={view}&{state}")
    if view == "share":
        seen.page.wait_for_selector(".wide-left:not(.stale) .curves svg:visible")
    return seen


def cells(seen, which=0):
    """The words in the cells of a picture that is seen."""
    picture = seen.page.locator("svg[data-cells]:visible").nth(which)
    return picture.locator("g text").all_text_contents()


def paths(rows, cols, start="top-left"):
    x = torch.zeros(1, rows, cols, 1)
    x[0, -1 if "bottom" in start else 0, -1 if "right" in start else 0] = 1
    one = torch.ones(1, 1)
    return grid_rnn(x, one, one, one, identity, start=start)[0, :, :, 0].int()


def test_it_looks_right_everywhere(everywhere):
    for view in VIEWS:
        seen = shown(everywhere, view, "n=16&k=7&padding=3&step=12&rows=10&cols=10")
        assert (view, seen.fits(), seen.unreadable()) == (view, True, [])
    seen.clean()


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(visit, view):
    assert shown(visit(), view).axe() == []


def test_the_wavefront_computes_what_python_does(visit):
    seen = shown(visit(), "wave")
    for start in ("top-left", "bottom-right"):
        seen.choose("start", start)
        seen.slide("rows", 4)
        seen.slide("cols", 6)
        seen.slide("step", 24)
        want = paths(4, 6, start).flatten().tolist()
        seen.wait("wave", "step 9 of 9: 24 of 24 cells, 1 of them now")
        seen.wait("loop", "step 24 of 24")
        assert [int(text) for text in cells(seen)] == want == [int(text) for text in cells(seen, 1)]
    seen.choose("start", "top-left")
    seen.slide("step", 3)
    seen.wait("wave", "step 3 of 9: 6 of 24 cells, 3 of them now")
    done = [bool(text) for text in cells(seen)]
    assert done == [row + col < 3 for row in range(4) for col in range(6)]
    seen.write("rows", "11")
    seen.page.get_by_text("from 1 to 10").wait_for()
    seen.clean()


def test_a_cell_tells_what_it_waits_for(visit):
    seen = shown(visit(), "wave", "rows=5&cols=7&step=5")
    picture = seen.page.locator("svg[data-cells]:visible").first
    box = picture.bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] * 3.5 / 7, box["y"] + box["height"] * 2.5 / 5)
    ways = int(paths(5, 7)[2, 3])
    seen.wait(
        "cell",
        "Cell (3, 4) waits for (3, 3) and (2, 4). It depends on 12 of 35 inputs, "
        f"and the first reaches it on {ways} paths",
    )
    assert picture.locator(".needs").count() == 2
    assert picture.locator(".reach, .needs, .here").count() == 12
    seen.page.mouse.move(1, 1)
    seen.wait("cell", "Point at a cell")
    picture.focus()
    seen.page.keyboard.press("ArrowDown")
    seen.wait("cell", "Cell (1, 1) waits for nothing. It depends on 1 of 35 inputs")
    seen.page.keyboard.press("ArrowRight")
    seen.wait("cell", "Cell (1, 2) waits for (1, 1)")


def test_it_plays_stops_and_can_be_scrubbed(visit):
    seen = shown(visit(), "wave", "rows=3&cols=3&step=0&speed=8")
    steps = seen.page.evaluate("history.length")
    seen.page.get_by_role("button", name="Play").click()
    seen.wait("loop", "step 9 of 9")
    seen.page.get_by_role("button", name="Play").wait_for()  # it has stopped by itself
    seen.wait_state("step=9")
    assert seen.page.evaluate("history.length") == steps + 1  # one play is one step back
    seen.page.get_by_role("button", name="Play").click()
    seen.wait("loop", "step 2 of 9")
    seen.page.get_by_role("button", name="Pause").click()
    at = seen.page.locator(".clock").inner_text()
    seen.page.wait_for_timeout(400)
    assert seen.page.locator(".clock").inner_text() == at
    seen.page.get_by_role("button", name="Play").click()
    seen.slide("step", 7)
    seen.page.get_by_role("button", name="Play").wait_for()
    seen.wait("loop", "step 7 of 9")
    seen.page.get_by_role("button", name="Play").click()
    seen.choose("view", "counts")  # nothing goes on behind what is seen
    seen.choose("view", "wave")
    seen.page.get_by_role("button", name="Play").wait_for()
    seen.clean()


def matrix(kind, radius, seed=0):
    if kind == "random":
        draw = torch.Generator().manual_seed(seed)
        W_h = torch.randn(8, 8, generator=draw, dtype=torch.float64)
        W_h *= radius / torch.linalg.eigvals(W_h).abs().max()
        return W_h, torch.randn(8, 3, generator=draw, dtype=torch.float64)
    rows = {"shear": [[1.0, 1.0], [0.0, 1.0]], "own": [[0.5, 2.0], [0.0, 0.5]]}[kind]
    scale = 1 if kind == "own" else radius
    return scale * torch.tensor(rows, dtype=torch.float64), torch.eye(2, dtype=torch.float64)


def close(text, value):
    """Whether a text has this number, with four digits."""
    found = re.findall(r"[\d.,]+(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", text.replace("After", ""))
    plain = [one.replace(",", "").rstrip(".") for one in found]
    digits = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    numbers = [float(one.replace(" × 10", "e").translate(digits)) for one in plain if one]
    return any(abs(one - value) <= 6e-3 * abs(value) for one in numbers)


def test_what_is_left_is_what_python_measures(visit):
    seen = shown(visit(), "share")
    for kind, radius, T in (
        ("random", 0.9, 60),
        ("random", 1.12, 30),
        ("random", 1.0, 60),
        ("shear", 1.0, 20),
        ("random", 0.5, 200),
    ):
        seen.choose("kind", kind)
        seen.slide("radius", radius)
        seen.slide("T", T)
        wanted = contribution(*matrix(kind, radius)[:1], matrix(kind, radius)[1], T)
        seen.wait("verdict", f"x₁ {wanted.verdict}")
        seen.wait("left", f"After {T} steps")
        text = seen.read("left")
        assert close(text, wanted.ratio * (100 if wanted.ratio <= 1 else 1)), (text, wanted.ratio)
    line = seen.page.locator(".shares .python").inner_text()
    names = {}
    head, _, last = line.rpartition("; ")
    exec(head, names)
    assert eval(last, names).ratio == pytest.approx(wanted.ratio, rel=1e-9)
    seen.page.get_by_role("button", name="Draw another").click()
    other = contribution(*matrix("random", 0.5, 1), 200)
    seen.page.wait_for_function(
        "(before) => document.querySelector('[data-read=left]').innerText !== before", arg=text
    )
    assert close(seen.read("left"), 100 * other.ratio)
    seen.clean()


def test_a_matrix_of_ones_own(visit):
    seen = shown(visit(), "share")
    seen.choose("kind", "own")
    seen.write("matrix", "0.5 2; 0 0.5")
    seen.slide("T", 12)
    wanted = contribution(*matrix("own", 1), 12)
    seen.wait("left", "After 12 steps")
    seen.page.wait_for_function(
        "() => document.querySelector('.shares .python').innerText.includes('[0.5, 2.0]')"
    )
    assert close(seen.read("left"), 100 * wanted.ratio)
    for text, why in (
        ("1 2; 3", "W_h must be square: 2 rows of 2 numbers, got 2, 1"),
        ("x", "'x' is no number"),
        ("1e999", "from −100 to 100"),
        ("", "must be square"),
    ):
        seen.write("matrix", text)
        seen.page.get_by_text(why).wait_for()
        assert seen.page.locator(".shares .wide-left.stale").count() == 1
    seen.write("matrix", "100 100; 100 100")
    seen.slide("T", 200)
    seen.wait("left", "larger than any number of 64 bits")
    seen.write("matrix", "0")
    seen.wait("left", "0 % of it is left")
    assert [one for one in seen.complaints if "422" not in one] == []


def test_the_filter_and_its_matrix_are_linked(visit):
    seen = shown(visit(), "filter", "n=8&k=3&stride=1&padding=1")
    n, names = 8, ["w₁", "w₂", "w₃"]
    for k, stride, padding in ((3, 1, 1), (2, 2, 0), (5, 3, 2)):
        for key, value in (("k", k), ("stride", stride), ("padding", padding)):
            seen.slide(key, value)
        want = [str(entry) for entry in conv_matrix([f"w{i + 1}" for i in range(k)], n, stride, padding)]
        rows = output_size(n, k, stride, padding)
        seen.page.get_by_text(f"+ 1 = {rows}", exact=False).first.wait_for()
        got = [text.translate(str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")) for text in cells(seen, 2)]
        assert got == want
    for key, value in (("k", 3), ("stride", 1), ("padding", 1)):
        seen.slide(key, value)
    seen.page.wait_for_function(
        "() => document.querySelectorAll('.linked svg')[2].querySelectorAll('g').length === 64"
    )
    filter_, inputs, matrix_ = (seen.page.locator(".linked svg").nth(i) for i in range(3))

    def lit(picture):
        return picture.locator("g:not(.dim) text").all_text_contents()

    filter_.focus()
    seen.page.keyboard.press("ArrowRight")
    seen.wait("linked", "w₁ stands in 7 of the 8 rows; in the other 1 it lies on the padding: one diagonal.")
    assert lit(matrix_) == ["w₁"] * 7
    matrix_.focus()
    seen.page.keyboard.press("ArrowRight")
    seen.page.keyboard.press("ArrowDown")
    seen.wait("linked", "Row 2: y₂ = w₁x₁ + w₂x₂ + w₃x₃. Here w₁ takes x₁ to y₂.")
    assert lit(matrix_)[:3] == names
    assert lit(inputs) == ["x₁", "x₂", "x₃"]
    inputs.focus()
    for _ in range(4):
        seen.page.keyboard.press("ArrowRight")
    seen.wait("linked", "x₃ is read by y₂, y₃, y₄.")
    assert lit(matrix_) == ["0", "w₃", "w₂", "w₁", "0", "0", "0", "0"]
    seen.slide("n", 1)
    seen.slide("padding", 0)
    seen.page.get_by_text("a filter of 3 does not fit n + 2·padding = 1").wait_for()
    assert seen.page.locator(".wide-left.stale:visible").count() == 1
    seen.clean()


def test_counts_are_pythons(visit):
    seen = shown(visit(), "counts")
    layers = [((3, 256, 256), 32, 5, 2, 0), ((64, 224, 224), 64, 3, 1, 1), ((7, 31, 200), 12, 4, 3, 2)]
    keys = ("channels", "high", "wide", "filters", "kernel", "by", "pad")
    for layer in layers:
        if layer[0][0] == 64:
            seen.page.get_by_role("button", name="VGG-16, second").click()
        else:
            for key, value in zip(keys, (*layer[0], *layer[1:]), strict=True):
                seen.write(key, str(value))
        found = compare(*layer)
        for name, count in (
            ("Shared", found.shared),
            ("Locally connected", found.unshared),
            ("Dense", found.dense),
        ):
            bar = seen.page.locator(f"[data-count='{name}'] b")
            seen.page.wait_for_function(
                "([name, text]) => document.querySelector(`[data-count='${name}'] b`).innerText === text",
                arg=[name, f"{count:,}"],
            )
            assert bar.inner_text() == f"{count:,}"
        assert f"{found.outputs_count:,} numbers" in seen.page.locator("dl.facts:visible").inner_text()
    seen.write("kernel", "64")
    seen.page.get_by_text("a filter of 64 does not fit").wait_for()
    seen.clean()


def test_the_address_is_the_state_and_back_is_undo(visit):
    seen = shown(visit(), "filter")
    seen.write("n", "12")
    seen.wait_state("n=12")
    seen.page.get_by_role("button", name="Patches").click()
    seen.wait_state("stride=4")
    again = visit()
    again.page.goto(seen.page.evaluate("location.href"))
    again.page.wait_for_selector(".linked svg")
    assert (again.state, cells(again, 2)) == (seen.state, cells(seen, 2))
    assert again.page.get_by_role("button", name="Patches").get_attribute("aria-pressed") == "true"
    seen.page.go_back()
    seen.wait_state("stride", there=False)
    assert seen.key("n", "text").input_value() == "12"
    seen.page.go_back()
    seen.page.wait_for_function("() => document.querySelector('[data-key=n][type=text]').value === '9'")


@pytest.mark.parametrize(
    "text",
    [
        "view=x&rows=1e99&cols=NaN&start=x&speed=9&step=-5",
        "kind=x&radius=99&T=x&matrix=%F0%9F%98%80&view=share",
        "view=counts&channels=0&kernel=9999",
    ],
)
def test_any_address_opens(visit, text):
    seen = visit().room("recurrence", text)
    seen.page.wait_for_selector(".controls:visible")
    seen.clean()


def test_files(visit):
    seen = shown(visit(), "wave", "rows=3&cols=4&step=12")
    got = {}
    for view, kinds in (
        ("wave", ("PNG", "SVG", "CSV")),
        ("share", ("PNG", "SVG", "CSV")),
        ("filter", ("PNG", "SVG", "CSV")),
        ("counts", ("CSV",)),
    ):
        seen.choose("view", view)
        if view == "share":
            seen.page.wait_for_selector(".wide-left:not(.stale) .curves svg:visible")
        for kind in kinds:
            with seen.page.expect_download() as waiting:
                seen.page.locator("button:visible", has_text=re.compile(f"^{kind}$")).click()
            got[view, kind] = waiting.value.path().read_bytes()
        assert view == "counts" or got[view, "PNG"].startswith(b"\x89PNG")
        assert view == "counts" or b"<svg" in got[view, "SVG"]
    rows = [line.split(",") for line in got["wave", "CSV"].decode().splitlines()[1:]]
    assert [int(row[4]) for row in rows] == paths(3, 4).flatten().tolist()
    assert got["filter", "CSV"].decode().splitlines()[1].startswith("0,w1,w2,w3")
    assert "99883155456" in got["counts", "CSV"].decode()


def test_what_the_server_is_asked(studio):
    status, said = studio.ask("recurrence/share", kind="random", seed=3)
    wanted = contribution(*matrix("random", 1.0, 3), 200)
    assert (status, said["ratios"][-1], said["rate"]) == (
        200,
        pytest.approx(wanted.ratio),
        pytest.approx(wanted.rate),
    )
    for fields, field in (
        ({"kind": "x"}, "kind"),
        ({"kind": "random", "seed": 1e9}, "seed"),
        ({"kind": "own", "matrix": "1 " * 9 + ";" + "1 " * 9}, "matrix"),
    ):
        status, said = studio.ask("recurrence/share", **fields)
        assert (status, said["error"]["field"]) == (422, field)


@pytest.mark.alone
def test_dragging_repaints_fast_without_the_server(visit):
    seen = shown(visit(), "share", "kind=random")
    asked = len(seen.requests)
    for view, key, top in (
        ("share", "radius", 1.5),
        ("wave", "rows", 10),
        ("filter", "n", 16),
        ("counts", "filters", 256),
    ):
        seen.choose("view", view)
        moves = f"""Array.from({{length: 40}}, (_, i) => () => {{
            const one = document.querySelector('[data-key={key}][type=range]');
            one.value = {top} * (i + 1) / 40; one.dispatchEvent(new Event('input', {{bubbles: true}})); }})"""
        best = min((seen.frames(moves) for _ in range(3)), key=sum)
        assert sum(best) / len(best) < 1000 / 30, (key, best)
    assert [url for url in seen.requests[asked:] if "/api/" in url] == []
