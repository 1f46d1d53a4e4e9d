"""The Costs room in a real browser: every control, and the price that it must show."""

import json
import re
import time

import pytest
import torch

from regard import recipes
from regard.cost import price
from regard.cost.sweep import crossings
from regard.models.presets import preset
from regard.pattern import parse
from regard.studio.api.costs import CURVES
from regard.train import open_run
from regard.train.priceable import from_recipe, with_field

CONFIG = {
    "model_type": "gpt2", "n_layer": 2, "n_embd": 32, "n_head": 4, "vocab_size": 100, "n_positions": 64,
    "architectures": ["GPT2LMHeadModel"],
}  # fmt: skip


def shown(value):
    return f"{value:,}"


def gpt2(pattern=None, **more):
    what = preset("gpt2")
    what = what if pattern is None else with_field(what, "pattern", parse(pattern))
    return price(what, **{"tokens": 1024} | more)


def settled(seen):
    """Until nothing in sight is of another question."""
    script = "() => ![...document.querySelectorAll('.stale')].some((one) => one.checkVisibility())"
    seen.page.wait_for_function(script)


@pytest.fixture(scope="module")
def ready(studio):
    """The studio, once its processes have loaded what prices."""
    studio.ask("costs/price", model="gpt2", n=8)
    return studio


@pytest.fixture
def costs(visit, ready):
    def go(state="", width=1280, **options):
        return visit(width, **options).room("costs", state)

    return go


@pytest.mark.parametrize("view", ["parts", "curves", "formula", "counts", "ranks"])
def test_it_looks_right_everywhere(everywhere, ready, view):
    seen = everywhere.room("costs", f"compare=1&view={view}&pattern=strided(t)")
    seen.wait("big-0", shown(gpt2("strided(128)").flops))
    seen.wait("big-1", shown(price(preset("llama-3-8b"), tokens=1024).flops))
    where = {
        "parts": "table.tree",
        "curves": ".curves svg",
        "formula": "dl.formulas",
        "counts": ".common table",
    }
    seen.page.locator(where.get(view, "[data-read=exchanged]")).last.wait_for()
    settled(seen)
    assert seen.fits()
    assert seen.unreadable() == []
    seen.clean()


@pytest.mark.parametrize("view", ["parts", "curves", "formula", "counts", "ranks"])
def test_axe_finds_nothing_serious(costs, view):
    seen = costs(f"compare=1&view={view}&pattern=strided(t)&model2=config.json")
    seen.wait("big-0", shown(gpt2("strided(128)").flops))
    assert seen.axe() == []


def test_every_control_changes_the_price(costs):
    seen = costs()
    seen.wait("big-0", shown(gpt2().flops))
    seen.slide("n", 9)
    seen.wait("big-0", shown(gpt2(tokens=512).flops))
    assert seen.key("n", "text").input_value() == "512"
    seen.write("n", "777")
    seen.wait("big-0", shown(gpt2(tokens=777).flops))
    seen.write("batch", "3")
    seen.wait("big-0", shown(gpt2(tokens=777, batch=3).flops))
    seen.choose("mode", "training")
    seen.wait("big-0", shown(gpt2(tokens=777, batch=3, training=True).flops))
    seen.choose("mode", "decoding")
    found = gpt2(tokens=777, batch=3, decode=True)
    seen.wait("big-0", shown(found.flops))
    seen.choose("count", "moved_bytes")
    seen.wait("big-0", shown(found.moved_bytes))
    seen.choose("dtype", "bfloat16")
    found = gpt2(tokens=777, batch=3, decode=True, dtype=torch.bfloat16)
    seen.wait("big-0", shown(found.moved_bytes))
    assert shown(found.cache_bytes) in seen.read("facts-0")
    seen.write("pattern", "strided(t) | global(2) & causal")
    seen.slide("t", 6)
    text = "strided(64) | global(2) & causal"
    found = gpt2(text, tokens=777, batch=3, decode=True, dtype=torch.bfloat16)
    seen.wait("big-0", shown(found.moved_bytes))
    seen.write("pattern", "strided(w)")
    seen.write("w", "100")
    seen.wait("facts-0", shown(gpt2("strided(100)", tokens=777, batch=3, decode=True).pairs))
    seen.choose("model", "llama-3-8b")
    what = with_field(preset("llama-3-8b"), "pattern", parse("strided(100)"))
    found = price(what, tokens=777, batch=3, decode=True, dtype=torch.bfloat16)
    seen.wait("big-0", shown(found.moved_bytes))
    assert seen.key("t", "range").is_hidden()
    seen.clean()


