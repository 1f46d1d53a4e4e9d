"""How many threads a run takes, with speeds that are made up: what is measured here is never the same."""

import json
import shutil

import pytest
import torch

from regard.train import threads, train
from regard.train.checkpoint import numbered
from regard.train.environment import ENVIRONMENT
from tests.train import small
from tests.train.same import record, tensors


@pytest.fixture
def two(monkeypatch):
    """A machine with two threads, on which one is said to be ten times as fast."""
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setattr(threads, "measured", lambda most: {most: 10.0, 1: 100.0})
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def started(folder):
    return [start["threads"] for start in json.loads((folder / ENVIRONMENT).read_bytes())]


def test_a_busy_machine_gets_fewer(two, tmp_path, capsys):
    train(small.images(steps=2), tmp_path / "run", device="cpu")
    out = capsys.readouterr().out
    assert "this machine is busy: 1 thread is 10.0 times as fast as 2 now, so the run takes 1" in out
    assert started(tmp_path / "run") == [1]
    assert torch.get_num_threads() == 2


def test_a_run_goes_on_with_what_it_began_with_to_the_bit(two, tmp_path, monkeypatch, capsys):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    recipe = small.images(steps=6).but(save_every=3)
    train(recipe, whole, device="cpu", quiet=True)
    shutil.copytree(whole, parts)
    shutil.rmtree(numbered(parts / "checkpoints")[0])  # as if it had been killed after step 3
    monkeypatch.setattr(threads, "measured", lambda most: {most: 100.0, 1: 10.0})  # now it is idle
    train(recipe, parts, device="cpu", resume=True)
    out = capsys.readouterr().out
    assert "going on after step 3" in out
    assert "threads: 1 of 2, as it began" in out
    assert "bit for bit" not in out
    assert started(parts) == [1, 1]
    assert record(parts) == record(whole)
    one, other = (tensors(numbered(folder / "checkpoints")[0]) for folder in (whole, parts))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("how", ["deterministic", "variable"])
def test_what_was_asked_for_is_only_spoken_of(two, how, tmp_path, monkeypatch, capsys):
    if how == "variable":
        monkeypatch.setenv(threads.VARIABLE, "2")
    recipe = small.images(steps=1).but(deterministic=how == "deterministic")
    train(recipe, tmp_path / "run", device="cpu")
    assert "OMP_NUM_THREADS=1 would be faster" in capsys.readouterr().out
    assert started(tmp_path / "run") == [2]


def test_one_thread_is_not_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(threads, "measured", lambda most: pytest.fail("it was measured"))
    with threads.chosen_threads(tmp_path, goes_on=False, free=True) as said:
        assert said == []


def test_an_idle_machine_keeps_all(two, monkeypatch, tmp_path):
    monkeypatch.setattr(threads, "measured", lambda most: {most: 90.0, 1: 100.0})
    with threads.chosen_threads(tmp_path, goes_on=False, free=True) as said:
        assert (said, torch.get_num_threads()) == ([], 2)


def test_measuring_leaves_the_number_alone():
    before = torch.get_num_threads()
    assert set(threads.measured(2)) == {2, 1}
    assert torch.get_num_threads() == before
