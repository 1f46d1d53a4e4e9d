"""Several processes train what one process trains; a lost one ends the job, and it goes on from there."""

import signal
import socket
import time

import pytest

from regard.train import train
from regard.train.metrics import read_rows
from tests.train import small

CODE = """
from dataclasses import replace
from regard.train import train, Stopped
try:
    train(getattr(small, sys.argv[1])(sharding=sys.argv[2]), sys.argv[3], quiet=True, device="cpu",
          resume=sys.argv[4] == "resume")
except Stopped as error:
    print("stopped:", error)
    sys.exit(2)
"""
SLOW = """
import time
from regard.train.steps import Step
call = Step.__call__
def slow(self, *parts, **more):
    time.sleep(0.2)
    call(self, *parts, **more)
Step.__call__ = slow
"""


def port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def group(world, *words, code=CODE):
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port(), "WORLD_SIZE": str(world)}
    return [
        small.started(code, *words, RANK=str(rank), LOCAL_RANK=str(rank), **address) for rank in range(world)
    ]


def ended(processes):
    done = [(process.communicate(timeout=240)[0], process.returncode) for process in processes]
    return [code for _, code in done], "\n".join(text for text, _ in done)


def losses(folder):
    return [row["loss"] for row in read_rows(folder) if row["kind"] == "train"]


@pytest.mark.parametrize(
    ("world", "kind", "sharding"),
    [(2, "plain", "replicate"), (3, "words", "replicate"), (2, "muon", "shard")],
)
def test_the_same_batch_gives_the_same_losses(world, kind, sharding, tmp_path):
    train(getattr(small, kind)(), tmp_path / "one", quiet=True, device="cpu")
    codes, text = ended(group(world, kind, sharding, str(tmp_path / "many"), "new"))
    assert codes == [0] * world, text
    one, many = losses(tmp_path / "one"), losses(tmp_path / "many")
    assert len(one) == len(many) > 5
    assert many == pytest.approx(one, abs=1e-5)
    assert len(set(one)) == len(one)


@pytest.mark.parametrize("sharding", ["replicate", "shard"])
def test_a_lost_process_ends_the_job_and_it_goes_on(sharding, tmp_path):
    whole = tmp_path / "whole"
    train(small.plain(), whole, quiet=True, device="cpu")
    folder = tmp_path / "broken"
    processes = group(2, "plain", sharding, str(folder), "new", code=SLOW + CODE)
    deadline = time.monotonic() + 200
    while not (folder / "checkpoints" / "step-000004").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    processes[1].send_signal(signal.SIGKILL)
    codes, text = ended(processes)
    assert codes == [2, -9], text
    assert "process 0 of 2 lost the others" in text
    assert "--resume" in text
    codes, text = ended(group(2, "plain", sharding, str(folder), "resume"))
    assert codes == [0, 0], text
    assert losses(folder) == pytest.approx(losses(whole), abs=1e-5)


def test_a_batch_that_cannot_be_shared(tmp_path):
    codes, text = ended(group(5, "plain", "replicate", str(tmp_path), "new"))
    assert all(codes)
    assert (
        "batch must be divisible by accumulate × processes, got batch=24, accumulate=1, processes=5" in text
    )
