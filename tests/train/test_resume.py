"""A run that is killed at any moment and resumed is, bit for bit, the run that nobody disturbed."""

import random
import time

import pytest
import torch

from regard.models.files import read_tensors
from regard.train import train
from regard.train.checkpoint import last_good
from regard.train.metrics import read_rows
from tests.train import small

CODE = """
from regard.train import train
from regard.train.steps import Step
import time
call = Step.__call__
def slow(self, *parts, **more):
    time.sleep(0.02)
    call(self, *parts, **more)
Step.__call__ = slow
train(small.{kind}(), sys.argv[1], quiet=True, device="cpu", resume=sys.argv[2] == "resume")
"""


def record(folder):
    """Everything that must not differ; the clock may."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in read_rows(folder)]


def assert_same_run(one, other):
    assert record(one) == record(other)
    (a, _), (b, _) = last_good(one / "checkpoints"), last_good(other / "checkpoints")
    assert a.step == b.step
    for part in a.tensors:
        for name, tensor in a.tensors[part].items():
            assert torch.equal(tensor, b.tensors[part][name]), (part, name)
    assert a.state["best"] == b.state["best"]
    best = [read_tensors(folder / "model" / "model.safetensors")[0] for folder in (one, other)]
    assert all(torch.equal(tensor, best[1][name]) for name, tensor in best[0].items())


@pytest.mark.parametrize("kind", ["images", "language"])
def test_killed_at_random_moments(kind, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train(getattr(small, kind)(), whole, quiet=True, device="cpu")
    chance, kills, word = random.Random(kind), 0, "new"
    while True:
        process = small.started(CODE.format(kind=kind), str(killed), word)
        if kills < 3:
            while process.poll() is None and not (killed / "metrics.jsonl").exists():
                time.sleep(0.01)
            time.sleep(chance.uniform(0.05, 0.5))
            process.kill()
        output, _ = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -9, output
        kills += 1
        word = "resume" if (killed / "recipe.json").exists() else "new"
    assert kills > 0
    assert_same_run(whole, killed)


@pytest.mark.parametrize("step", [3, 8, 17])
def test_stopped_in_this_process(step, tmp_path, monkeypatch):
    """The same without a kill, at steps that are and are not those of checkpoints and validations."""
    from regard.train.steps import Step

    recipe, whole, stopped = small.images(), tmp_path / "whole", tmp_path / "stopped"
    train(recipe, whole, quiet=True, device="cpu")
    call, calls = Step.__call__, []

    def failing(self, *parts, **more):
        calls.append(1)
        if len(calls) > step:
            raise KeyboardInterrupt
        call(self, *parts, **more)

    monkeypatch.setattr(Step, "__call__", failing)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, stopped, quiet=True, device="cpu")
    monkeypatch.undo()
    train(recipe, stopped, quiet=True, device="cpu", resume=True)
    assert_same_run(whole, stopped)


def test_another_seed_is_another_run(tmp_path):
    for seed in (0, 1):
        train(small.images(seed=seed, steps=4), tmp_path / str(seed), quiet=True, device="cpu")
    assert record(tmp_path / "0") != record(tmp_path / "1")


def test_a_timed_run_replays_its_clock(tmp_path, monkeypatch):
    """Learning rates follow the clock; what was recorded after the checkpoint is taken from the record."""
    from regard.train.loop import Training

    recipe, folder = small.images(steps=None, minutes=0.05, validate_every=None), tmp_path / "timed"
    save, saves = Training._save, []

    def dying(self, last=False):
        saves.append(self.done)
        if len(saves) == 3:
            raise MemoryError("killed here")
        save(self, last)

    monkeypatch.setattr(Training, "_save", dying)
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


def test_resume_wants_the_same_recipe(tmp_path):
    train(small.images(steps=2), tmp_path, quiet=True, device="cpu")
    with pytest.raises(ValueError, match=r"another recipe: batch, steps differ"):
        train(small.images(steps=3, batch=32), tmp_path, quiet=True, device="cpu", resume=True)
    with pytest.raises(ValueError, match=r"holds a run already; add --resume"):
        train(small.images(steps=2), tmp_path, quiet=True, device="cpu")
    with pytest.raises(ValueError, match=r"no run to resume"):
        train(small.images(steps=2), tmp_path / "other", quiet=True, device="cpu", resume=True)