def test_images_and_open_vocabularies_have_controls_of_their_own(costs):
    seen = costs("model=grid-completion-small")
    seen.wait("big-0", shown(price(preset("grid-completion-small"), image=(28, 28)).flops))
    seen.write("rows", "10")
    seen.write("cols", "20")
    seen.wait("big-0", shown(price(preset("grid-completion-small"), image=(10, 20)).flops))
    assert "idle" in seen.key("n", "text").locator("xpath=../..").get_attribute("class")
    seen.choose("model", "recipe:play-gpt")
    seen.key("vocab", "text").wait_for()
    seen.write("vocab", "65")
    what = with_field(from_recipe(recipes.get("play-gpt"), "")[0], "vocab", 65)
    seen.wait("big-0", shown(price(with_field(what, "context", 1024), tokens=1024).flops))
    seen.page.get_by_text("its learned positions end at 128; priced as if there were 1,024").wait_for()
    seen.choose("model", "digits-vit")
    seen.wait("big-0", shown(price(preset_run("digits-vit", seen), tokens=None).flops))


def preset_run(name, seen):
    """The config of one of the runs that the studio was started with."""
    from regard.models import ViTConfig

    assert seen.page.locator(f"select[data-key=model] option[value={name}]").count() == 1
    return ViTConfig(image=8, patch=2, channels=1, classes=10, depth=2, width=32, heads=4)


def test_the_tree_opens_and_tells(costs):
    seen = costs()
    found = gpt2()
    rows = seen.page.locator("table.tree tbody tr")
    seen.page.locator("tr[data-path='blocks/attention']").wait_for()
    assert seen.page.locator("tr[data-path='blocks/attention/mix']").count() == 0
    seen.page.locator("[data-turn='blocks/attention']").click()
    mix = next(part for _, name, part in found.walk() if name == "mix")
    row = seen.page.locator("tr[data-path='blocks/attention/mix']")
    assert shown(mix.flops) in row.inner_text()
    assert f"{100 * mix.flops / found.flops:.3g} %" in row.inner_text()
    row.hover()
    told = seen.page.locator("#tip").inner_text()
    assert f"pairs of attention: {found.pairs:,}" in told
    seen.wait_state("open=blocks;blocks/attention")
    seen.page.locator("tr[data-path='blocks/attention']").focus()
    seen.page.keyboard.press("ArrowLeft")
    row.wait_for(state="detached")
    seen.page.locator("tr[data-path='blocks']").focus()
    seen.page.keyboard.press("ArrowLeft")
    seen.wait_state("open=")
    assert rows.count() == 1 + len(found.parts)
    seen.page.locator("table.tree tr[tabindex='0']").focus()
    seen.page.keyboard.press("ArrowDown")
    assert seen.page.locator("#tip").inner_text().startswith("embed\n")
    box = seen.page.locator(".flame rect").first.bounding_box()
    seen.page.mouse.move(box["x"] + 5, box["y"] + 5)
    assert seen.page.locator("#tip").inner_text().startswith("blocks ×12")
    assert seen.page.locator("tr.lit").get_attribute("data-path") == "blocks"
    seen.page.mouse.down()
    seen.page.mouse.up()
    seen.page.locator("tr[data-path='blocks/attention']").wait_for()
    seen.clean()


