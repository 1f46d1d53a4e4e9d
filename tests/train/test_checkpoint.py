import errno

import pytest
import torch

from regard.train import Stopped, checkpoint, train
from regard.train.checkpoint import last_good, numbered, read, write
from tests.train import small


def save(folder, step, keep=2):
    return write(folder, step, {"model": {"w": torch.full((3,), float(step))}}, {"more": 1}, keep=keep)


def test_the_last_few_are_kept(tmp_path):
    for step in (1, 20, 3, 1000):
        save(tmp_path, step)
    assert [path.name for path in numbered(tmp_path)] == ["step-001000", "step-000020"]
    found, faults = last_good(tmp_path)
    assert (found.step, found.state["more"], faults) == (1000, 1, [])
    assert found.tensors["model"]["w"].tolist() == [1000.0] * 3


def test_the_same_step_again_replaces(tmp_path):
    save(tmp_path, 5)
    write(tmp_path, 5, {"model": {"w": torch.zeros(2)}}, {}, keep=2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000005"]
    assert read(tmp_path / "step-000005").tensors["model"]["w"].shape == (2,)


@pytest.mark.parametrize("name", ["model.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_one_is_passed_over(name, damage, tmp_path):
    save(tmp_path, 1)
    file = save(tmp_path, 2) / name
    file.write_bytes(file.read_bytes()[:-3])
    if damage == "gone":
        file.unlink()
    found, faults = last_good(tmp_path)
    if name == "model.safetensors" and damage == "gone":
        assert found.tensors == {}
    else:
        assert found.step == 1
        assert name in faults[0]


def test_a_full_disk_leaves_the_older_one(tmp_path, monkeypatch):
    save(tmp_path, 1)

    def full(data, path):
        path.write_bytes(data[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        save(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


def test_a_run_survives_a_disk_that_is_full_for_a_while(tmp_path, monkeypatch, capsys):
    real, calls = checkpoint.write, []

    def sometimes(*parts, **more):
        calls.append(1)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*parts, **more)

    monkeypatch.setattr(checkpoint, "write", sometimes)
    train(small.images(steps=18), tmp_path, device="cpu")
    assert "step 10: no checkpoint, the one before stays" in capsys.readouterr().out
    assert [path.name for path in numbered(tmp_path / "checkpoints")] == ["step-000018", "step-000015"]


def test_a_disk_that_is_full_at_the_end_is_an_error(tmp_path, monkeypatch):
    def never(*parts, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "write", never)
    with pytest.raises(Stopped, match="last checkpoint could not be written"):
        train(small.images(steps=2), tmp_path, quiet=True, device="cpu")
