"""The One token room: its numbers against the model's, and every control in a real browser."""

import base64
import csv
import io
import json
import re

import pytest
import torch

from regard.layers import Alibi, LinearAttention, Softmax
from regard.models import GPT, GPTConfig
from regard.models.sampling import likeliest
from regard.pattern import Strided
from regard.studio.walk import walk
from regard.train import open_run
from tests.train.runs.conftest import draw, write_run

PLAY = "model=zoo:play-gpt"
TEXT = "ROMEO: I love"


@pytest.fixture(scope="module")
def play():
    return open_run("zoo:play-gpt")


@pytest.fixture(scope="module")
def ids(play):
    return list(play.encoded(TEXT)[0])


def opened(seen, state=PLAY):
    seen.room("token", state)
    return answered(seen)


def answered(seen):
    """Until nothing is awaited any more."""
    seen.page.wait_for_selector(".flow:not(.waits):not([hidden])", timeout=40_000)
    return seen


def number(text):
    return float(text.replace("−", "-"))


def told(seen):
    """The number that the tooltip tells."""
    return number(seen.page.locator("#tip").inner_text().split("\n")[-1])


def pointed(seen, label, row, col):
    """What a strip tells of one of its cells, by the keyboard."""
    strip = seen.page.get_by_label(re.compile(f"^{re.escape(label)},"))
    strip.focus()
    for key, count in (("ArrowDown", row), ("ArrowRight", col)):
        if key == "ArrowDown":
            seen.page.keyboard.press("ArrowRight")  # the first cell
        for _ in range(count):
            seen.page.keyboard.press(key)
    found = told(seen)
    seen.page.keyboard.press("Escape")
    return found


def cell(seen, row, col, n, grid=1):
    """The middle of a cell of one of the three grids, in pixels of the window."""
    canvas = seen.page.locator(".grids canvas").nth(grid)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    return box["x"] + (col + 0.5) * box["width"] / n, box["y"] + (row + 0.5) * box["height"] / n


def shares(seen):
    """The bars that are shown: text and chance."""
    rows = seen.page.locator(".chances button:visible").all_inner_texts()
    return [tuple(row.replace("\xa0", " ").split("\n")) for row in rows]


def test_it_looks_right_everywhere(everywhere):
    seen = opened(everywhere, f"{PLAY}&edits=1.1.5.3&temperature=0.5&topk=4")
    assert seen.fits()
    assert seen.unreadable() == []
    seen.clean()


def test_axe_finds_nothing_serious(everywhere):
    seen = opened(everywhere, f"{PLAY}&edits=1.1.5.3")
    assert seen.axe() == []


def test_every_vector_is_the_model_s(studio, play, ids):
    seen = walk(play.gpt, ids)
    status, said = studio.ask("token/step", model="zoo:play-gpt", text=TEXT, layer=2, head=3, token=4)
    assert status == 200

    def values(packed):
        data = torch.frombuffer(bytearray(base64.b64decode(packed["data"])), dtype=torch.float32)
        return data.view(packed["shape"])

    mixed, at = seen.mixed[1], said["attention"]
    for name, want in (
        ("query", mixed.query), ("key", mixed.key), ("value", mixed.value), ("mixture", mixed.out),
        ("scores", mixed.scores), ("weights", mixed.weights),
    ):  # fmt: skip
        torch.testing.assert_close(values(at[name]), want[2])
    want = {
        "embedding": seen.before[0], "position": seen.before[1], "entering": seen.stream[0],
        "in": seen.stream[1], "out": seen.stream[2], "joined": mixed.out.transpose(0, 1).flatten(1),
        "normed": seen.outputs["blocks.1.attention_norm"], "attended": seen.outputs["blocks.1.attention"],
        "between": seen.stream[1] + seen.outputs["blocks.1.attention"],
        "ready": seen.outputs["blocks.1.feedforward_norm"],
        "hidden": seen.outputs["blocks.1.feedforward.gelu"],
        "fed": seen.outputs["blocks.1.feedforward"], "final": seen.outputs["output_norm"],
    }  # fmt: skip
    assert set(said["vectors"]) == set(want)
    for name, vectors in want.items():
        torch.testing.assert_close(values(said["vectors"][name]), vectors[4])
    torch.testing.assert_close(values(said["logits"]), seen.logits[4])
    assert said["unedited"] is None
    lens = seen.lens(play.gpt, 4).index_fill(1, torch.tensor([2]), -torch.inf).softmax(-1)
    assert [row[1] for row in said["lens"]] == pytest.approx(lens.amax(-1).tolist(), rel=1e-5)


