"""A run that is stopped and resumed is, bit for bit, the run that nobody disturbed; `tests.hunt` kills it."""

import json
from dataclasses import replace

import pytest

from regard.cli.main import main
from regard.data import Reviews
from regard.data.sets import EMBEDDED
from regard.files import unfinished, write
from regard.train import AdamW, Stopped, environment, load_run, read_recipe, saving, start, train
from regard.train.lock import held
from regard.train.steps import Step
from tests.train import small
from tests.train.same import assert_same_run, losses, record


def stopped_after(step, monkeypatch, *words, **more):
    """Train until so many steps of this process are done, then stop as if killed."""
    call, calls = Step.__call__, []

    def failing(self, *parts, **others):
        calls.append(1)
        if len(calls) > step:
            raise KeyboardInterrupt
        call(self, *parts, **others)

    monkeypatch.setattr(Step, "__call__", failing)
    with pytest.raises(KeyboardInterrupt):
        train(*words, quiet=True, device="cpu", **more)
    monkeypatch.setattr(Step, "__call__", call)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("step", [3, 8, 17])
def test_stopped_in_this_process(step, tmp_path, monkeypatch):
    """At steps that are and are not those of checkpoints and validations."""
    recipe, whole, stopped = small.images(), tmp_path / "whole", tmp_path / "stopped"
    train(recipe, whole, quiet=True, device="cpu")
    stopped_after(step, monkeypatch, recipe, stopped)
    train(recipe, stopped, quiet=True, device="cpu", resume=True)
    assert_same_run(whole, stopped)


def test_a_run_of_an_earlier_version_goes_on(tmp_path, monkeypatch):
    """Its recipe.json, its history and its checkpoints hold the recipe with every field at the top."""
    recipe, whole, stopped = small.images(steps=12), tmp_path / "whole", tmp_path / "stopped"
    train(recipe, whole, quiet=True, device="cpu")
    with monkeypatch.context() as patch:
        for module in (saving, start):
            patch.setattr(module, "to_data", small.as_of_old)
        stopped_after(7, monkeypatch, recipe, stopped)
    assert "save_every" in json.loads((stopped / "recipe.json").read_text())
    train(recipe, stopped, quiet=True, device="cpu", resume=True)
    assert_same_run(whole, stopped)
    assert "save_every" not in json.loads((stopped / "recipe.json").read_text())


def test_another_seed_is_another_run(tmp_path):
    for seed in (0, 1):
        train(small.images(seed=seed, steps=4), tmp_path / str(seed), quiet=True, device="cpu")
    assert record(tmp_path / "0") != record(tmp_path / "1")


def test_a_timed_run_replays_its_clock(tmp_path, monkeypatch):
    """Learning rates follow the clock; what was recorded after the checkpoint is taken from the record."""
    from regard.train import saving

    recipe, folder = small.images(steps=None, minutes=0.05, validate_every=None), tmp_path / "timed"
    save, saves = saving.save, []

    def dying(run, last=False):
        saves.append(run.done)
        if len(saves) == 3:
            raise MemoryError("killed here")
        save(run, last)

    monkeypatch.setattr(saving, "save", dying)
    with pytest.raises(MemoryError):
        train(recipe, folder, quiet=True, device="cpu")
    monkeypatch.undo()
    before = record(folder)
    assert before[-1]["step"] > 10
    result = train(recipe, folder, quiet=True, device="cpu", resume=True)
    after = record(folder)
    assert after[: len(before)] == before
    assert result.seconds["training"] == pytest.approx(3.0, abs=1.0)
    lrs = [row["lr"] for row in after if row["kind"] == "train"]
    assert max(lrs) > 0.9 * 0.01
    assert lrs[-1] < 0.1 * max(lrs)
    assert [row["step"] for row in after if row["kind"] == "validation"] == [result.steps]