def test_curves_with_a_letter_and_where_they_cross(costs):
    seen = costs("view=curves&pattern=strided(t)&last=4096")
    legend = seen.page.locator(".common .legend")
    legend.wait_for()
    assert legend.inner_text().split("\n") == ["t = 32", "t = 128", "t = 512", "its own pattern"]

    def flops(t):
        return lambda n: gpt2(None if t is None else f"strided({t})", tokens=n).flops

    def longer(t):
        what = with_field(preset("gpt2"), "context", 4096)
        what = what if t is None else with_field(what, "pattern", parse(f"strided({t})"))
        return lambda n: price(what, tokens=n).flops

    met = crossings({"t = 32": longer(32), "its own pattern": longer(None)}, 16, 4096)
    assert [one.cheaper for one in met] == ["t = 32"]
    assert f"from n = {met[0].n} on, t = 32 takes less than" in seen.read("crossings")
    picture = seen.page.locator(".common .curves svg")
    picture.focus()
    seen.page.keyboard.press("ArrowRight")
    seen.page.keyboard.press("ArrowRight")
    told = seen.page.locator("#tip").inner_text().split("\n")
    each = {"t = 32": 32, "t = 128": 128, "t = 512": 512, "its own pattern": None}
    assert told == ["n 23", *(f"{name}: {flops(t)(23):,}" for name, t in each.items())]
    seen.page.keyboard.press("Enter")
    seen.wait("big-0", shown(gpt2("strided(128)", tokens=23).flops))
    seen.key("per").check()
    seen.page.get_by_text("flops per token").wait_for()
    seen.key("log").uncheck()
    seen.write("last", "1000")
    seen.wait_state("last=1000")
    settled(seen)
    picture.focus()
    for _ in range(40):
        seen.page.keyboard.press("ArrowRight")
    assert seen.page.locator("#tip").inner_text().startswith("n 1,000\n")
    seen.choose("model", "vit-b16")
    seen.page.get_by_text("its size is fixed").wait_for()
    seen.clean()


def test_two_side_by_side(costs):
    seen = costs("view=counts")
    seen.key("compare").check()
    seen.choose("model2", "gpt2-xl")
    seen.write("pattern2", "strided(7)")
    other = price(with_field(preset("gpt2-xl"), "pattern", parse("strided(7)")), tokens=1024)
    seen.wait("big-1", shown(other.flops))
    seen.wait("about-1", f"{other.flops / gpt2().flops:.3g}× the other’s")
    row = seen.page.locator(".common tbody tr", has_text="pairs").first
    assert row.inner_text().split() == [
        "pairs",
        shown(gpt2().pairs),
        shown(other.pairs),
        f"{gpt2().pairs / other.pairs:.3g}×",
    ]
    seen.choose("view", "curves")
    seen.page.locator(".common .legend").get_by_text("gpt2-xl, strided(7)").wait_for()
    seen.key("compare").uncheck()
    seen.page.get_by_label("Second model").wait_for(state="hidden")
    seen.clean()


def test_formulas_in_chosen_letters(costs):
    seen = costs("view=formula&pattern=strided(t)")
    formula = seen.page.locator("dd[data-formula=pairs]")
    formula.wait_for()
    seen.page.locator("[data-letter=B]").click()
    seen.page.locator("[data-letter=t]").click()
    seen.page.get_by_text("144nt − 72t² + 144n − 72t for n > t").wait_for()
    seen.wait_state("letters=n;t")
    seen.page.locator("[data-letter=n]").click()
    seen.page.locator("[data-letter=n][aria-pressed=false]").wait_for()
    settled(seen)
    assert "n" not in formula.inner_text().replace("O(n", "").replace("min", "")
    seen.clean()


def test_ranks_exchange_what_python_says(costs):
    seen = costs("view=ranks&pattern=strided(t)&n=4096")
    found = price(with_field(with_field(preset("gpt2"), "context", 4096), "pattern", parse("strided(128)")),
                  tokens=4096, ranks=8)  # fmt: skip
    seen.wait("exchanged", shown(found.exchanged_bytes))
    (plan,) = found.question.exchanges()
    assert f"{plan.plan.keys:,} keys each" in seen.read("view-0")
    seen.write("ranks", "3")
    again = price(found.question.what, tokens=4096, ranks=3)
    seen.wait("exchanged", shown(again.exchanged_bytes))
    seen.write("n", "2")
    seen.page.get_by_text("3 ranks cannot share 2 positions").wait_for()
    seen.write("ranks", "5000")
    seen.page.get_by_text("from 2 to 1,024").wait_for()