def test_strips_and_cells_tell_their_numbers(visit, play, ids):
    seen = opened(visit(), f"{PLAY}&layer=2&head=3&token=4")
    truth = walk(play.gpt, ids)
    mixed = truth.mixed[1]
    for label, row, col, want in (
        ("embedding", 0, 3, truth.before[0][4, 3]), ("position", 0, 1, truth.before[1][4, 1]),
        ("query of each token", 5, 2, mixed.query[2, 5, 2]), ("key of each token", 3, 7, mixed.key[2, 3, 7]),
        ("value of each token", 0, 4, mixed.value[2, 0, 4]),
        ("mixture of this head", 0, 6, mixed.out[2, 4, 6]),
        ("weight × value of each token", 2, 5, mixed.weights[2, 4, 2] * mixed.value[2, 2, 5]),
        ("output of attention", 0, 2, truth.outputs["blocks.1.attention"][4, 2]),
        ("hidden numbers", 1, 2, truth.inputs["blocks.1.feedforward.down"][4, 96 + 2]),
        ("what leaves the layer", 0, 0, truth.stream[2][4, 0]),
        ("what the head reads", 0, 8, truth.outputs["output_norm"][4, 8]),
    ):  # fmt: skip
        assert pointed(seen, label, row, col) == pytest.approx(float(want), rel=2e-4, abs=1e-7), label
    seen.page.locator(".grids canvas").nth(2).focus()
    for key in ("ArrowRight", *["ArrowDown"] * 8, *["ArrowRight"] * 3):
        seen.page.keyboard.press(key)
    found = re.findall(r"[-−]?\d+\.?\d*(?:e[-−]\d+)?", seen.read("cell"))
    assert [number(found[i]) for i in (2, 3)] == [
        pytest.approx(float(x[2, 8, 3]), rel=1e-4) for x in (mixed.scores, mixed.weights)
    ]
    assert "The row of “␣”" in seen.page.locator(".keys").inner_text()  # linked: the row one points at
    product = number(re.search(r"Σ = (\S+);", seen.read("product"))[1])
    assert product == pytest.approx(float(mixed.query[2, 8] @ mixed.key[2, 3]), rel=1e-4)
    assert pointed(seen, "query, key and their products", 2, 1) == pytest.approx(
        float(mixed.query[2, 4, 1] * mixed.key[2, int(mixed.weights[2, 4].argmax()), 1]), rel=1e-4
    )
    seen.clean()


def after_edits(play, ids, cells, layer=0, head=0):
    """The likeliest next token and its chance with these cells of the mask changed."""
    edits = torch.zeros(4, len(ids), len(ids), dtype=torch.bool)
    for row, col in cells:
        edits[head, row, col] ^= True
    logits = walk(play.gpt, ids, {layer: edits}).logits[-1]
    logits[2] = -torch.inf  # unknown, which is never drawn
    return float(logits.softmax(-1).max())


def changed(seen, chance):
    shown = f"{100 * chance:.3g}".rstrip("0").rstrip(".")
    seen.wait("becomes", f"{shown}\N{NO-BREAK SPACE}%")