def test_resume_wants_the_same_recipe(tmp_path):
    train(small.images(steps=2), tmp_path, quiet=True, device="cpu")
    other = small.images(steps=3, batch=32, optimizer=AdamW(lr=1e-2))
    with pytest.raises(
        ValueError, match=r"another recipe: batch differs, optimizer differs; .*--from"
    ) as error:
        train(other, tmp_path, quiet=True, device="cpu", resume=True)
    assert "steps, epochs or minutes may grow and keep, save_every and parallel.context change" in str(
        error.value
    )
    with pytest.raises(ValueError, match=r"holds a run already; add --resume"):
        train(small.images(steps=2), tmp_path, quiet=True, device="cpu")
    with pytest.raises(ValueError, match=r"no run to resume"):
        train(small.images(steps=2), tmp_path / "other", quiet=True, device="cpu", resume=True)
    assert not (tmp_path / "other").exists()
    with pytest.raises(ValueError, match=r"resume must be False, True or 'auto', got resume='perhaps'"):
        train(small.images(), tmp_path, resume="perhaps")


def test_what_may_change_while_a_run_goes_on(tmp_path, capsys):
    train(small.images(steps=8), tmp_path, quiet=True, device="cpu")
    train(small.images(steps=16, keep=1, save_every=3), tmp_path, device="cpu", resume=True)
    out = capsys.readouterr().out
    assert "steps is 16 from here on, before it was 8: what is trained stays, and the learning rate" in out
    assert "keep is 1 from here on, before it was 2" in out
    assert (read_recipe(tmp_path).steps, read_recipe(tmp_path).checks.save_every) == (16, 3)
    rows = [row for row in record(tmp_path) if row["kind"] == "train"]
    assert [row["step"] for row in rows] == list(range(1, 17))
    recipe = small.images()
    for row in rows:
        share = (row["step"] - 0.5) / (8 if row["step"] <= 8 else 16)
        assert row["lr"] == pytest.approx(recipe.optimizer.lr * recipe.schedule.at(share))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000016"]
    for limit in ({"steps": 15}, {"steps": None, "minutes": 1.0}):
        with pytest.raises(ValueError, match="another recipe: steps"):
            train(small.images(keep=1, save_every=3, **limit), tmp_path, device="cpu", resume=True)


def test_a_longer_run_has_ended_when_it_has_ended(tmp_path, monkeypatch):
    train(small.images(steps=8), tmp_path, quiet=True, device="cpu")
    stopped_after(3, monkeypatch, small.images(), tmp_path, resume=True)
    assert not (tmp_path / "summary.json").exists()
    train(small.images(), tmp_path, quiet=True, device="cpu", resume=True)
    assert json.loads((tmp_path / "summary.json").read_text())["steps"] == 24


def test_a_test_score_goes_with_its_model(tmp_path):
    train(small.texts(steps=6), tmp_path, quiet=True, device="cpu")
    (tmp_path / "test.json").write_text('{"accuracy": 1.0}')
    train(small.texts(steps=6), tmp_path, quiet=True, device="cpu", resume=True)
    assert (tmp_path / "test.json").exists()
    train(small.texts(steps=60), tmp_path, quiet=True, device="cpu", resume=True)
    assert json.loads((tmp_path / "model" / "task.json").read_text())["step"] > 6
    assert not (tmp_path / "test.json").exists()


def test_resume_auto_begins_or_goes_on(tmp_path, monkeypatch, capsys):
    train(small.images(), tmp_path / "whole", quiet=True, device="cpu")
    stopped_after(12, monkeypatch, small.images(), tmp_path / "auto", resume="auto")
    for _ in range(2):  # to the end, and once more
        train(small.images(), tmp_path / "auto", device="cpu", resume="auto")
    assert "going on after step 24" in capsys.readouterr().out
    assert_same_run(tmp_path / "whole", tmp_path / "auto")


