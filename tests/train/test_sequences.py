"""Several processes share each sequence, and train what one process trains; a lost one ends the job."""

import time
from dataclasses import replace
from shutil import copytree

import pytest

from regard.layers import Alibi, LinearAttention, Rotary
from regard.models import GPTConfig
from regard.pattern import Causal, Global, Strided, Windowed
from regard.train import Muon, Parallelism, train
from regard.train.distributed import Team
from tests.train import small, work
from tests.train.forks import ended, group
from tests.train.same import losses, record
from tests.train.test_distributed import done, validations


def shared(context, **changes):
    return {"parallel": Parallelism(context=context), **changes}


def language(**model):
    """A task whose windows of 21 tokens do not divide among two or four."""
    sizes = {"vocab": None, "context": 21, "depth": 2, "width": 16, "heads": 4, **model}
    return replace(small.language().task, model=GPTConfig(**sizes))


GROUPED = language(kv_heads=2, position=Rotary(), pattern=(Strided(back=5), Causal()))
SPARSE = language(position=Alibi(), pattern=Windowed(6) | Strided(back=2) | Global(first=2) & Causal())


@pytest.mark.parametrize(
    ("world", "kind", "changes"),
    [
        (2, "language", shared(2, task=GROUPED)),
        (3, "language", shared(3, task=SPARSE, accumulate=2)),
        (4, "language", shared(2, task=GROUPED, sharding="shard", optimizer=Muon(), ema=0.9, steps=6)),
        (4, "language", shared(2, task=GROUPED, sharding="shard-data", ema=0.9, steps=6)),
        (4, "words", shared(2)),
        (4, "language", shared(4, sharding="shard", steps=6)),
    ],
    ids=[
        "grouped, rotary",
        "alibi, sparse",
        "shared batch, sharded weights",
        "sharded along data",
        "dialogues",
        "four",
    ],
)
def test_losses_and_scores_are_those_of_one_process(world, kind, changes, tmp_path):
    alone = {name: value for name, value in changes.items() if name in ("task", "optimizer", "ema", "steps")}
    train(getattr(small, kind)(**alone), tmp_path / "one", quiet=True, device="cpu")
    text = done(tmp_path, world, kind, str(tmp_path / "many"), False, changes)
    context = changes["parallel"].context
    assert f"{world} processes, each sequence on {context} of them" in text
    one, many = losses(tmp_path / "one"), losses(tmp_path / "many")
    assert len(one) == len(many) > 5
    assert many == pytest.approx(one, abs=1e-5)
    assert len(set(one)) == len(one)
    for a, b in zip(validations(tmp_path / "one"), validations(tmp_path / "many"), strict=True):
        for name in set(a) - {"kind", "sample"}:
            assert b[name] == pytest.approx(a[name], abs=2e-5 * max(1, a[name]))


def test_it_goes_on_with_another_number_of_processes(tmp_path):
    """Half of the run on two that share sequences, the rest on four, three or one, weights sharded or not."""
    train(small.language(task=GROUPED), tmp_path / "one", quiet=True, device="cpu")
    first = shared(2, task=GROUPED)
    codes, text = ended(
        group(tmp_path / "log", 2, work.dying, 6, "language", str(tmp_path / "part"), False, first)
    )
    assert codes == [9, 9], text
    for world, context in ((4, 4), (3, 3), (1, 1)):
        folder = copytree(tmp_path / "part", tmp_path / f"on {world}")
        text = done(folder, world, "language", str(folder), True, shared(context, task=GROUPED))
        assert f"parallel.context is {context} from here on, before it was 2" in text
        assert losses(folder) == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
        assert [row["step"] for row in record(folder)] == [row["step"] for row in record(tmp_path / "one")]


def test_a_lost_process_ends_the_job_and_it_goes_on(tmp_path):
    folder, changes = tmp_path / "broken", shared(2, task=GROUPED)
    train(small.language(task=GROUPED), tmp_path / "one", quiet=True, device="cpu")
    processes = group(tmp_path / "log", 2, work.slowly, "language", str(folder), False, changes)
    deadline = time.monotonic() + 200
    while not (folder / "checkpoints" / "step-000005").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    processes[1].kill()
    codes, text = ended(processes)
    assert codes == [2, -9], text
    assert "process 0 of 2 lost the others" in text
    assert "--resume" in text
    done(tmp_path, 2, "language", str(folder), "auto", changes)
    assert losses(folder) == pytest.approx(losses(tmp_path / "one"), abs=1e-5)


LINEAR = language(mixer=LinearAttention(), pattern=Causal())


@pytest.mark.parametrize(
    ("world", "kind", "changes", "message"),
    [
        (2, "masked", shared(2), "parallel.context=2 shares the sequences of a GPT, got a MaskedModel"),
        (2, "course", shared(2), "parallel.context=2 shares the sequences of a GPT, got a DialogueGPT"),
        (
            2,
            "language",
            shared(2, task=LINEAR),
            "parallel.context=2 needs softmax attention in every block, got LinearAttention()",
        ),
        (
            2,
            "language",
            shared(2, compile="compile"),
            "compile=compile is for whole sequences, got parallel.context=2; use --set compile=none",
        ),
        (
            2,
            "language",
            shared(2, sharding="shard-data"),
            "group: got processes=2, parallel.context=2; use --set sharding=shard",
        ),
        (
            3,
            "language",
            shared(2),
            "must be divisible by parallel.context, got processes=3, parallel.context=2; start torchrun",
        ),
        (
            4,
            "language",
            shared(2, batch=9),
            "accumulate × processes / parallel.context, got batch=9, accumulate=1, processes=4, "
            "parallel.context=2",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else None,
)
def test_what_cannot_be_shared_is_said_by_all(world, kind, changes, message, tmp_path):
    codes, text = ended(group(tmp_path / "log", world, work.run, kind, str(tmp_path / "run"), False, changes))
    assert codes == [2] * world, text
    assert text.count(message) >= world
    assert "lost the others" not in text


def test_one_process_alone(tmp_path):
    with pytest.raises(ValueError, match=r"processes=1, parallel.context=2; start torchrun"):
        train(small.language(parallel=Parallelism(context=2)), tmp_path / "run", quiet=True, device="cpu")
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match=r"parallel.context must be at least 1"):
        Parallelism(context=0)


@pytest.mark.parametrize(("world", "context"), [(2, 2), (6, 2), (6, 3)])
def test_groups_share_batches(world, context):
    found = [list(Team(rank, world, context=context).share(range(7))) for rank in range(world)]
    for rank in range(world):
        assert found[rank] == found[rank - rank % context]
    leaders = found[::context]
    assert sorted(batch for part in leaders for counts, batch in part if counts) == list(range(7))