def test_a_config_is_pasted_or_uploaded(costs, tmp_path):
    seen = costs("model=config.json&n=50")
    seen.page.get_by_text("paste the text of a config.json, or choose a file").wait_for()
    seen.write("config", json.dumps(CONFIG))
    small = price(preset_small(CONFIG), tokens=50)
    seen.wait("big-0", shown(small.flops))
    seen.write("config", "{")
    seen.page.get_by_text("this is no JSON").wait_for()
    seen.write("config", json.dumps(CONFIG | {"n_layer": 10**30}))
    seen.page.get_by_text("n_layer may be at most 4,096 here").wait_for()
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG | {"n_layer": 3}))
    seen.page.locator("input[type=file]:not([hidden])").first.set_input_files(path)
    seen.wait("big-0", shown(price(preset_small(CONFIG | {"n_layer": 3}), tokens=50).flops))
    again = seen.page.evaluate("location.href")
    seen.page.goto("about:blank")
    seen.page.goto(again)
    seen.wait("big-0", shown(price(preset_small(CONFIG | {"n_layer": 3}), tokens=50).flops))
    path.write_text("x" * 30_000)
    seen.page.locator("input[type=file]").first.set_input_files(path)
    seen.page.get_by_text("config.json has 30,000 bytes").wait_for()


def preset_small(config):
    from regard.cost.built import read_checked

    return read_checked(config)[0]


def test_what_is_wrong_is_said_at_its_field(costs):
    seen = costs()
    seen.wait("big-0", shown(gpt2().flops))
    seen.write("pattern", "nonsense(3)")
    seen.page.get_by_text("no pattern is called 'nonsense'").wait_for()
    assert "stale" in seen.page.locator(".priced").first.get_attribute("class")
    seen.write("pattern", "")
    settled(seen)
    seen.choose("model", "bert-base")
    seen.wait("facts-0", shown(price(preset("bert-base"), tokens=1024).pairs))
    seen.choose("mode", "decoding")
    seen.page.get_by_text("bert-base cannot be asked for this: decode is for models that write").wait_for()
    seen.choose("mode", "forward")
    seen.choose("model", "rnn")
    seen.write("pattern", "causal")
    seen.page.get_by_text("RNN has no attention whose pattern could be another").wait_for()
    seen.write("n", "9999999999")
    seen.page.get_by_text("from 1 to 1,048,576").wait_for()


def test_what_takes_long_is_seen_and_can_be_cancelled(costs):
    slow = "randomblocks(16,250,7)|randomblocks(17,251,7)"
    seen = costs(f"pattern={slow}&n=65536")
    seen.page.locator(".busy button").click()
    seen.page.get_by_role("button", name="Ask again").click()
    seen.page.locator(".busy button").wait_for()
    seen.write("pattern", "strided(3)")
    what = with_field(with_field(preset("gpt2"), "context", 65_536), "pattern", parse("strided(3)"))
    seen.wait("big-0", shown(price(what, tokens=65_536).flops))
    assert seen.page.get_by_role("button", name="Ask again").count() == 0
    seen.choose("view", "curves")
    seen.page.locator(".common .curves svg").wait_for()
    seen.clean()


@pytest.mark.alone
@pytest.mark.parametrize(
    ("action", "question"),
    [
        ("price", {"model": "gpt2", "n": 999}),
        ("curves", {"sides": [{"model": "gpt2", "patterns": ["strided(32)", "strided(128)", ""]}]}),
        ("formula", {"model": "gpt2", "n": 99}),
        ("exchange", {"model": "gpt2", "n": 999, "ranks": 8}),
    ],
)
def test_answers_come_soon(ready, action, question):
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        assert ready.ask(f"costs/{action}", **question)[0] == 200
        times.append(time.perf_counter() - begin)
    assert sorted(times)[18] < 0.8  # all but the slowest, which loads what it needs


def test_patterns_are_sent_here(costs, visit, ready):
    seen = visit().room("patterns", "n=40&a=strided(3)|global(2)%26causal")
    seen.page.get_by_role("button", name="Price it in Costs").first.click()
    seen.page.wait_for_selector("main[data-ready=costs]")
    seen.wait("big-0", shown(gpt2("strided(3) | global(2) & causal", tokens=40).flops))
    assert seen.key("n", "text").input_value() == "40"
    seen.page.go_back()
    seen.page.wait_for_selector("main[data-ready=patterns]")
    assert seen.page.evaluate("location.hash").startswith("#patterns?a=strided(3)")
    seen.page.go_forward()
    seen.wait("big-0", shown(gpt2("strided(3) | global(2) & causal", tokens=40).flops))
    seen.page.get_by_role("link", name="Patterns").click()  # what has yet to become a step stays behind
    seen.page.wait_for_selector("main[data-ready=patterns]")
    assert seen.page.evaluate("location.hash") == "#patterns"
    seen.clean()