@pytest.mark.parametrize("when", ["with a checkpoint", "without"])
def test_a_recipe_that_was_edited_by_hand(when, tmp_path, monkeypatch):
    stopped_after(12 if when == "with a checkpoint" else 3, monkeypatch, small.images(), tmp_path)
    path = tmp_path / "recipe.json"
    text = path.read_text()
    assert '"steps": 24' in text
    path.write_text(text.replace('"steps": 24', '"steps": 48'))
    named = r" \(steps\)" if when == "with a checkpoint" else ""
    with pytest.raises(
        ValueError, match=rf"recipe\.json was changed since the run was started{named}: put it"
    ):
        train(read_recipe(tmp_path), tmp_path, quiet=True, device="cpu", resume=True)
    if when == "with a checkpoint":
        with pytest.raises(ValueError, match=r"recipe\.json was changed since"):
            load_run(tmp_path).evaluate()
    path.write_text(json.dumps(json.loads(text)))  # other spaces are no change
    train(read_recipe(tmp_path), tmp_path, quiet=True, device="cpu", resume=True)


@pytest.mark.parametrize("change", ["a letter", "the labels", "the names"])
def test_other_data_are_not_gone_on_with(change, tmp_path, monkeypatch):
    stopped_after(8, monkeypatch, small.texts(), tmp_path)

    def other() -> Reviews:
        found = small.few()
        part, texts = found.train, list(found.train.texts)
        if change == "a letter":
            texts[7] = texts[7].swapcase()
            return replace(found, train=replace(part, texts=tuple(texts)))
        if change == "the labels":
            return replace(found, train=replace(part, labels=1 - part.labels))
        return replace(found, classes=found.classes[::-1])

    monkeypatch.setitem(EMBEDDED, small.FEW, other)
    with pytest.raises(
        ValueError, match=r"the data set few-verdicts is not what this run was trained on until"
    ):
        train(small.texts(), tmp_path, quiet=True, device="cpu", resume=True)
    monkeypatch.setitem(EMBEDDED, small.FEW, small.few)
    train(small.texts(), tmp_path, quiet=True, device="cpu", resume=True)


def test_the_second_process_in_a_folder_leaves_it_alone(tmp_path, capsys):
    train(small.images(steps=2), tmp_path, quiet=True, device="cpu")
    before = contents(tmp_path)
    with held(tmp_path):
        assert main(["train", "--resume", "--out", str(tmp_path), "--device", "cpu"]) == 2
        error = capsys.readouterr().err
        assert f"{tmp_path} is in use by process " in error
        assert error.count("\n") == 1
        left = (tmp_path / ".lock").read_bytes()
    assert contents(tmp_path) == before
    (tmp_path / ".lock").write_bytes(left)  # what a process that died leaves
    train(small.images(steps=2), tmp_path, quiet=True, device="cpu", resume=True)
    assert not (tmp_path / ".lock").exists()


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    from regard.train import lock

    def none(*words):
        raise OSError("no locks here")

    monkeypatch.setattr(lock.fcntl, "flock", none)
    with held(tmp_path), pytest.raises(ValueError, match="in use by process"), held(tmp_path):
        pass
    (tmp_path / ".lock").write_text(json.dumps({"pid": 2**22 + 1, "host": lock.socket.gethostname()}))
    with held(tmp_path):
        pass
    (tmp_path / ".lock").write_text(json.dumps({"pid": 1, "host": "elsewhere"}))
    with pytest.raises(ValueError, match=r"process 1 on elsewhere: .* remove .*\.lock"), held(tmp_path):
        pass


