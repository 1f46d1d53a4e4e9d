"""The loop itself: what it computes, what it says, and how it ends when something is wrong."""

import json
import math
import os
import signal
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from regard.data.draws import generator
from regard.train import Stopped, list_runs, load_run, loop, train
from regard.train.curves import draw_curves
from regard.train.ema import share_kept
from regard.train.loop import Training
from regard.train.metrics import read_rows
from regard.train.steps import Step
from regard.train.task import TaskSetting
from tests.train import small


def rows(folder, kind="train"):
    return [row for row in read_rows(folder) if row["kind"] == kind]


@pytest.mark.parametrize("accumulate", [1, 3])
def test_against_a_loop_written_out(accumulate, tmp_path):
    """Mean loss, clipping, schedule, AdamW and averages, spelt out in plain torch."""
    recipe = small.plain(accumulate=accumulate, ema=0.5, clip=0.5, steps=6, validate_every=None)
    train(recipe, tmp_path, quiet=True, device="cpu")
    task = recipe.task.build(TaskSetting(torch.device("cpu"), recipe.seed))
    model = task.model(generator(recipe.seed, "weights"))
    averages = {name: p.detach().clone() for name, p in model.named_parameters()}
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.99), weight_decay=recipe.optimizer.decay)
    for step, row in enumerate(rows(tmp_path)):
        (at,) = task.batch(step, 24)
        x, labels = task.augment.normalise(task.learn.images[at]), task.learn.labels[at]
        loss = cross_entropy(model(x), labels, label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        lr = recipe.optimizer.lr * recipe.schedule.at((step + 0.5) / 6)
        for group in adam.param_groups:
            group["lr"] = lr
        adam.step()
        kept = share_kept(0.5, step)
        for name, p in model.named_parameters():
            averages[name] = kept * averages[name] + (1 - kept) * p.detach()
        assert row["loss"] == pytest.approx(loss.item(), abs=1e-5)
        assert row["norm"] == pytest.approx(norm.item(), rel=1e-3)
        assert row["lr"] == pytest.approx(lr)
    found = load_run(tmp_path).model.state_dict()
    for name, want in averages.items():
        torch.testing.assert_close(found[name], want, atol=1e-5, rtol=1e-4)


def test_what_a_run_leaves(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(loop, "draw_curves", draw_curves)
    result = train(small.images(steps=8), tmp_path, device="cpu")
    out = capsys.readouterr().out
    assert f"next: regard eval {tmp_path} --test" in out
    assert "training" in out
    assert "accuracy" in out
    names = {path.name for path in tmp_path.iterdir()}
    wanted = {"recipe.json", "environment.json", "metrics.jsonl", "summary.json", "model"}
    assert wanted | {"checkpoints", "curves.svg", "tensorboard"} == names
    assert json.loads((tmp_path / "summary.json").read_text())["scores"] == result.scores
    (environment,) = json.loads((tmp_path / "environment.json").read_text())
    assert environment["torch"] == torch.__version__
    assert [row["step"] for row in rows(tmp_path)] == list(range(1, 9))
    assert len(rows(tmp_path, "validation")) == 1
    assert set(result.seconds) == {"setup", "training", "validation"}
    (entry,) = list_runs(tmp_path)
    assert (entry.state, entry.steps, entry.validation) == ("finished", 8, result.scores)
    scores = load_run(tmp_path).evaluate()
    assert scores == pytest.approx(result.scores)
    load_run(tmp_path).evaluate(test=True)
    assert list_runs(tmp_path)[0].test["accuracy"] > 0


def test_the_callers_random_numbers_are_left_alone(tmp_path):
    torch.manual_seed(3)
    want = torch.rand(2)
    torch.manual_seed(3)
    train(small.images(steps=2), tmp_path, quiet=True, device="cpu")
    assert torch.equal(torch.rand(2), want)


@pytest.mark.parametrize(
    ("value", "message"), [(math.nan, "the loss is nan"), (1e4, "the loss exploded: 1e+04")]
)
def test_a_loss_that_went_wrong(value, message, tmp_path, monkeypatch):
    call = Step.__call__

    def broken(self, *parts, **more):
        call(self, *parts, **more)
        if more["seed"] == seventh:
            self.row[0] = value

    from regard.data.draws import seed_of

    seventh = seed_of(0, "step", 6, 0)
    monkeypatch.setattr(Step, "__call__", broken)
    with pytest.raises(Stopped) as error:
        train(small.images(), tmp_path, quiet=True, device="cpu")
    text = str(error.value)
    assert message in text
    assert "at step 7, batch " in text
    assert "step-000005" in text
    assert "--set optimizer.lr" in text
    task = small.images().task.build(TaskSetting(torch.device("cpu"), 0))
    assert f"batch {', '.join(map(str, task.batch(6, 16)[0][:8].tolist()))} and 8 more" in text


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_saves_and_says_how_to_go_on(kind, tmp_path, monkeypatch, capsys):
    call, calls = Step.__call__, []

    def interrupted(self, *parts, **more):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), kind)
        call(self, *parts, **more)

    monkeypatch.setattr(Step, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(small.images(), tmp_path, device="cpu")
    assert f"stopped after step 3, saved; go on with: regard train --resume --out {tmp_path}" in (
        capsys.readouterr().out
    )
    assert (tmp_path / "checkpoints" / "step-000003").exists()
    assert signal.getsignal(kind) is not Training


def test_out_of_memory_names_the_flag(tmp_path, monkeypatch):
    def full(self, *parts, **more):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Step, "__call__", full)
    with pytest.raises(Stopped, match=r"batch=16 in 1 part\(s\) does not fit memory; add --set accumulate=2"):
        train(small.images(), tmp_path, quiet=True, device="cpu")


