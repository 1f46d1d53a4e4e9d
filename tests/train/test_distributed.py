"""Several processes train what one process trains; a lost one ends the job, and it goes on from there."""

import json
import time
from dataclasses import replace
from shutil import copytree

import pytest
import torch

from regard.train import train
from regard.train.distributed import Team
from regard.train.metrics import read_rows
from regard.train.task import TaskSetting
from tests.train import small, work
from tests.train.forks import ended, fork, group
from tests.train.same import assert_same_run, losses, record

SURE = replace(small.texts().task.model, dropout=0.0)


def done(tmp_path, world, *words, task=work.run):
    codes, text = ended(group(tmp_path / "log", world, task, *words))
    assert codes == [0] * world, text
    return text


def validations(folder):
    return [row for row in read_rows(folder) if row["kind"] == "validation"]


@pytest.mark.parametrize(
    ("world", "kind", "changes"),
    [
        (2, "changed", {}),
        (3, "words", {}),
        (2, "course", {}),
        (2, "muon", {"sharding": "shard", "accumulate": 3}),
        (2, "texts", {"task": replace(small.texts().task, hide=0.3, model=SURE)}),
        (2, "masked", {"sharding": "shard"}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_the_same_batch_gives_the_same_losses_and_scores(world, kind, changes, tmp_path):
    whole = {name: value for name, value in changes.items() if name == "task"}
    train(getattr(small, kind)(**whole), tmp_path / "one", quiet=True, device="cpu")
    done(tmp_path, world, kind, str(tmp_path / "many"), False, changes)
    one, many = losses(tmp_path / "one"), losses(tmp_path / "many")
    assert len(one) == len(many) > 5
    assert many == pytest.approx(one, abs=1e-5)
    assert len(set(one)) == len(one)
    for a, b in zip(validations(tmp_path / "one"), validations(tmp_path / "many"), strict=True):
        for name in set(a) - {"kind", "sample"}:
            assert b[name] == pytest.approx(a[name], abs=2e-5 * max(1, a[name]))


def test_parts_of_a_batch_are_the_batch(tmp_path):
    """Moved and mixed pictures, hidden words: the same in one part and in several."""
    for kind in ("changed", "words"):
        for parts in (1, 4):
            folder = tmp_path / f"{kind}-{parts}"
            train(getattr(small, kind)(accumulate=parts), folder, quiet=True, device="cpu")
        one, other = (losses(tmp_path / f"{kind}-{parts}") for parts in (1, 4))
        assert other == pytest.approx(one, abs=1e-5)


def scored(kind, folder):
    """One process's share of a validation, by a model that all make alike."""
    from regard.train.distributed import join

    device = torch.device("cpu")
    task = getattr(small, kind)().task.build(TaskSetting(device, 0))
    torch.manual_seed(0)
    model = task.model(torch.Generator().manual_seed(0)).eval()
    team = join(device, "replicate")
    with open(f"{folder}/{kind}-{team.rank}.json", "w", encoding="utf-8") as file:
        json.dump(task.validate(model, team), file)
    team.leave()


@pytest.mark.parametrize("kind", ["images", "language", "words", "texts", "masked", "completion"])
def test_a_validation_that_is_shared_out_is_the_whole_one(kind, tmp_path):
    done(tmp_path, 2, kind, str(tmp_path), task=scored)
    fork(tmp_path / "alone", scored, kind, str(tmp_path / "..")).ended()
    a, b = (json.loads((tmp_path / f"{kind}-{rank}.json").read_text()) for rank in (0, 1))
    one = json.loads((tmp_path / ".." / f"{kind}-0.json").read_text())
    assert a == b
    assert a == pytest.approx(one, rel=1e-6)
    assert a.get("accuracy") == one.get("accuracy")


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_batches_are_shared_out_once_each_and_evenly(world):
    found = [list(Team(rank, world).share(range(7))) for rank in range(world)]
    assert sorted(batch for part in found for counts, batch in part if counts) == list(range(7))
    assert len({len(part) for part in found}) == 1
    assert list(Team(0, world).share([])) == []


@pytest.mark.parametrize("kind", ["changed", "muon"])
def test_sharded_weights_and_what_an_optimiser_remembers_come_back(kind, tmp_path):
    """Bit by bit with as many processes, and to 1e-5 with another number of them."""
    changes = {"sharding": "shard", "ema": 0.9, "steps": 7, "save_every": 2, "validate_every": 3}
    done(tmp_path, 2, kind, str(tmp_path / "whole"), False, changes)
    codes, text = ended(
        group(tmp_path / "log", 2, work.dying, 5, kind, str(tmp_path / "part"), False, changes)
    )
    assert codes == [9, 9], text
    for resumed in (2, 1) if kind == "changed" else (2, 3):
        folder = copytree(tmp_path / "part", tmp_path / str(resumed))
        if resumed == 2 and kind == "changed":  # the newest is damaged, and the one before it is used
            shard = folder / "checkpoints" / "step-000004" / "shards" / "__1_0.distcp"
            shard.write_bytes(shard.read_bytes()[:-1] + b"x")
        text = done(tmp_path / str(resumed), resumed, kind, str(folder), True, changes)
        assert ("__1_0.distcp is damaged" in text) == (resumed == 2 and kind == "changed")
        if resumed == 2:
            assert_same_run(tmp_path / "whole", folder)
        assert losses(folder) == pytest.approx(losses(tmp_path / "whole"), abs=1e-5)


def test_one_process_goes_on_as_two_with_shards(tmp_path):
    changes = {"sharding": "shard", "ema": 0.9, "steps": 7, "save_every": 2}
    done(tmp_path, 2, "muon", str(tmp_path / "whole"), False, changes)
    assert (
        fork(tmp_path / "log", work.dying, 5, "muon", str(tmp_path / "part"), False, changes).ended()[0] == 9
    )
    done(tmp_path, 2, "muon", str(tmp_path / "part"), True, changes)
    assert losses(tmp_path / "part") == pytest.approx(losses(tmp_path / "whole"), abs=1e-5)


@pytest.mark.parametrize("sharding", ["replicate", "shard"])
def test_a_lost_process_ends_the_job_and_it_goes_on(sharding, tmp_path):
    whole, folder, changes = tmp_path / "whole", tmp_path / "broken", {"sharding": sharding}
    train(small.plain(), whole, quiet=True, device="cpu")
    processes = group(tmp_path / "log", 2, work.slowly, "plain", str(folder), False, changes)
    deadline = time.monotonic() + 200
    while not (folder / "checkpoints" / "step-000004").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    processes[1].kill()
    codes, text = ended(processes)
    assert codes == [2, -9], text
    assert "process 0 of 2 lost the others" in text
    assert "--resume" in text
    done(tmp_path, 2, "plain", str(folder), "auto", changes)
    assert losses(folder) == pytest.approx(losses(whole), abs=1e-5)


@pytest.mark.parametrize("after", [7, 6])
def test_a_stop_at_a_validation_loses_none(after, tmp_path):
    """The step of a validation, and one whose reading comes with it."""
    done(tmp_path, 2, "plain", str(tmp_path / "whole"))
    folder = tmp_path / "stopped"
    codes, text = ended(group(tmp_path / "log", 2, work.stopped, after, "plain", str(folder)))
    assert codes == [130, 130], text
    assert "stopped after step 8, saved" in text
    assert [row["step"] for row in validations(folder)] == [8]
    done(tmp_path, 2, "plain", str(folder), True)
    assert_same_run(tmp_path / "whole", folder)


def test_two_stages(tmp_path):
    train(small.two_stages(), tmp_path / "one", quiet=True, device="cpu")
    done(tmp_path, 2, "two_stages", str(tmp_path / "many"))
    assert losses(tmp_path / "many" / "before") == pytest.approx(
        losses(tmp_path / "one" / "before"), abs=1e-5
    )
    assert [row["step"] for row in record(tmp_path / "many")] == [
        row["step"] for row in record(tmp_path / "one")
    ]


def test_the_leaders_fault_is_told_to_all(tmp_path):
    done(tmp_path, 2, "plain", str(tmp_path / "run"), False, {"steps": 4})
    codes, text = ended(
        group(tmp_path / "again", 2, work.run, "plain", str(tmp_path / "run"), False, {"steps": 4})
    )
    assert codes == [2, 2]
    assert text.count("holds a run already; add --resume") == 2
    assert "lost the others" not in text


def test_a_batch_that_cannot_be_shared(tmp_path):
    codes, text = ended(group(tmp_path / "log", 5, work.run, "plain", str(tmp_path / "run")))
    assert codes == [2] * 5
    assert (
        "batch must be divisible by accumulate × processes, got batch=24, accumulate=1, processes=5" in text
    )
    assert not (tmp_path / "run").exists()