def test_the_address_is_the_state_and_back_is_undo(costs):
    seen = costs()
    seen.wait("big-0", shown(gpt2().flops))
    seen.write("n", "50")
    seen.wait_state("n=50")
    seen.choose("view", "formula")
    seen.wait_state("view=formula")
    seen.write("pattern", "strided(3) | full & causal")
    seen.wait_state("pattern=")
    link = seen.page.evaluate("location.href")
    again = costs()
    again.page.goto(link)
    again.wait("big-0", shown(gpt2("strided(3) | full & causal", tokens=50).flops))
    assert again.state == seen.state
    seen.page.go_back()
    seen.page.go_back()
    seen.wait_state("formula", there=False)
    seen.page.go_back()
    seen.wait("big-0", shown(gpt2().flops))
    seen.page.go_forward()
    seen.wait("big-0", shown(gpt2(tokens=50).flops))


@pytest.mark.parametrize(
    "state",
    [
        "n=1e99&model=%F0%9F%98%80&view=x&count=y",
        "model=../../etc/passwd&open=;;;&letters=;",
        "pattern=strided(99999999999999)&t=NaN&model2=recipe:x&compare=1&view=curves",
    ],
)
def test_any_address_opens(costs, state):
    seen = costs(state)
    seen.page.locator("[role=alert]:not(:empty)").first.wait_for()
    assert [one for one in seen.complaints if "422" not in one] == []


def test_files(costs):
    seen = costs()
    seen.wait("big-0", shown(gpt2().flops))
    got = {}
    for kind in ("PNG", "SVG", "CSV"):
        with seen.page.expect_download() as waiting:
            seen.page.get_by_role("button", name=kind).first.click()
        got[kind] = waiting.value.path().read_bytes()
    assert got["PNG"].startswith(b"\x89PNG")
    assert got["SVG"].startswith(b"<svg")
    rows = [line.split(",") for line in got["CSV"].decode().splitlines()]
    assert rows[1][:3] == ["all", str(gpt2().flops), str(gpt2().parameters)]
    assert {row[0] for row in rows} >= {"all/blocks ×12/attention/mix"}
    seen.choose("view", "curves")
    for kind in ("PNG", "SVG", "CSV"):
        with seen.page.expect_download() as waiting:
            seen.page.locator(".common").get_by_role("button", name=kind).click()
        got[kind] = waiting.value.path().read_bytes()
    assert f",{gpt2(tokens=16).flops}" in got["CSV"].decode()
    seen.choose("view", "counts")
    with seen.page.expect_download() as waiting:
        seen.page.locator(".common").get_by_role("button", name="CSV").click()
    assert f"pairs,{gpt2().pairs}" in waiting.value.path().read_text()


def test_examples(costs):
    seen = costs()
    for name in ("Llama 3 8B decodes 8k", "ViT-B/16 trains", "Linear or softmax"):
        seen.page.get_by_role("button", name=name).click()
        settled(seen)
    assert "linear-attention" in seen.page.locator(".common .legend").inner_text()
    seen.clean()


@pytest.mark.parametrize(
    "question",
    [
        {"model": "gpt2", "n": 4096, "pattern": "windowed(256)", "mode": "decoding", "batch": 8},
        {"model": "gpt2", "n": 30, "dtype": "bfloat16"},
        {"model": "recipe:play-gpt", "n": 100, "vocab": 65},
        {"model": "zoo:play-gpt", "n": 100, "mode": "training"},
        {"model": "grid-completion-small", "n": 1, "rows": 5, "cols": 6},
        {"model": "bert-base", "n": 30, "pattern": "strided(5)"},
    ],
)  # fmt: skip
def test_the_python_that_is_shown_gives_the_price(ready, question):
    said = ready.ask("costs/price", **question)[1]
    *lines, last = said["python"]
    names = {}
    exec("\n".join([*lines, f"found = {last}"]), names)
    counts = {field: value for field, _, value, _ in said["counts"]}
    assert counts["flops"] == str(names["found"].flops)
    assert counts["moved_bytes"] == str(names["found"].moved_bytes)