def test_a_few_examples_are_learned_by_heart(tmp_path):
    from regard.train import AdamW

    recipe = small.images(overfit=10, steps=400, optimizer=AdamW(lr=1e-2), ema=None, validate_every=None)
    result = train(recipe, tmp_path, quiet=True, device="cpu")
    assert result.scores["accuracy"] == 1.0
    assert result.steps < 400


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compile": "graph"}, "compile=graph needs a GPU"),
        ({"task": replace(small.images().task, data="play")}, "data must be a set of images"),
    ],
)
def test_what_cannot_run(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        train(small.images(**changes), tmp_path, quiet=True, device="cpu")


def test_a_model_for_other_images(tmp_path):
    task = small.images().task
    with pytest.raises(
        ValueError, match=r"channels, rows, cols, classes are \(1, 8, 8, 10\), .* \(1, 8, 12, 10\)"
    ):
        train(
            small.images(task=replace(task, model=replace(task.model, image=(8, 12)))),
            tmp_path,
            quiet=True,
            device="cpu",
        )


def test_no_model_yet(tmp_path):
    with pytest.raises(ValueError, match="holds no run: it has neither"):
        load_run(tmp_path)
    (tmp_path / "recipe.json").write_text("{}")
    with pytest.raises(ValueError, match="has no model yet"):
        load_run(tmp_path)


def test_images_are_predicted(tmp_path):
    from PIL import Image

    train(small.images(steps=4), tmp_path / "run", quiet=True, device="cpu")
    run = load_run(tmp_path / "run")
    right, large, clear = (tmp_path / f"{name}.png" for name in ("right", "large", "clear"))
    Image.new("L", (8, 8), 100).save(right)
    Image.new("RGB", (30, 20), "red").save(large)
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(clear)
    found = run.predict([str(right), str(large), str(clear)])
    assert found[0].notice is None
    assert "30×20 pixels" in found[1].notice
    assert "clear.png" in found[2].notice
    assert sum(found[0].probabilities.values()) == pytest.approx(1, abs=1e-5)
    right.write_bytes(b"no picture at all")
    with pytest.raises(ValueError, match="is no image that can be read"):
        run.predict([str(right)])
    with pytest.raises(ValueError, match=r"nowhere\.png cannot be read"):
        run.predict(["nowhere.png"])


@pytest.mark.parametrize("staged", [False, True])
def test_a_run_that_cannot_begin_leaves_nothing(staged, tmp_path):
    """Offline, say, where its data cannot be downloaded."""
    recipe = small.texts()
    recipe = replace(recipe, task=replace(recipe.task, data="imdb"))
    if staged:
        recipe = replace(small.texts(), before=recipe)
    (tmp_path / "data" / "aclImdb").mkdir(parents=True)  # there only in part
    for folder in (tmp_path / "new" / "deep", tmp_path / "old"):
        with pytest.raises(ValueError, match="imdb is there only in part"):
            train(recipe, folder, data_dir=tmp_path / "data", quiet=True)
        (tmp_path / "old").mkdir(exist_ok=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "old"]
    assert not list((tmp_path / "old").iterdir())


def test_what_was_there_before_stays(tmp_path):
    recipe = small.texts()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "data" / "aclImdb").mkdir(parents=True)
    with pytest.raises(ValueError, match="imdb is there only in part"):
        train(replace(recipe, task=replace(recipe.task, data="imdb")), tmp_path, data_dir=tmp_path / "data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "notes.txt"]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")  # torch's own
def test_a_machine_that_cannot_compile_trains_as_written(tmp_path, monkeypatch, capsys):
    from torch._inductor import config

    monkeypatch.setattr(config.cpp, "cxx", (None, "no-such-compiler"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    torch._dynamo.reset()
    how = {"steps": 3, "compile": "compile"}
    found = train(small.images(**how), tmp_path / "compiled", device="cpu")
    out = capsys.readouterr().out
    assert "compiling the step" in out
    assert "the step is not compiled, so it takes longer, but runs: InvalidCxxCompiler" in out
    want = train(small.images(**how | {"compile": "none"}), tmp_path / "written", device="cpu")
    assert found.scores == want.scores


def test_validations_come_evenly_over_a_run(tmp_path):
    train(small.images(steps=40, validate_every=None, validations=4, read_every=5), tmp_path, device="cpu")
    assert [row["step"] for row in rows(tmp_path, "validation")] == [10, 20, 30, 40]


def test_a_run_limited_by_time_validates_once_at_its_end(tmp_path):
    recipe = small.images(steps=None, minutes=0.02, validate_every=None, validations=4)
    result = train(recipe, tmp_path, device="cpu")
    steps = [row["step"] for row in rows(tmp_path, "validation")]
    assert 1 <= len(steps) <= 5  # one read may pass several of the marks
    assert steps.count(result.steps) == 1
    assert sum(step > 0.9 * result.steps for step in steps) == 1
