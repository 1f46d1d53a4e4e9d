"""The Runs room in a real browser, beside a training that goes on, and what the server tells of a folder."""

import json
import re
import shutil
import subprocess
import sys
import time

import pytest

from regard.cost import price
from regard.studio.api.runs import CHOSEN
from regard.train import list_runs, load_run, train
from regard.train.lock import held, in_use
from regard.train.metrics import FILE, read_rows
from tests.train import small

LONG = 4_000  # steps of the training beside, which the test ends


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs that ended, and some folders that are no whole runs."""
    folder = tmp_path_factory.mktemp("somewhere") / "experiments"
    for name, lr in (("one", 0.01), ("sweep/two", 0.003)):
        recipe = small.images(steps=24)
        recipe = recipe.but(optimizer=small.Muon(lr=lr, adam=small.AdamW(lr=1e-3)))
        train(recipe, folder / name, quiet=True, device="cpu")
    (folder / "broken").mkdir()
    (folder / "broken" / "recipe.json").write_text("{")
    (folder / "broken" / "summary.json").write_text("[]")
    (folder / "broken" / FILE).write_bytes(b"\xff\xfe{}\n" + (folder / "one" / FILE).read_bytes()[:300])
    shutil.copytree(folder / "one", folder / "strange")
    recipe = json.loads((folder / "strange" / "recipe.json").read_text())
    recipe["task"] = {"part": "FoldProteins"}
    (folder / "strange" / "recipe.json").write_text(json.dumps(recipe))
    (folder / "strange" / "model" / "task.json").write_text('{"task": "proteins", "scores": {"x": [1]}}')
    return folder


@pytest.fixture(scope="module")
def watched(start, folder):
    found = start("--runs", folder)
    found.ask("runs/overview")
    return found


@pytest.fixture
def room(visit_at, watched):
    return lambda state="", *size, **options: visit_at(watched, *size, **options).room("runs", state)


def row(seen, name):
    return seen.page.locator("table.runs tbody tr").filter(has=seen.page.locator(f"[data-run='runs:{name}']"))


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_right_everywhere(room, width, scheme):
    seen = room("runs=runs:one;runs:sweep/two", width, color_scheme=scheme)
    seen.page.locator(".curves svg").wait_for()
    seen.page.get_by_text("optimizer.lr").wait_for()
    assert seen.fits()
    assert seen.unreadable() == []
    seen.clean()


def test_axe_finds_nothing_serious(room):
    seen = room("runs=runs:one;runs:sweep/two")
    seen.page.locator(".curves svg").wait_for()
    seen.page.get_by_text("optimizer.lr").wait_for()
    assert seen.axe() == []


def test_the_list_says_what_regard_runs_says(room, folder):
    seen = room()
    found = {one.folder.removeprefix(f"{folder}/"): one for one in list_runs(folder)}
    assert set(found) == {"one", "sweep/two", "broken", "strange"}
    text = row(seen, "one").inner_text()
    assert "finished" in text
    assert "24 of 24" in text
    assert f"accuracy {found['one'].validation['accuracy']:.4g}" in text
    assert "its recipe.json cannot be read; its summary.json is damaged" in row(seen, "broken").inner_text()
    assert "its recipe.json cannot be read" in row(seen, "strange").inner_text()


def test_curves_are_the_record_and_tell_it(room, folder):
    seen = room("runs=runs:one")
    rows = read_rows(folder / "one")
    losses = {one["step"]: one["loss"] for one in rows if one["kind"] == "train"}
    held_out = {one["step"]: one for one in rows if one["kind"] == "validation"}
    picture = seen.page.locator(".curves svg")
    picture.focus()
    for _ in range(8):
        seen.page.keyboard.press("ArrowRight")
    told = seen.page.locator("#tip").inner_text().split("\n")
    assert told == ["step 8", f"training: {losses[8]:.6g}", f"validation: {held_out[8]['loss']:.6g}"]
    seen.page.get_by_text("sample at step 8").wait_for()  # linked
    assert seen.page.locator(".sample pre").inner_text().strip() == held_out[8]["sample"].strip()
    slider = seen.page.get_by_label("Which sample of one")
    slider.focus()
    seen.page.keyboard.press("End")
    seen.page.get_by_text("sample at step 24, the last").wait_for()
    seen.choose("show", "accuracy")
    seen.page.locator(".curves text", has_text="accuracy").wait_for()
    picture.focus()
    seen.page.keyboard.press("ArrowRight")
    assert f"{held_out[8]['accuracy']:.6g}" in seen.page.locator("#tip").inner_text()
    seen.choose("show", "lr")
    seen.choose("x", "minutes")
    seen.page.locator(".curves text", has_text="minutes").wait_for()
    seen.choose("show", "loss")
    seen.key("log").check()
    seen.key("smooth").check()
    seen.page.get_by_text("Training is smoothed").wait_for()
    seen.wait_state("smooth=1")
    link = seen.page.evaluate("location.href")
    again = room()
    again.page.goto(link)
    again.page.get_by_text("Training is smoothed").wait_for()
    assert again.state == seen.state
    seen.page.go_back()
    seen.page.get_by_text("Training is smoothed").wait_for(state="detached")
    seen.clean()


def test_runs_are_compared_and_opened(room, folder):
    seen = room("runs=runs:one")
    row(seen, "sweep/two").get_by_role("checkbox").check()
    seen.page.get_by_text("optimizer.lr").wait_for()
    cells = seen.page.locator(".differ tr", has_text="optimizer.lr").locator("td").all_inner_texts()
    assert cells == ["0.01", "0.003"]
    legend = seen.page.locator(".legend").inner_text().split("\n")
    assert legend == ["one, training", "one, validation", "sweep/two, training", "sweep/two, validation"]
    row(seen, "one").get_by_role("checkbox").uncheck()
    seen.page.get_by_label("What differs").wait_for(state="hidden")
    seen.wait_state("runs=runs:sweep/two")
    seen.page.get_by_role("button", name="Price it in Costs").click()
    seen.page.wait_for_selector("main[data-ready=costs]")
    config = load_run(folder / "sweep" / "two").model.config
    seen.wait("big-0", f"{price(config).flops:,}")
    seen.page.go_back()
    seen.page.wait_for_selector("main[data-ready=runs]")
    seen.page.locator(".curves svg").wait_for()
    seen.clean()


def test_a_damaged_run_is_told_in_a_line(room):
    seen = room("runs=runs:broken;runs:gone")
    seen.page.get_by_text("1 line of its metrics.jsonl is damaged and left out").wait_for()
    seen.page.get_by_text("no run is called 'gone'; it may have been removed").wait_for()
    seen.page.locator(".curves svg").wait_for()  # what is whole of it
    seen.clean()


def test_files(room, folder):
    seen = room("runs=runs:one")
    seen.page.locator(".curves svg").wait_for()
    got = {}
    for kind in ("PNG", "SVG", "CSV"):
        with seen.page.expect_download() as waiting:
            seen.page.get_by_role("button", name=kind).click()
        got[kind] = waiting.value.path().read_bytes()
    assert got["PNG"].startswith(b"\x89PNG")
    assert got["SVG"].startswith(b"<svg")
    rows = [line.split(",") for line in got["CSV"].decode().splitlines()]
    first = next(one for one in read_rows(folder / "one") if one["kind"] == "train")
    assert ["one", "train", "loss", "1", repr(first["loss"])] in rows


def test_a_training_beside_grows_on_the_page(room, folder, watched):
    live = folder / "live"
    command = [sys.executable, "-m", "regard", "train", "digits-vit", "--out", str(live)]
    for change in (f"steps={LONG}", "validate_every=20", "read_every=5"):
        command += ["--set", change]
    seen = room()
    training = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        row(seen, "live").get_by_text("running").wait_for(timeout=90_000)
        assert row(seen, "live").get_by_role("checkbox").is_checked()  # the newest, as none was chosen
        card = seen.page.locator(".run[data-name='runs:live']")
        card.get_by_text("running, step").wait_for(timeout=60_000)
        step = lambda: int(re.search(r"step ([\d,]+)", card.inner_text())[1].replace(",", ""))  # noqa: E731
        first, end = step(), time.monotonic() + 60
        while step() <= first and time.monotonic() < end:
            time.sleep(0.2)
        assert step() > first
        card.get_by_text("sample at step").wait_for(timeout=60_000)
        assert in_use(live)
    finally:
        training.terminate()
        training.wait(30)
    row(seen, "live").get_by_text("running").wait_for(state="detached", timeout=30_000)
    assert not in_use(live)
    seen.clean()
    said = watched.ask("runs/records", runs=["runs:live"])[1]
    (record,) = said["runs"]
    assert record["last"] == max(one["step"] for one in read_rows(live))
    shutil.rmtree(live)


def test_without_runs_the_page_says_how_to_make_some(start, visit_at, tmp_path):
    empty = tmp_path / "later"
    empty.mkdir()
    seen = visit_at(start("--runs", empty)).room("runs")
    seen.page.get_by_text("No run yet in later").wait_for()
    seen.page.get_by_text("regard train digits-vit --out later/digits").wait_for()
    train(small.images(steps=2), empty / "first", quiet=True, device="cpu")
    row(seen, "first").wait_for()
    shutil.rmtree(empty)
    seen.page.get_by_text("No run yet in later").wait_for()


def test_without_a_folder_the_page_says_so(visit):
    seen = visit().room("runs")
    seen.page.get_by_text("regard studio --runs runs").wait_for()


def test_replies_name_no_folder_and_take_none(watched, folder):
    said = watched.ask("runs/overview")[1]
    names = [one["name"] for one in said["runs"]]
    whole = json.dumps([said, watched.ask("runs/records", runs=names)[1]])
    whole += json.dumps(watched.ask("runs/differences", runs=names)[1])
    assert str(folder) not in whole
    assert str(folder.parent) not in whole
    for name in ("/etc", str(folder / "one"), "runs:../experiments/one", "runs:/etc", "😀", ""):
        (found,) = watched.ask("runs/records", runs=[name])[1]["runs"]
        assert "no run is called" in found["gone"]
        assert watched.ask("runs/differences", runs=[name])[0] == 422
        assert watched.ask("costs/price", model=name, n=3)[0] == 422
    assert watched.ask("runs/records", runs=["x"] * (CHOSEN + 1))[0] == 422
    assert watched.ask("runs/records", runs=[3])[0] == 422


def test_what_did_not_change_is_not_sent_again(watched):
    (first,) = watched.ask("runs/records", runs=["runs:one"])[1]["runs"]
    (again,) = watched.ask("runs/records", runs=["runs:one"], marks={"runs:one": first["mark"]})[1]["runs"]
    assert again == {"name": "runs:one", "mark": first["mark"], "same": True}


def test_other_rooms_know_the_runs_of_the_folder(watched):
    found = {one["name"]: one["kind"] for one in watched.ask("shell/models")[1]["models"]}
    assert found["runs:one"] == found["runs:sweep/two"] == "images"
    assert not {"runs:broken", "runs:strange"} & set(found)


def test_a_lock_of_a_dead_process_is_none(tmp_path):
    assert not in_use(tmp_path)
    with held(tmp_path):
        assert in_use(tmp_path)
    (tmp_path / ".lock").write_text('{"pid": 4194304999, "host": "nowhere"}')
    assert in_use(tmp_path)  # of another machine nobody here can tell
    (tmp_path / ".lock").write_text("x")
    assert not in_use(tmp_path)


def test_the_only_run_can_be_left_out(room):
    seen = room()
    seen.page.locator(".curves svg").wait_for()
    name = seen.page.locator("table.runs input:checked").get_attribute("data-run")
    seen.page.locator(f"input[data-run='{name}']").uncheck()
    seen.page.get_by_text("No run is chosen").wait_for()
    seen.wait_state("none=1")
    assert seen.page.locator("table.runs [aria-selected=true], table.runs input:checked").count() == 0
    assert seen.page.locator(".curves svg").is_hidden()
    again = room(seen.state)
    again.page.get_by_text("No run is chosen").wait_for()
    again.page.locator(f"input[data-run='{name}']").check()
    again.page.locator(".curves svg").wait_for()
    again.wait_state("none=1", there=False)
    again.clean()


def test_what_a_link_names_and_nobody_has_is_said(room):
    seen = room("runs=nope&show=zzz")
    seen.page.get_by_text("no run is called 'nope'").wait_for()
    seen.page.get_by_text("This run is not there").wait_for()
    assert seen.page.locator("option[value=zzz]").inner_text() == "zzz (not recorded)"
    seen = room("runs=runs:one&show=zzz")
    seen.page.get_by_text("No zzz is recorded").wait_for()
    seen.page.get_by_text("The chosen run does not have such a curve").wait_for()
    seen.choose("show", "loss")
    seen.page.locator(".curves svg").wait_for()
    assert seen.page.locator("option[value=zzz]").count() == 0