def test_a_mask_is_edited_by_clicks_drags_and_keys(visit, play, ids):
    seen, n, row = opened(visit()), len(ids), len(ids) - 1
    changed(seen, after_edits(play, ids, []))
    seen.page.mouse.click(*cell(seen, row, row, n))
    changed(seen, after_edits(play, ids, [(row, row)]))
    assert "unedited" in seen.read("becomes")
    assert seen.state.endswith(f"edits=1.1.{row}.{1 << row:x}")
    seen.page.mouse.move(*cell(seen, row, 2, n, grid=2))  # in any of the three
    seen.page.mouse.down()
    for col in (3, 4, 5):
        seen.page.mouse.move(*cell(seen, row, col, n, grid=2))
    seen.page.mouse.up()
    cells = [(row, row), *((row, col) for col in (2, 3, 4, 5))]
    changed(seen, after_edits(play, ids, cells))
    seen.page.locator(".grids canvas").first.focus()
    for _ in range(13):
        seen.page.keyboard.press("ArrowDown")
    for key in (*["ArrowRight"] * 7, "Enter"):
        seen.page.keyboard.press(key)
    changed(seen, after_edits(play, ids, [*cells, (row, 7)]))
    seen.page.go_back()  # a drag is one step
    changed(seen, after_edits(play, ids, cells))
    seen.page.go_back()
    changed(seen, after_edits(play, ids, [(row, row)]))
    seen.page.get_by_role("button", name="Restore this head's mask").click()
    seen.wait_state("edits", there=False)
    changed(seen, after_edits(play, ids, []))
    assert "unedited" not in seen.read("becomes")
    assert seen.page.get_by_role("button", name="Restore all masks").is_disabled()
    seen.clean()


def test_a_token_may_be_let_see_the_future(visit, play, ids):
    seen, n = opened(visit()), len(ids)
    seen.page.locator(".chip").nth(4).click()
    answered(seen)
    seen.page.mouse.click(*cell(seen, 4, 9, n))
    seen.page.wait_for_function(
        "() => document.querySelector('[data-read=becomes]').innerText.includes('unedited')"
    )
    edits = torch.zeros(4, n, n, dtype=torch.bool)
    edits[0, 4, 9] = True
    found = walk(play.gpt, ids, {0: edits})
    seen.page.locator(".grids canvas").nth(2).focus()
    for key in (*["ArrowDown"] * 5, *["ArrowRight"] * 9):
        seen.page.keyboard.press(key)
    weight = float(found.mixed[0].weights[0, 4, 9])
    assert number(seen.read("cell").split("weight ")[1].split(". Click")[0]) == pytest.approx(
        weight, rel=1e-4
    )


@pytest.mark.parametrize(
    ("temperature", "topk", "topp"),
    [(1, 0, 1), (0.5, 0, 1), (1.7, 7, 1), (1, 0, 0.6), (0.8, 9, 0.9), (0, 0, 1)],
)
def test_bars_are_reshaped_in_the_browser(visit, play, ids, temperature, topk, topp):
    seen = opened(visit())
    asked = len(seen.requests)
    for key, value in (("temperature", temperature), ("topk", topk), ("topp", topp)):
        seen.slide(key, value)
    logits = play.gpt(torch.tensor([ids]))[0, -1].detach()
    logits[2] = -torch.inf
    if temperature == 0:
        want = torch.zeros(61).index_fill(0, logits.argmax(), 1.0)
    else:
        kept = likeliest(
            (logits - logits.max())[None] / temperature, topk or None, None if topp == 1 else topp
        )
        want = kept[0].softmax(-1)
    count = int((want > 0).sum())
    seen.wait("rest", f"{count} of 60 tokens can come")
    best = logits.argsort(descending=True, stable=True)[:12].tolist()
    for (text, chance), token in zip(shares(seen), best, strict=True):
        assert text == play.reader.decode([token]).replace(" ", "␣").replace("\n", "⏎")
        if want[token] == 0:
            assert chance == "cut"
        elif want[token] > 1e-4:
            assert float(chance.removesuffix(" %")) == pytest.approx(100 * float(want[token]), rel=6e-3)
    assert len(seen.requests) == asked  # no word to the server
    seen.wait_state("temperature", there=temperature != 1)