def test_a_new_run_from_a_checkpoint_of_another(tmp_path, monkeypatch, capsys):
    old, new = tmp_path / "old", tmp_path / "new"
    stopped_after(12, monkeypatch, small.images(), old)
    lower = small.images(optimizer=replace(small.images().optimizer, lr=0.001), steps=14)
    for words, message in (
        ("old:7", r"old has no checkpoint of step 7; it has those of 5, 10"),
        ("none", r"--from must name a run with a checkpoint"),
    ):
        with pytest.raises(ValueError, match=message):
            train(lower, new, origin=tmp_path / words, device="cpu")
    newest = old / "checkpoints" / "step-000010" / "model.safetensors"
    data = newest.read_bytes()
    newest.write_bytes(data[:-1])
    with pytest.raises(ValueError, match=r"is damaged: .*; name an older checkpoint as .*old:STEP"):
        train(lower, new, origin=old, device="cpu")
    newest.write_bytes(data)
    with pytest.raises(ValueError, match=r"steps must be more than the 10 of .*, got steps=10"):
        train(small.images(steps=10), new, origin=old, device="cpu")
    before = contents(old)
    train(lower, new, origin=f"{old}:10", device="cpu")
    assert "going on after step 10" in capsys.readouterr().out
    assert contents(old) == before
    assert [row["step"] for row in record(new) if row["kind"] == "train"] == [11, 12, 13, 14]
    (entry,) = environment.history(new)
    assert (entry["from"]["step"], entry["from"]["run"]) == (10, str(old.resolve()))
    assert read_recipe(new).optimizer.lr == 0.001
    same = tmp_path / "same"
    train(small.images(), same, origin=old / "checkpoints" / "step-000010", device="cpu", quiet=True)
    train(small.images(), old, device="cpu", quiet=True, resume=True)
    assert losses(same) == losses(old)[10:]  # without a change it is the same training


def test_a_new_run_may_have_another_optimiser_and_averages(tmp_path):
    old = tmp_path / "old"
    train(small.plain(ema=None, steps=4), old, quiet=True, device="cpu")
    train(small.muon(ema=0.9, steps=8, keep=9), tmp_path / "new", origin=old, quiet=True, device="cpu")
    assert len(losses(tmp_path / "new")) == 4
    again = tmp_path / "new" / "checkpoints" / "step-000004"  # it holds what the first optimiser remembers
    train(small.muon(ema=0.9, steps=6), tmp_path / "third", origin=again, quiet=True, device="cpu")
    assert losses(tmp_path / "third")[0] == losses(tmp_path / "new")[0]
    bigger = small.plain(steps=8)
    bigger = replace(bigger, task=replace(bigger.task, model=replace(bigger.task.model, width=32)))
    with pytest.raises(ValueError, match=r"does not fit"):
        train(bigger, tmp_path / "bigger", origin=old, quiet=True, device="cpu")


