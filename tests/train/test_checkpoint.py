import errno
import json

import pytest
import torch

from regard import files
from regard.train import AdamW, Stopped, checkpoint, train
from regard.train.checkpoint import fault_of, numbered, read, set_aside, write_checkpoint
from regard.train.distributed import ALONE
from regard.train.shards import fill
from regard.train.steps import Step
from tests.train import small
from tests.train.same import assert_same_run, record


def save(folder, step, keep=2):
    tensors = {"model": {"w": torch.full((3,), float(step))}}
    return write_checkpoint(folder, step, tensors, {"more": 1}, keep=keep)


def test_the_last_few_are_kept(tmp_path):
    for step in (1, 20, 3, 1000):
        save(tmp_path, step)
    assert [path.name for path in numbered(tmp_path)] == ["step-001000", "step-000020"]
    path = tmp_path / "step-001000"
    assert fault_of(path) is None
    assert (read(path).step, read(path).state["more"]) == (1000, 1)
    assert read(path).tensors()["model"]["w"].tolist() == [1000.0] * 3


def test_the_same_step_again_replaces(tmp_path):
    save(tmp_path, 5)
    write_checkpoint(tmp_path, 5, {"model": {"w": torch.zeros(2)}}, {}, keep=2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000005"]
    assert read(tmp_path / "step-000005").tensors()["model"]["w"].shape == (2,)


@pytest.mark.parametrize("name", ["model.safetensors", "state.json", "checksums.json"])
@pytest.mark.parametrize("damage", ["cut", "gone", "one byte"])
def test_a_damaged_one_is_known(name, damage, tmp_path):
    file = save(tmp_path, 2) / name
    data = bytearray(file.read_bytes())
    if damage == "cut":
        file.write_bytes(data[:-3])
    elif damage == "one byte":
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    else:
        file.unlink()
    assert "step-000002" in fault_of(tmp_path / "step-000002")


def test_several_look_at_a_share_each(tmp_path):
    path = save(tmp_path, 2)
    (path / "model.safetensors").write_bytes(b"{}")
    found = [fault_of(path, rank, 2) for rank in range(2)]
    assert sum(one is not None for one in found) == 1


def test_what_is_set_aside_is_neither_counted_nor_lost(tmp_path):
    for step in (1, 2):
        save(tmp_path, step)
    assert set_aside(tmp_path / "step-000002").name == "damaged-step-000002-1"
    save(tmp_path, 2, keep=1)
    assert {path.name for path in tmp_path.iterdir()} == {"step-000002", "damaged-step-000002-1"}
    assert set_aside(tmp_path / "step-000002").name == "damaged-step-000002-2"


def test_a_full_disk_leaves_the_older_one_and_names_the_bytes(tmp_path, monkeypatch):
    save(tmp_path, 1)
    monkeypatch.setattr(files, "write_all", _full)
    with pytest.raises(
        OSError, match=r"step-000002 could not be written, it takes 12 bytes and .* are free: No"
    ):
        save(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


def _full(handle, data):
    raise OSError(errno.ENOSPC, "No space left on device")


def _sometimes(monkeypatch, module, name, wrong):
    """Replace a function by one that finds the disk full at these calls of it."""
    real, calls = getattr(module, name), []

    def write(*parts, **more):
        calls.append(1)
        if len(calls) in wrong:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*parts, **more)

    monkeypatch.setattr(module, name, write)


def test_a_run_survives_a_disk_that_is_full_for_a_while(tmp_path, monkeypatch, capsys):
    from regard.train import saving

    _sometimes(monkeypatch, saving, "write_checkpoint", {2})
    train(small.images(steps=18), tmp_path, device="cpu")
    assert "step 10: no checkpoint, the one before stays" in capsys.readouterr().out
    assert [path.name for path in numbered(tmp_path / "checkpoints")] == ["step-000018", "step-000015"]


def test_rows_wait_for_room(tmp_path, monkeypatch, capsys):
    from regard.train import metrics

    train(small.images(), tmp_path / "whole", quiet=True, device="cpu")
    real, calls = metrics.write_all, []

    def half(handle, data):
        calls.append(1)
        if len(calls) in (1, 2, 5, 6):
            real(handle, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle, data)

    monkeypatch.setattr(metrics, "write_all", half)
    train(small.images(), tmp_path / "full", device="cpu")
    out = capsys.readouterr().out
    assert "the record waits: " in out
    assert "metrics.jsonl could not be written, it takes" in out
    assert_same_run(tmp_path / "whole", tmp_path / "full")


@pytest.mark.parametrize("place", ["checkpoint", "model", "summary"])
def test_a_full_disk_where_it_matters_stops_the_run_that_then_goes_on(place, tmp_path, monkeypatch):
    from regard.train import folder, loop, saving

    train(small.images(), tmp_path / "whole", quiet=True, device="cpu")
    where = {
        "checkpoint": (saving, "write_checkpoint", set(range(2, 99)), "the last checkpoint could not be"),
        "model": (folder, "save", {2}, "the best model could not be kept"),
        "summary": (loop, "write_json", {1}, "the run is trained, but not summed up"),
    }
    module, name, wrong, message = where[place]
    _sometimes(monkeypatch, module, name, wrong)
    with pytest.raises(Stopped, match=rf"{message}.*No space left.*make room, then regard train --resume"):
        train(small.images(), tmp_path / "full", quiet=True, device="cpu")
    monkeypatch.undo()
    train(small.images(), tmp_path / "full", quiet=True, device="cpu", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "full")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that was stopped after its checkpoints of steps 5 and 10, and the same run undisturbed."""
    folder = tmp_path_factory.mktemp("runs")
    train(small.images(), folder / "whole", quiet=True, device="cpu")
    call = Step.__call__

    def failing(self, *parts, **more):
        if (folder / "stopped" / "checkpoints" / "step-000010").exists():
            raise KeyboardInterrupt
        call(self, *parts, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Step, "__call__", failing)
        with pytest.raises(KeyboardInterrupt):
            train(small.images(), folder / "stopped", quiet=True, device="cpu")
    return folder


def copied(stopped, tmp_path):
    from shutil import copytree

    return copytree(stopped / "stopped", tmp_path / "run")


@pytest.mark.parametrize(
    "name",
    ["model.safetensors", "optimizer.safetensors", "averages.safetensors", "state.json", "best/task.json"],
)
@pytest.mark.parametrize("damage", ["one byte", "gone"])
def test_the_older_one_is_used_where_the_newest_is_damaged(stopped, name, damage, tmp_path, capsys):
    folder = copied(stopped, tmp_path)
    file = folder / "checkpoints" / "step-000010" / name
    if damage == "gone":
        file.unlink()
    else:
        data = bytearray(file.read_bytes())
        data[-9] ^= 4
        file.write_bytes(data)
    train(small.images(), folder, device="cpu", resume=True)
    out = capsys.readouterr().out
    assert "passed over, and kept as damaged-step-000010-1: " in out
    assert file.name in out
    assert "going on after step 5" in out
    assert_same_run(stopped / "whole", folder)


def test_nothing_is_erased_where_all_are_damaged(stopped, tmp_path):
    folder = copied(stopped, tmp_path)
    for path in numbered(folder / "checkpoints"):
        (path / "model.safetensors").unlink()
    before = record(folder)
    assert len(before) > 10
    with pytest.raises(
        Stopped, match=r"no checkpoint of .* can be used: .*step-000010.*step-000005.*nothing was"
    ):
        train(small.images(), folder, quiet=True, device="cpu", resume=True)
    assert record(folder) == before
    assert len(numbered(folder / "checkpoints")) == 2


def test_a_record_whose_checkpoints_are_gone_is_kept(stopped, tmp_path, capsys):
    folder = copied(stopped, tmp_path)
    before = (folder / "metrics.jsonl").read_bytes()
    checkpoint.remove(folder / "checkpoints")
    for number in (1, 2):
        train(small.images(), folder, quiet=True, device="cpu", resume=True)
        assert (folder / f"kept-{number}-metrics.jsonl").read_bytes() == before
        error = capsys.readouterr().err
        assert "there is a record of " in error
        assert f"and no checkpoint: it is kept as kept-{number}-metrics.jsonl" in error
        before = (folder / "metrics.jsonl").read_bytes()
        checkpoint.remove(folder / "checkpoints")
    assert record(folder) == record(stopped / "whole")


def test_one_bad_line_of_the_record_costs_that_line(stopped, tmp_path, capsys):
    folder = copied(stopped, tmp_path)
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert '"lr": 0.0' in lines[2]
    lines[2] = lines[2].replace('"lr": 0.0', '"lr": 0.1')  # JSON as before, but not what was written
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    train(small.images(), folder, device="cpu", resume=True)
    out = capsys.readouterr().out
    assert "metrics.jsonl: line 3 is damaged and left out" in out
    whole = record(stopped / "whole")
    assert record(folder) == whole[:2] + whole[3:]


def test_rows_that_are_gone_are_missed(stopped, tmp_path, capsys):
    folder = copied(stopped, tmp_path)
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    (folder / "metrics.jsonl").write_text("\n".join(lines[:4]) + "\n")
    train(small.images(), folder, device="cpu", resume=True)
    assert "metrics.jsonl: 7 row(s) of the first 10 steps are gone" in capsys.readouterr().out


def test_one_of_old_has_no_checksums(stopped, tmp_path, capsys):
    folder = copied(stopped, tmp_path)
    path = folder / "checkpoints" / "step-000010"
    state = json.loads((path / "state.json").read_text())
    for name in ("checksums", "validated", "rows", "recipe", "data"):
        del state[name]
    (path / "state.json").write_text(json.dumps(state))
    (path / "checksums.json").unlink()
    for file in (path / "best").iterdir():
        file.unlink()
    (path / "best").rmdir()
    entry = json.loads((folder / "environment.json").read_text())[0]
    del entry["recipe"]
    (folder / "environment.json").write_text(json.dumps(entry))
    train(small.images(), folder, device="cpu", resume=True)
    out = capsys.readouterr().out
    assert "step-000010 was written without checksums" in out
    assert "going on after step 10" in out
    assert_same_run(stopped / "whole", folder)
    assert len(json.loads((folder / "environment.json").read_text())) == 2


def test_a_weight_without_a_gradient_has_nothing_to_remember(tmp_path):
    def made():
        torch.manual_seed(0)
        model = torch.nn.ModuleDict({"used": torch.nn.Linear(2, 1), "idle": torch.nn.Linear(2, 1)})
        return model, AdamW().build(model)

    def step(model, optimizer):
        optimizer.zero_grad()
        model["used"](torch.ones(1, 2)).sum().backward()
        optimizer.step(torch.tensor(1.0))

    one, first = made()
    step(one, first)
    tensors = {"model": dict(one.state_dict()), "optimizer": first.state()}
    found = read(write_checkpoint(tmp_path, 1, tensors, {}, keep=1))
    other, second = made()
    filled = fill({"model": dict(other.state_dict()), "optimizer": second.empty_state()}, found, ALONE)
    second.load(filled["optimizer"])
    assert set(second.state()) == set(first.state())
    step(one, first), step(other, second)
    assert all(torch.equal(x, other.state_dict()[name]) for name, x in one.state_dict().items())
    with pytest.raises(ValueError, match="does not fit the model: model/third is not in both"):
        fill({"model": {**other.state_dict(), "third": torch.ones(1)}}, found, ALONE)
    bare = read(write_checkpoint(tmp_path, 2, {"model": dict(one.state_dict())}, {}, keep=1))
    with pytest.raises(ValueError, match="it has nothing of the optimiser"):
        fill({"model": dict(other.state_dict()), "optimizer": second.empty_state()}, bare, ALONE)


def test_a_model_of_a_time_that_is_taken_back_is_not_kept(stopped, tmp_path):
    """The best model of step 8 belongs to the checkpoint of step 10 and not to that of step 5."""
    folder = copied(stopped, tmp_path)
    assert json.loads((folder / "model" / "task.json").read_text())["step"] == 8
    checkpoint.remove(folder / "checkpoints" / "step-000005")
    for name in ("task.json", "checksums.json"):
        (folder / "model" / name).unlink()  # whatever is there is replaced
    train(small.images(), folder, quiet=True, device="cpu", resume=True)
    assert_same_run(stopped / "whole", folder)