def test_layers_heads_tokens_and_models_are_chosen(visit, play, ids):
    seen = opened(visit(), "")
    assert seen.key("model").first.input_value() == "play-gpt"  # what the studio was started with comes first
    seen.choose("model", "zoo:play-gpt")
    seen.wait_state("zoo:play-gpt")
    answered(seen)
    changed(seen, after_edits(play, ids, []))
    seen.page.get_by_role("button", name=re.compile("^layer 3, head 2")).click()
    seen.wait_state("layer=3")
    answered(seen)
    mixed = walk(play.gpt, ids).mixed[2]
    assert pointed(seen, "query of each token", 1, 2) == pytest.approx(float(mixed.query[1, 1, 2]), rel=1e-4)
    seen.page.locator(".chip").nth(3).click()
    seen.wait_state("token=3")
    answered(seen)
    assert "“E” is token 4 of 13" in seen.page.locator(".step").first.inner_text()
    seen.page.get_by_role("button", name="To be, or not to be").click()
    seen.page.wait_for_function("() => document.querySelectorAll('.chip').length === 19")
    seen.write("text", "KING:")
    seen.page.wait_for_function("() => document.querySelectorAll('.chip').length === 5")
    answered(seen)
    assert seen.page.locator(".chip").all_inner_texts() == list("KING:")
    seen.clean()


def test_what_is_wrong_is_said_beside_the_text(visit):
    seen = opened(visit())
    seen.write("text", "x" * 60)
    seen.page.get_by_text("text may have at most 48 tokens here, got 60").wait_for()
    assert seen.page.locator(".flow.waits").count() == 1  # what is seen belongs to another text
    seen.write("text", "")
    seen.page.get_by_text("give some text").wait_for()
    seen.write("text", "\N{GRINNING FACE}")
    seen.page.get_by_text("unknown").first.wait_for()
    seen.write("text", "O, my")
    answered(seen)
    assert "unknown to this model" not in seen.page.locator("main").inner_text()
    errors = [one for one in seen.complaints if "422" not in one]
    assert errors == []


def test_tokens_are_added(visit, play):
    seen = opened(visit(), f"{PLAY}&text=ROMEO:+I+lov")
    first = seen.page.locator(".chances button").first
    assert first.inner_text().startswith("e")
    first.click()
    there = "text => document.querySelector('[data-key=text]').value === text"
    seen.page.wait_for_function(there, arg=TEXT)
    answered(seen)
    seen.slide("temperature", 0)
    seen.page.get_by_role("button", name="Draw one and add it").click()
    best = int(play.gpt(torch.tensor([list(play.encoded(TEXT)[0])]))[0, -1].argmax())
    expected = TEXT + play.reader.decode([best])
    seen.page.wait_for_function(
        "text => document.querySelector('[data-key=text]').value === text", arg=expected
    )
    seen.page.go_back()
    seen.page.wait_for_function("() => document.querySelector('[data-key=text]').value === 'ROMEO: I love'")
    seen.clean()


def test_the_address_is_the_state(visit):
    seen = opened(visit(), "")
    assert seen.state == "model=play-gpt"  # even what was not chosen: it may differ elsewhere
    state = f"{PLAY}&text=KING:+Give+me&layer=2&head=4&token=3&edits=2.4.3.1;2.4.5.a"
    state += "&temperature=0.6&topk=5&topp=0.9"
    seen = opened(visit(), state)
    assert seen.state == state
    assert [seen.key(key, "text").input_value() for key in ("temperature", "topk", "topp")] == [
        "0.6",
        "5",
        "0.9",
    ]
    assert (
        seen.page.locator(".map[aria-pressed=true]").get_attribute("aria-label").startswith("layer 2, head 4")
    )
    assert seen.page.locator(".chip[aria-pressed=true]").inner_text() == "G"
    assert not seen.page.get_by_role("button", name="Restore this head's mask").is_disabled()