def test_what_the_server_is_asked(ready):
    said = ready.ask("costs/models")[1]
    assert said["runs"][:3] == ["digits-vit", "play-gpt", "verdicts-encoder"]
    for group in ("presets", "recipes", "zoo", "runs"):
        for name in said[group]:
            status, found = ready.ask("costs/price", model=name, n=32, vocab=100)
            assert status == 200, (name, found)
    run = open_run("zoo:play-gpt")
    found = dict(
        one[0::2]
        for one in (row[:3] for row in ready.ask("costs/price", model="zoo:play-gpt", n=9)[1]["counts"])
    )
    assert found["parameters"] == str(sum(p.numel() for p in run.model.parameters()))
    status, found = ready.ask("costs/price", model="/etc/passwd", n=3)
    assert (status, found["error"]["field"]) == (422, "model")
    sides = [{"model": "gpt2", "patterns": ["causal"] * (CURVES + 1)}]
    assert ready.ask("costs/curves", sides=sides)[0] == 422
    assert ready.ask("costs/curves", sides=[])[1]["error"]["field"] == "sides"
    status, found = ready.ask("costs/curves", sides=[{"model": "bert-base"}], mode="decoding")
    assert "decode is for models that write" in found["told"][0][1]
    status, found = ready.ask("costs/curves", sides=[{"model": "gpt2", "patterns": ["axial(4, 6)"]}])
    assert found["told"] == [[0, "axial(4, 6) covers 24 positions, got n=65536"]]


LINES = """all => all.flatMap((one) => {
    const walk = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), out = [];
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getClientRects(), edge = one.getBoundingClientRect();
        if (box.length > 1 || (box.length && box[0].right > edge.right + 1)) out.push(node.textContent);
    }
    return out; })"""


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize(
    "name", ["2 against 3: caches", "Llama 3 8B decodes 8k", "A million tokens on 64 ranks"]
)
def test_no_number_is_broken_inside_its_groups(costs, width, name):
    seen = costs("", width)
    seen.wait("big-0", shown(gpt2().flops))
    seen.page.get_by_role("button", name=name).click()
    seen.wait_state("llama")
    settled(seen)
    numbers = seen.page.locator(".side:visible :is(.big, dl.tiles dd)")
    assert numbers.count() > 6
    assert numbers.evaluate_all(LINES) == []
    assert seen.fits()
    field = seen.key("n", "text")
    if "million" in name:
        assert field.input_value() == "1,048,576"
    assert field.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_a_share_of_next_to_nothing_is_said_so_and_told_by_pointing(costs):
    seen = costs("n=1&count=flops&model=llama-3-8b&n=1048576&pattern=full")
    row = seen.page.locator("table.tree tbody tr", has_text="< 0.0001 %").first
    row.wait_for()
    row.hover()
    told = seen.page.locator("#tip").inner_text()
    found = re.search(r"flops: ([\d,]+), (0\.0000\d+) %", told)
    total = int(seen.read("big-0").replace(",", ""))
    assert float(found[2]) == pytest.approx(100 * int(found[1].replace(",", "")) / total, rel=0.01)


@pytest.mark.parametrize("width", [1280, 360])
def test_what_says_that_work_goes_on_covers_nothing(costs, width):
    seen = costs("", width)
    seen.wait("big-0", shown(gpt2().flops))
    before = seen.page.locator(".side").first.bounding_box()
    seen.page.route("**/api/costs/price", lambda _: None)
    seen.slide("n", 9)
    chip = seen.page.locator(".side > .busy")
    chip.wait_for()
    assert seen.page.locator(".side").first.bounding_box() == before
    box = chip.bounding_box()
    for one in seen.page.locator(".side label:visible, .side input:visible, .choices > *:visible").all():
        other = one.bounding_box()
        apart = other["y"] >= box["y"] + box["height"] or other["y"] + other["height"] <= box["y"]
        assert apart or other["x"] + other["width"] <= box["x"], one.evaluate("one => one.outerHTML")
