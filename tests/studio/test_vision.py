"""The Vision room in a real browser: every control, and what Python says of the same picture."""

import base64
import io
import math
import time

import pytest
import torch

from regard import zoo
from regard.data import load
from regard.probe import check_by_hiding, head_attention, rollout, score_images, see
from regard.studio.pictures import exchanged, filled, fitted, samples
from tests.studio.conftest import node_module

DIGITS = "model=zoo:digits-vit"


@pytest.fixture(scope="module")
def run():
    return zoo.load("digits-vit")


@pytest.fixture(scope="module")
def tests():
    return load("digits").test


def per_cent(share):
    """As the page writes a share."""
    return f"{float(f'{100 * share:.3g}'):g} %"


def sent(picture):
    return base64.b64encode(bytes(picture.flatten().tolist())).decode()


def answer(run, picture):
    chances = run.logits(picture[None]).softmax(1)[0]
    return run.classes[int(chances.argmax())], per_cent(float(chances.max()))


def box_at(seen, name, row, col, grid=4):
    box = seen.page.locator(f"[data-map={name}]").bounding_box()
    return box["x"] + box["width"] * (col + 0.5) / grid, box["y"] + box["height"] * (row + 0.5) / grid


def png(size=(40, 40), ground=255, bar=0):
    from PIL import Image, ImageDraw

    picture = Image.new("L", size, ground)
    ImageDraw.Draw(picture).line([(20, 4), (20, 36)], fill=bar, width=5)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def test_it_looks_right_everywhere(everywhere):
    seen = everywhere.room("vision", f"{DIGITS}&hide=1&label=3")
    seen.wait("together", "of 12 are taken for what they are")
    seen.page.get_by_text("mean of 8 orders").wait_for()
    assert seen.fits()
    assert seen.unreadable() == []
    seen.clean()


@pytest.mark.parametrize("source", ["test", "draw", "own"])
def test_axe_finds_nothing_serious(visit, source):
    seen = visit().room("vision", f"{DIGITS}&from={source}&draw=p20gAgz&view=gradient")
    seen.page.locator(".source").wait_for()
    seen.page.wait_for_timeout(600)
    assert seen.axe() == []


def test_pictures_are_answered_as_python_does(visit, run, tests):
    seen = visit().room("vision", DIGITS)
    word, sure = answer(run, tests.images[0])
    seen.wait("sure", f"{sure} likely to the model")
    assert seen.read("answer") == word
    assert f"truly {tests.labels[0]}" in seen.read("sure")
    fives = (tests.labels == 5).nonzero()[:, 0].tolist()
    seen.page.locator("select[data-key=label]").select_option("5")
    seen.page.get_by_role("button", name="More").click()
    seen.wait_state("page=1")
    seen.page.get_by_role("button", name=f"picture {fives[14] + 1}, 5").click()
    word, sure = answer(run, tests.images[fives[14]])
    seen.wait("answer", word)  # as sure of it as of the first one, so that alone would not tell
    seen.wait("sure", sure)
    rows = seen.page.locator(".chances button").all_inner_texts()
    chances = run.logits(tests.images[fives[14]][None]).softmax(1)[0]
    want = [f"{run.classes[i]}\n{per_cent(float(chances[i]))}" for i in chances.argsort(descending=True)]
    assert [row.replace("\n\n", "\n") for row in rows] == want
    seen.clean()