@pytest.mark.parametrize(
    "text",
    [
        "layer=99&head=77&token=500",
        "model=nonsense&topp=-3&temperature=1e9",
        "edits=9.9.9.9;x;1.1.1.zz;1.1.400.1",
        "x=%E0%A4%A&token=NaN",
    ],
)
def test_any_address_opens(visit, text):
    seen = visit()
    seen.room("token", text)
    seen.page.wait_for_selector(".controls")
    seen.page.wait_for_function(
        "() => document.querySelector('.flow:not(.waits):not([hidden]), .wrong:not(:empty)')"
        " || document.body.innerText.includes('Leave the masks as they are')"
    )
    assert [one for one in seen.complaints if "422" not in one] == []


def rows(data):
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def test_files(visit, play, ids):
    seen = opened(visit(), f"{PLAY}&head=2")
    got = {}
    for name in ("PNG", "SVG", "CSV", "All numbers as CSV"):
        with seen.page.expect_download() as waiting:
            seen.page.get_by_role("button", name=name, exact=True).first.click()
        got[name] = waiting.value.path().read_bytes()
    with seen.page.expect_download() as waiting:
        seen.page.locator(".next").get_by_role("button", name="CSV").click()
    likely = waiting.value.path().read_bytes()
    assert got["PNG"].startswith(b"\x89PNG")
    assert got["SVG"].startswith(b"<svg")
    mixed = walk(play.gpt, ids).mixed[0]
    weights = [float(row[-1]) for row in rows(got["CSV"])[1:]]
    assert weights == pytest.approx(mixed.weights[1].flatten().tolist(), rel=1e-6)
    queries = [float(row[-1]) for row in rows(got["All numbers as CSV"]) if row[0] == "query"]
    assert queries == pytest.approx(mixed.query[1].flatten().tolist())
    head, *likely = rows(likely)
    assert head == ["token", "text", "logit", "chance"]
    assert sum(float(row[-1]) for row in likely) == pytest.approx(1)
    assert [row[1] for row in likely] == [
        play.reader.decode([int(row[0])]) if int(row[0]) > 2 else row[1] for row in likely
    ]


@pytest.fixture(scope="module")
def mixed_studio(start, tmp_path_factory, play):
    """A studio whose model mixes linearly in one layer and has ALiBi's bias in the other."""
    config = GPTConfig(
        vocab=play.reader.vocab, context=64, depth=2, width=16, heads=2, kv_heads=1,
        mixer=[LinearAttention(), Softmax()],
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("mixed")
    told_ = {"task": "language", "data": "play", "context": 64}
    one = write_run(folder / "linear", GPT(config, generator=draw()), told_, play.reader)
    config = GPTConfig(
        vocab=play.reader.vocab, context=64, depth=1, width=16, heads=2, position=Alibi(), pattern=Strided(3)
    )
    two = write_run(folder / "alibi", GPT(config, generator=draw()), told_, play.reader)
    return start("--run", one, "--run", two)


def test_other_kinds_of_layers_say_what_cannot_be_shown(visit_at, mixed_studio):
    seen = opened(visit_at(mixed_studio), "model=linear")
    assert "there is no softmax and no mask to edit" in seen.page.locator(".note").inner_text()
    assert seen.page.locator(".grids canvas:visible").count() == 1
    seen.page.get_by_role("button", name=re.compile("^layer 2, head 1")).click()
    seen.wait_state("layer=2")
    answered(seen)
    assert seen.page.locator(".grids canvas:visible").count() == 3
    assert "1 for 2 heads" in seen.page.locator("main").inner_text()
    seen.choose("model", "alibi")
    seen.wait_state("alibi")
    answered(seen)
    seen.page.locator(".keys").get_by_text("of it bias").first.wait_for()
    assert "strided(3)" in seen.page.locator("main").inner_text()
    seen.clean()
    status, said = mixed_studio.ask("token/step", model="linear", text="Romeo", edits=["1.1.1.1"])
    assert (status, said["error"]["field"]) == (422, "edits")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"edits": ["1.1.1"]}, "edits"), ({"edits": ["1.9.0.1"]}, "edits"), ({"edits": 3}, "edits"),
        ({"edits": ["1.1.1.1"] * 5000}, "edits"), ({"layer": 4}, "layer"), ({"head": 0}, "head"),
        ({"token": 13}, "token"), ({"token": 1e99}, "token"), ({"text": "a" * 4001}, "text"),
        ({"text": " "}, "text"),
        ({"model": "digits-vit"}, None),
    ],
)  # fmt: skip
def test_the_server_refuses_in_one_line(studio, wrong, field):
    status, said = studio.ask("token/step", **{"model": "zoo:play-gpt", "text": TEXT, **wrong})
    assert (status, said["error"]["field"]) == (422, field)
    assert "\n" not in json.dumps(said["error"]["message"])