def test_a_new_run_that_cannot_begin_leaves_nothing_and_takes_no_name(tmp_path, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new"
    stopped_after(12, monkeypatch, small.images(), old)
    wider = small.images(steps=14)
    wider = replace(wider, task=replace(wider.task, model=replace(wider.task.model, width=48)))
    short = [replace(small.images(), steps=None, **limit) for limit in ({"epochs": 0.01}, {"minutes": 1e-9})]
    over = r"nothing is left to train: .* is over after step 10"
    for recipe, message in ((wider, "fit"), *((recipe, over) for recipe in short)):
        with pytest.raises(ValueError, match=message):
            train(recipe, new, origin=old, quiet=True, device="cpu")
        assert not new.exists()
    train(small.images(steps=14), new, origin=old, quiet=True, device="cpu")
    assert len(losses(new)) == 4


def test_a_damaged_best_model_costs_one_checkpoint(tmp_path, monkeypatch, capsys):
    alone, run = tmp_path / "alone", tmp_path / "run"
    recipe = small.images(validate_every=4, save_every=5, keep=9, steps=14)
    train(recipe, alone, quiet=True, device="cpu")
    stopped_after(12, monkeypatch, recipe, run)
    path = run / "checkpoints" / "step-000010" / "best" / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    train(recipe, run, device="cpu", resume=True)
    assert "going on after step 5" in capsys.readouterr().out
    assert_same_run(alone, run)


def test_a_new_run_from_a_second_stage(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    train(small.two_stages(), old, quiet=True, device="cpu")
    train(small.two_stages(steps=10), new, origin=f"{old}:5", quiet=True, device="cpu")
    assert len(losses(new)) == 5
    assert not (new / "before" / "checkpoints").exists()


def test_a_first_stage_that_is_not_as_it_was_left(tmp_path, monkeypatch, capsys):
    stopped_after(12, monkeypatch, small.two_stages(), tmp_path)  # four of them in the second stage
    record = tmp_path / "before" / "metrics.jsonl"
    record.write_text(record.read_text().replace('"step": 2', '"step": 3', 1))
    model = tmp_path / "before" / "model" / "task.json"
    text = model.read_text()
    model.write_text(text.replace("masked", "marked"))
    with pytest.raises(ValueError, match=r"before/model/task\.json is damaged"):
        train(small.two_stages(), tmp_path, device="cpu", resume=True)
    model.write_text(text)
    (tmp_path / "before" / ".lock").write_text("{}")  # what a kill at the very end of the stage leaves
    write(unfinished(tmp_path / "before" / "summary.json"), b"half")
    train(small.two_stages(), tmp_path, device="cpu", resume=True)
    assert [path.name for path in (tmp_path / "before").glob(".*")] == []
    assert "before/metrics.jsonl: line 2 is damaged" in capsys.readouterr().out


def test_a_first_stage_whose_record_was_cut(tmp_path, monkeypatch, capsys):
    stopped_after(12, monkeypatch, small.two_stages(), tmp_path)  # four of them in the second stage
    path = tmp_path / "before" / "metrics.jsonl"
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(rows[0])
    train(small.two_stages(), tmp_path, device="cpu", resume=True)
    assert f"before/metrics.jsonl: {len(rows) - 1} row(s) are gone" in capsys.readouterr().out


def test_checkpoints_without_a_recipe_are_nobodys(tmp_path):
    train(small.images(steps=2), tmp_path, quiet=True, device="cpu")
    (tmp_path / "recipe.json").unlink()
    with pytest.raises(ValueError, match=r"holds checkpoints without a recipe\.json; choose another --out"):
        train(small.images(steps=2), tmp_path, quiet=True, device="cpu", resume="auto")


def test_every_start_is_remembered_and_what_changed_is_said(tmp_path, monkeypatch, capsys):
    train(small.images(steps=4), tmp_path, quiet=True, device="cpu")
    first = environment.platform.python_version()
    monkeypatch.setattr(environment.platform, "python_version", lambda: "9.9")
    train(small.images(steps=4), tmp_path, device="cpu", resume=True)
    assert f"since the last start, python changed from {first} to 9.9" in capsys.readouterr().out
    assert [entry["python"] for entry in environment.history(tmp_path)] == [first, "9.9"]
    train(small.images(steps=4), tmp_path, device="cpu", resume=True)
    assert "since the last start" not in capsys.readouterr().out
    (tmp_path / "environment.json").write_text("[{")
    train(small.images(steps=4), tmp_path, device="cpu", resume=True)
    assert "damaged-environment.json, and the history begins anew" in capsys.readouterr().out


def test_an_advice_that_can_be_followed(tmp_path, monkeypatch):
    from regard.cli.train import recipe_of
    from regard.train import override

    call = Step.__call__

    def broken(self, *parts, **more):
        call(self, *parts, **more)
        if (tmp_path / "run" / "checkpoints").exists():
            self.row[0] = float("nan")

    monkeypatch.setattr(Step, "__call__", broken)
    with pytest.raises(Stopped) as error:
        train(small.images(), tmp_path / "run", quiet=True, device="cpu")
    monkeypatch.undo()
    words = str(error.value).partition("go on from there with: regard train ")[2].split()
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert set(options) == {"--from", "--out", "--set"}
    recipe = override(recipe_of(None, None, options["--from"]), [options["--set"]])
    assert recipe.optimizer.lr < small.images().optimizer.lr
    train(recipe, options["--out"], origin=options["--from"], quiet=True, device="cpu")