def test_maps_tell_their_numbers(visit, run, tests):
    seen = visit().room("vision", DIGITS)
    seen.wait("sure", "likely")
    found = see(run.model, run.normalise(tests.images[:1]))
    heads = head_attention(found)[0][:, :, 1:]
    readout = seen.page.locator(".map-pane .readout")
    seen.page.locator("[data-layer='2'][data-head='3']").click()
    seen.wait_state("layer=2&head=3")
    seen.page.mouse.move(*box_at(seen, "map", 2, 3))
    said = readout.inner_text()
    weight, even = float(heads[1, 2, 11]), float(heads[1, 2].mean())
    assert "patch in row 3, column 4 (pixel rows 5–6, columns 7–8)" in said
    assert float(said.split("weight ")[1].split(",")[0]) == pytest.approx(weight, rel=1e-4)
    assert float(said.split(", ")[-2].split("×")[0]) == pytest.approx(weight / even, rel=1e-3)
    assert said.endswith("layer 2, head 3")
    seen.page.locator("[data-map=map]").focus()
    for key in ("ArrowRight", "ArrowDown"):
        seen.page.keyboard.press(key)
    assert "weight" in readout.inner_text()
    seen.page.mouse.move(*box_at(seen, "map", 1, 2))
    seen.page.mouse.down()
    seen.page.mouse.up()
    seen.wait("aside", "view of the patch in row 2, column 3")
    seen.page.mouse.move(*box_at(seen, "map", 0, 0))
    own = float(found.weights[0, 1, 2, 1 + 6, 1])
    assert float(readout.inner_text().split("weight ")[1].split(",")[0]) == pytest.approx(own, rel=1e-4)
    seen.page.get_by_role("button", name="Back to the answer's reader").click()
    seen.wait("aside", "class token, from which the answer is read")
    seen.choose("view", "rollout")
    seen.wait("aside", "Rollout multiplies")
    seen.page.mouse.move(*box_at(seen, "map", 3, 3))
    flow = float(rollout(found)[0, 16])
    assert float(readout.inner_text().split("weight ")[1].split(",")[0]) == pytest.approx(flow, rel=1e-4)
    seen.page.locator("[data-class='8']").click()  # what speaks for an eight
    seen.wait("aside", "Integrated gradients in 12 steps: an estimate")
    assert "for “8”" in readout.inner_text()
    seen.choose("view", "plain")
    seen.wait_state("view=plain")
    assert seen.page.locator(".heat-scale").count() == 0
    seen.clean()


def draw(seen, points):
    box = seen.page.locator("[data-pad]").bounding_box()
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    seen.page.mouse.move(*at[0])
    seen.page.mouse.down()
    for place in at[1:]:
        seen.page.mouse.move(*place)
    seen.page.mouse.up()


ZERO = [(0.35 + 0.15 * math.cos(t / 5), 0.4 + 0.25 * math.sin(t / 5)) for t in range(33)]
SEVEN = [(0.2, 0.2), (0.8, 0.2), (0.5, 0.85)]


def test_drawn_digits_are_read_right(visit):
    seen = visit().room("vision", f"{DIGITS}&from=draw")
    seen.page.get_by_text("Nothing is drawn yet").wait_for()
    draw(seen, ZERO)  # small and aside: it is moved to where the data set has its digits
    seen.wait("answer", "0")
    seen.page.get_by_role("button", name="Clear").click()
    seen.page.get_by_text("Nothing is drawn yet").wait_for()
    draw(seen, SEVEN)
    draw(seen, [(0.4, 0.5), (0.72, 0.5)])
    seen.wait("answer", "7")
    link = seen.page.evaluate("location.href")
    sure = seen.read("sure")
    again = visit()
    again.page.goto(link)
    again.wait("answer", "7")
    assert (again.read("sure"), again.state) == (sure, seen.state)
    seen.page.get_by_role("button", name="Undo").click()
    seen.wait_state(";", there=False)
    seen.page.go_back()
    seen.wait("sure", sure)  # back takes the undoing back
    seen.clean()


def test_pen_shape_eraser_width_and_frame(visit):
    seen = visit().room("vision", f"{DIGITS}&from=draw")
    draw(seen, SEVEN)
    seen.wait("sure", "likely")

    def until(fine):
        """Until the picture, as the model takes it, is so."""
        end = time.monotonic() + 20
        while not fine(found := seen.page.evaluate(script)):
            assert time.monotonic() < end, found
            seen.page.wait_for_timeout(50)
        return found

    script = """() => [...document.querySelector("[data-map=plain] canvas").getContext("2d")
        .getImageData(0, 0, 8, 8).data].filter((_, i) => i % 4 === 0)"""
    before = until(lambda now: sum(now) > 0)
    seen.choose("tool", "eraser")
    seen.choose("wide", 3)
    draw(seen, [(0.1, 0.2), (0.9, 0.2)])
    seen.wait_state("e30")
    until(lambda now: sum(now) < sum(before))
    seen.choose("tool", "shape")
    draw(seen, [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9)])
    seen.wait_state("s30")
    until(lambda now: all(min(now[8 * row + 2 : 8 * row + 6]) > 200 for row in range(1, 7)))  # it is filled
    seen.key("fit").uncheck()
    seen.wait_state("fit=0")
    until(lambda now: now[0] < 60 and now[9] > 200)  # the shape ends where it was drawn
    seen.clean()