def test_what_ends_a_text_cannot_be_added(studio):
    status, said = studio.ask("token/append", model="zoo:dialogue", text="O, my", token=0)
    assert (status, said["error"]["field"]) == (422, "token")
    status, said = studio.ask("token/append", model="zoo:dialogue", text="I'll  not , sir", token=13)
    assert said == {"text": "I'll  not , sir,"}


@pytest.mark.alone
def test_it_reacts_at_once(visit, play, ids):
    seen = opened(visit(), "model=zoo:dialogue")
    taken = []
    for i in range(20):
        script = """([key, row]) => new Promise((done) => {
            const before = document.querySelector('[data-read=becomes]').innerText, begin = performance.now();
            new MutationObserver((_, watch) => { watch.disconnect(); done(performance.now() - begin); })
                .observe(document.querySelector('[data-read=becomes]'), {childList: true});
            document.querySelectorAll('.chip')[row].click(); })"""
        taken.append(seen.page.evaluate(script, ["token", (i * 2 + 1) % 5]))
    assert sorted(taken)[18] < 800, taken
    moves = """Array.from({length: 40}, (_, i) => () => {
        const one = document.querySelector('[data-key=temperature][type=range]');
        one.value = 0.1 + i / 40; one.dispatchEvent(new Event('input', {bubbles: true})); })"""
    frames = min((seen.frames(moves) for _ in range(3)), key=sum)
    assert sorted(frames)[int(0.95 * len(frames))] < 150


def test_faults_of_an_address_are_said_where_they_are(visit):
    seen = visit().room("token", f"{PLAY}&text=")
    seen.page.get_by_text("give some text: a word is enough").wait_for()
    assert not seen.page.get_by_text("Loading the models").is_visible()
    seen = visit().room("token", f"{PLAY}&edits=9.9.9.9")
    seen.wait("unfit", "no such layer, head or row: '9.9.9.9'")
    assert not seen.page.get_by_text("Loading the models").is_visible()
    assert seen.key("text").get_attribute("aria-invalid") != "true"
    seen.page.get_by_role("button", name="Leave the masks as they are").click()
    answered(seen)
    assert seen.read("unfit") == ""
    assert "edits" not in seen.state


def test_a_model_that_is_not_there_is_said(visit):
    seen = answered(visit().room("token", "model=zoo:nope"))
    said = seen.page.get_by_text("no model is called zoo:nope: this is")
    taken = seen.page.locator("select[data-key=model]").input_value()
    assert said.inner_text().endswith(f"this is {taken} instead")
    seen.choose("model", "zoo:play-gpt")
    said.wait_for(state="detached")


def test_what_is_wrong_with_a_text_is_not_said_of_a_prompt(studio):
    _, said = studio.ask("token/step", model="zoo:play-gpt", text="日")
    assert said["error"]["message"].startswith("the one token of the text is unknown")