def test_the_pad_works_by_keys_and_by_touch(visit):
    seen = visit(360, has_touch=True).room("vision", f"{DIGITS}&from=draw")
    seen.page.locator("[data-pad]").focus()
    for key in ["Shift+ArrowUp"] * 3 + ["Space"] + ["Shift+ArrowDown"] * 6 + ["Space"]:
        seen.page.keyboard.press(key)
    seen.wait("answer", "1")
    seen.page.keyboard.press("Backspace")
    seen.page.get_by_text("Nothing is drawn yet").wait_for()
    box = seen.page.locator("[data-pad]").bounding_box()
    touch = seen.page.context.new_cdp_session(seen.page)
    for kind, places in (
        ("touchStart", ZERO[:1]),
        *(("touchMove", [one]) for one in ZERO[1:]),
        ("touchEnd", []),
    ):
        at = [{"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]} for x, y in places]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
    seen.wait("answer", "0")
    seen.clean()


def test_own_pictures_by_button_drop_and_paste(visit, run, tmp_path):
    (tmp_path / "bar.png").write_bytes(png())
    (tmp_path / "bad.png").write_bytes(b"no picture")
    seen = visit().room("vision", f"{DIGITS}&from=own")
    seen.page.get_by_text("No picture yet").wait_for()
    seen.page.locator("[data-upload]").set_input_files(str(tmp_path / "bar.png"))
    seen.wait("notices", "bar.png; 40×40 pixels, resized to 8×8; black and white exchanged, as in digits")
    seen.wait("sure", "likely")
    word = seen.read("answer")
    assert word == answer(run, 255 - run.shown([tmp_path / "bar.png"], None, None).pictures[0])[0]
    script = """([kind, name, data]) => {
        const files = new DataTransfer(), how = {bubbles: true, cancelable: true};
        const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
        files.items.add(new File([bytes], name, {type: "image/png"}));
        const event = kind === "paste" ? new ClipboardEvent("paste", {clipboardData: files, ...how})
            : new DragEvent("drop", {dataTransfer: files, ...how});
        document.querySelector(".source").dispatchEvent(event); }"""
    seen.page.evaluate(script, ["drop", "dropped.png", base64.b64encode(png(ground=0, bar=255)).decode()])
    seen.wait("notices", "dropped.png; 40×40 pixels, resized to 8×8")
    seen.wait("together", "Colours")
    seen.page.evaluate(script, ["paste", "pasted.png", base64.b64encode(png((40, 20))).decode()])
    seen.wait("notices", "pasted.png; 40×20 pixels, cut to the middle 20×20")
    seen.page.get_by_role("button", name="your picture 3").wait_for()
    seen.page.get_by_role("button", name="Exchange black and white").click()
    seen.wait("notices", "exchanged by hand")
    seen.wait_state("by+hand")
    said = seen.read("notices")
    seen.page.reload()
    seen.page.wait_for_selector("main[data-ready=vision]")
    seen.wait("notices", said)
    seen.page.get_by_role("button", name="Remove").click()
    seen.page.get_by_role("button", name="your picture 3").wait_for(state="detached")
    seen.page.locator("select[data-key=meant]").select_option(label=word)
    seen.wait("together", "are meant as")
    link = seen.page.evaluate("location.href")
    again = visit()
    again.page.goto(link)
    again.wait("together", seen.read("together"))
    assert (again.read("sure"), again.state) == (seen.read("sure"), seen.state)
    again.clean()
    seen.clean()
    seen.page.locator("[data-upload]").set_input_files(str(tmp_path / "bad.png"))
    seen.page.get_by_text("bad.png is no image that can be read").wait_for()
    assert seen.page.get_by_role("button", name="your picture 2").count() == 1  # nothing is lost


def test_a_late_answer_takes_back_nothing(visit, tmp_path):
    """What they show is chosen while the picture is still being looked at."""
    (tmp_path / "bar.png").write_bytes(png())
    (tmp_path / "wide.png").write_bytes(png((40, 20)))
    seen = visit().room("vision", f"{DIGITS}&from=own")
    seen.page.locator("[data-upload]").set_input_files([tmp_path / "bar.png"])
    seen.wait("sure", "likely")
    held = []

    def hold(route):
        held.append(route)

    seen.page.route("**/api/vision/look", hold)
    seen.page.locator("[data-upload]").set_input_files([tmp_path / "wide.png"])
    seen.page.get_by_role("button", name="your picture 2").wait_for()
    seen.page.locator("select[data-key=meant]").select_option("1")
    seen.wait("together", "are meant as")
    seen.page.locator(".result.stale").wait_for()
    with seen.page.expect_response("**/api/vision/look"):
        held[0].continue_()
    seen.page.locator(".result:not(.stale)").wait_for()
    seen.page.wait_for_timeout(500)  # longer than the room rests until it looks at all of them
    assert "are meant as" in seen.read("together")
    seen.clean()


def test_the_hiding_curve_and_the_picture_are_linked(visit, run, tests):
    seen = visit().room("vision", DIGITS)
    seen.page.get_by_role("button", name="Hide patches").click()
    seen.page.get_by_text("mean of 8 orders").wait_for()
    scores = score_images(run.model, run.normalise(tests.images[:1]))[0].flatten()
    rank = scores.argsort(descending=True, stable=True).argsort()
    seen.page.locator(".hiding .curves svg").focus()
    for _ in range(6):
        seen.page.keyboard.press("ArrowRight")
    with torch.no_grad():
        hidden = torch.where(rank < 5, -1, 0)[None]
        chances = run.model(run.normalise(tests.images[:1]), segments=hidden).softmax(1)[0]
    label = int(tests.labels[0])
    assert f"strongest hidden: 5 of 16; {per_cent(float(chances[label]))} “{label}”" in seen.read("left-most")
    assert "patches hidden 5" in seen.page.locator("#tip").inner_text()
    seen.choose("by", "rollout")
    seen.wait_state("by=rollout")
    seen.choose("over", "set")
    seen.page.get_by_text("64 test pictures; ").wait_for()
    draws = torch.Generator().manual_seed(0)
    inputs = run.normalise(tests.images[:64])
    maps = score_images(run.model, inputs, method="rollout")
    found = check_by_hiding(
        run.model, inputs, tests.labels[:64], maps, generator=draws, shares=(0.5,), repeats=3
    )
    right = f"{per_cent(found.curve('most').accuracy[0])} right"
    seen.page.locator(".hiding dl").get_by_text(right).wait_for()
    seen.clean()


def test_other_models_and_their_sketches(visit, studio):
    seen = visit().room("vision", "model=zoo:vit-fashion-mnist")
    seen.wait("answer", "Trouser")
    seen.choose("model", "zoo:vit-cifar10")
    seen.wait("answer", "airplane")
    assert "meant as airplane" in seen.read("sure")
    seen.page.get_by_text("sketches drawn in code").wait_for()
    seen.choose("from", "draw")
    seen.page.locator("[data-ink='3']").click()
    seen.wait_state("ink=3")
    draw(seen, ZERO)
    seen.wait("sure", "likely")
    seen.choose("model", "digits-vit")  # the run that was named when the studio started
    seen.wait("record", "it takes 8×8 in grey as 4×4 patches")
    seen.clean()


def test_back_is_undo(visit):
    seen = visit().room("vision", DIGITS)
    seen.wait("sure", "likely")
    first = seen.read("sure")
    seen.page.locator(".thumbs button").nth(4).click()
    seen.wait_state("pick=4")
    seen.choose("view", "rollout")
    seen.wait_state("view=rollout")
    seen.page.go_back()
    seen.page.go_back()
    seen.wait("sure", first)
    seen.page.go_forward()
    seen.wait_state("pick=4")


@pytest.mark.parametrize(
    "text",
    [
        "layer=99&head=-3&query=1e9&pick=NaN&page=77777",
        "from=own&own=1x8x8:AAAA;here-3&at=9",
        "from=draw&draw=p2;x;s90AA",
        "from=draw&draw=&view=gradient&hide=1",
        "label=-5&from=%E0%A4%A&target=99999",
    ],
)
def test_any_address_opens(visit, text):
    seen = visit().room("vision", f"{DIGITS}&{text}")
    seen.page.locator(".source").wait_for()
    seen.page.wait_for_timeout(300)
    seen.clean()


def test_a_model_that_is_not_there_is_said(visit):
    seen = visit().room("vision", "model=zoo:nonsense")
    seen.page.get_by_text("no model for images is called zoo:nonsense").wait_for()
    assert not seen.page.get_by_role("button", name="More").is_visible()
    assert not seen.key("label").is_visible()
    seen.choose("model", "zoo:digits-vit")
    seen.wait("sure", "likely")


def test_files(visit, run, tests):
    seen = visit().room("vision", DIGITS)
    seen.wait("sure", "likely")
    got = {}
    for kind in ("PNG", "SVG", "CSV"):
        with seen.page.expect_download() as waiting:
            seen.page.locator(".result").get_by_role("button", name=kind).click()
        got[kind] = waiting.value.path().read_bytes()
    assert got["PNG"].startswith(b"\x89PNG")
    assert got["SVG"].startswith(b"<svg")
    rows = [line.split(",") for line in got["CSV"].decode().splitlines()]
    heads = head_attention(see(run.model, run.normalise(tests.images[:1])))[0][:, :, 1:]
    assert len(rows) == 1 + heads.numel()
    assert [float(row[4]) for row in rows[1:]] == pytest.approx(heads.flatten().tolist(), rel=1e-5)


@pytest.mark.alone
def test_it_answers_soon(visit):
    seen = visit().room("vision", "model=zoo:vit-cifar10")
    seen.wait("together", "meant as")
    script = """(i) => new Promise((done) => {
        const begin = performance.now(), old = document.querySelector("[data-read=answer]");
        document.querySelectorAll(".source .thumbs button")[i].click();
        const look = () => {
            const fresh = document.querySelector("[data-read=answer]") !== old;
            if (fresh && !document.querySelector(".result.stale")) done(performance.now() - begin);
            else requestAnimationFrame(look);
        };
        look(); })"""
    times = sorted(seen.page.evaluate(script, i) for i in (1, 2, 3, 4))
    assert times[-1] < 800, times


def test_what_the_server_is_asked(studio, run, tests):
    ask = {"model": "zoo:digits-vit", "pixels": sent(tests.images[0])}
    status, said = studio.ask("vision/look", **ask)
    assert status == 200
    assert said["probabilities"] == pytest.approx(
        run.logits(tests.images[:1]).softmax(1)[0].tolist(), abs=1e-5
    )
    slope = studio.ask("vision/gradient", **ask, target=3)[1]
    assert (slope["target"], len(slope["scores"])) == (3, 16)
    for wrong, field in (
        ({"pixels": "AAAA"}, "pixels"), ({"pixels": "%%"}, "pixels"), ({"shape": [1, 8, 9]}, "pixels"),
        ({"shape": [2, 8, 8]}, "pixels"), ({"model": "zoo:sentiment"}, "model"), ({"query": 99}, "query"),
        ({"shape": [1, 10**9, 8]}, "pixels"), ({"shape": "x"}, "shape"),
    ):  # fmt: skip
        status, said = studio.ask("vision/look", **{**ask, **wrong})
        assert (status, said["error"]["field"]) == (422, field), wrong
    assert studio.ask("vision/several", model="zoo:digits-vit", pictures=[])[0] == 422
    assert studio.ask("vision/check", model="zoo:vit-cifar10")[1]["error"]["field"] == "over"
    other = studio.ask("vision/look", model="zoo:vit-cifar10", pixels=sent(tests.images[0]), shape=[1, 8, 8])[
        1
    ]
    assert len(base64.b64decode(other["pixels"])) == 3 * 32 * 32


def test_pictures_are_made_to_fit(run, tests):
    assert fitted(tests.images[0], (3, 16, 16)).shape == (3, 16, 16)
    assert torch.equal(fitted(tests.images[0], (1, 8, 8)), tests.images[0])
    ink = torch.full((1, 8, 8), 250, dtype=torch.uint8)
    ink[0, 2:6, 3:5] = 10
    assert exchanged(ink, run)
    assert not exchanged(255 - ink, run)
    noise = torch.randint(0, 256, (1, 8, 8), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    assert not exchanged(noise, run)  # it has no ground
    tall, wide = filled(samples(run))
    assert tall > 0.99
    assert 0.6 < wide < 0.8


def test_a_drawing_gives_the_same_pixels_everywhere():
    node_module("typescript/package.json")  # where npm is, node is
    import shutil
    import subprocess

    from regard.studio.app import ROOT

    if shutil.which("node") is None:
        pytest.skip("node is needed")
    pad = (ROOT / "studio/page/rooms/vision_pad.js").as_uri()
    script = f"""import {{ raster }} from {pad!r};
        const paper = {{shape: [1, 4, 6], dark: true, box: null, fit: false}};
        const told = (draw) => raster(draw, paper).data.join();
        console.log(told(["s20AA_A__A_"]), told(["p20AA", "e30AAA_"]));"""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )
    full, none = done.stdout.split()
    assert set(full.split(",")) == {"255"}
    assert set(none.split(",")) == {"0"}
