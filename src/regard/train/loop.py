"""The training loop: one for all tasks, on one device or many, that goes on exactly where it was stopped."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.data.draws import generator, seed_of
from regard.train import checkpoint, distributed
from regard.train.curves import draw_curves
from regard.train.ema import Averages, share_kept
from regard.train.environment import environment
from regard.train.faults import Interrupt, Stopped, Watch, how_to_go_on, numbers, out_of_memory
from regard.train.folder import CHECKPOINTS, ENVIRONMENT, MODEL, SUMMARY, begin, keep_model
from regard.train.hardware import peak, training_flops
from regard.train.metrics import Metrics
from regard.train.pace import Pace, Stopwatch, due
from regard.train.progress import duration, progress, rate
from regard.train.recipe import Recipe
from regard.train.steps import Batch, Step
from regard.train.switches import chosen_compile, chosen_device, switched, uses_bfloat16
from regard.train.task import Setting, Task

MEMORISING = 25  # steps between two looks at whether a few examples are known by heart


@dataclass(frozen=True)
class Result:
    """What a run came to: its best validation scores, and seconds of training, validation and setup."""

    folder: str
    recipe: str
    steps: int
    best_step: int
    scores: dict[str, float]
    seconds: dict[str, float]
    examples_per_second: float
    parameters: int

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return asdict(self)


def train(
    recipe: Recipe,
    folder: str | Path,
    *,
    device: str | torch.device | None = None,
    resume: bool = False,
    data_dir: str | Path | None = None,
    quiet: bool = False,
) -> Result:
    """Train by a recipe in a folder of its own; with `resume`, go on from its last checkpoint."""
    folder, place = Path(folder), chosen_device(device)
    data = None if data_dir is None else Path(data_dir)
    team = distributed.join(place, recipe.sharding)
    try:
        if team.leads:
            begin(folder, recipe, resume)
        team.wait()
        if recipe.before is not None:
            recipe = _after(recipe, folder, device=device, resume=resume, data_dir=data_dir, quiet=quiet)
        with switched(recipe, place):
            return Training(recipe, folder, place, team, resume, data, quiet or not team.leads).run()
    except torch.OutOfMemoryError as error:
        raise out_of_memory(place, recipe.batch, recipe.accumulate) from error
    except RuntimeError as error:
        if "can't allocate memory" in str(error):
            raise out_of_memory(place, recipe.batch, recipe.accumulate) from error
        if team.world > 1 and distributed.lost(error):
            first = str(error).splitlines()[0]
            raise Stopped(
                f"process {team.rank} of {team.world} lost the others ({first}); start all of them again "
                f"with --resume --out {folder} to go on from the last checkpoint"
            ) from error
        raise
    finally:
        team.leave()


def _after(recipe: Recipe, folder: Path, *, resume: bool, **how: Any) -> Recipe:
    """Train what comes first, unless that is done; then this recipe starts from its model."""
    assert recipe.before is not None
    first = folder / "before"
    if not (first / SUMMARY).exists():
        train(recipe.before, first, resume=resume and (first / "recipe.json").exists(), **how)
    return replace(recipe, before=None, task=replace(recipe.task, start=str(first / MODEL)))


class Training:
    """One run in this process."""

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        device: torch.device,
        team: distributed.Team,
        resume: bool,
        data_dir: Path | None,
        quiet: bool,
    ) -> None:
        self.recipe, self.folder, self.device, self.team = recipe, folder, device, team
        parts = recipe.accumulate * team.world
        if recipe.batch % parts:
            raise ValueError(
                f"batch must be divisible by accumulate × processes, got batch={recipe.batch}, "
                f"accumulate={recipe.accumulate}, processes={team.world}"
            )
        self.part = recipe.batch // parts
        self.clock = Stopwatch()
        self.clock.turn("setup")
        self.bar = progress(recipe.name, quiet=quiet)
        self.task: Task = recipe.task.build(Setting(device, recipe.seed, data_dir, recipe.overfit))
        model = self.task.model(generator(recipe.seed, "weights"))
        self.parameters = sum(weight.numel() for weight in model.parameters())
        self.model = team.place(model, device).train()
        self.optimizer = recipe.optimizer.build(self.model)
        self.averages = None if recipe.ema is None else Averages(self.model)
        seconds = None if recipe.minutes is None else 60.0 * recipe.minutes
        self.pace = Pace(recipe.steps_for(self.task.examples), seconds)
        self.watch, self.interrupt = Watch(), Interrupt()
        self.done, self.saved, self.validated = 0, -1, -1
        self.rows: list[tuple[Tensor, float]] = []
        self.best: dict[str, Any] | None = None
        self.memorised, self.speed = False, 0.0
        if resume:
            self._restore()
        self.step = Step(
            self.task,
            self.model,
            self.optimizer,
            self.averages,
            clip=recipe.clip,
            bfloat16=uses_bfloat16(recipe, device),
            compile=chosen_compile(recipe, device, team.world),
            team=team,
        )
        self.peak = peak(device, self.step.bfloat16)
        tokens = self.task.per_example if self.task.unit == "tokens" else None
        config = getattr(model, "config", None)
        self.flops = None if self.peak is None else training_flops(config, tokens)
        self.metrics = Metrics(folder, self.done) if team.leads else None

    def run(self) -> Result:
        """Train to the end, or until told to stop."""
        recipe = self.recipe
        if self.team.leads:
            checkpoint.write_json(environment(self.device, self.team.world), self.folder / ENVIRONMENT)
        self.bar.say(self._opening())
        try:
            self.step.warm_up(self._batch(self.done))
            self.clock.turn("training")
            with self.interrupt.listening():
                while not self.pace.over(self.done) and not self.memorised:
                    self._one()
                    every = MEMORISING if recipe.overfit and recipe.validate_every is None else None
                    if _divides(every or recipe.validate_every, self.done):
                        self._validate()
                    if self.done % recipe.save_every == 0:
                        self._save()
                    if self.interrupt.asked and self.team.world == 1:
                        self._leave()
                if self.rows:
                    self._read()
                if self.validated != self.done:
                    self._validate()
                self._save(last=True)
            return self._finish()
        finally:
            self.clock.turn(None)
            self.bar.close()
            if self.metrics is not None:
                self.metrics.close()

    def _one(self) -> None:
        """One step, its learning rate and its chance from the step's number."""
        recipe, step = self.recipe, self.done
        multiplier = recipe.schedule.at(self.pace.middle(step))
        kept = 0.0 if recipe.ema is None else share_kept(recipe.ema, step)
        seed = seed_of(recipe.seed, "step", step, self.team.rank)
        self.step(self._batch(step), multiplier=multiplier, kept=kept, seed=seed)
        self.rows.append((self.step.row.clone(), multiplier))
        self.done += 1
        if due(self.done, recipe.read_every):
            self._read()

    def _batch(self, step: int) -> list[Batch]:
        """The parts of a step's batch that are this process's."""
        first = step * self.recipe.accumulate
        return [
            self.task.batch(first + i, self.team.rank, self.team.world, self.part)
            for i in range(self.recipe.accumulate)
        ]

    def _read(self) -> None:
        """Wait for the device, judge and record the steps since the last reading, and look at the clock."""
        values = torch.stack([row for row, _ in self.rows]).tolist()
        first = self.done - len(values)
        used = self.clock.read("training")
        if self.metrics is not None:
            used = self.metrics.replayed.get(self.done, used)
        used = self.team.agree(used)
        self.clock.seconds["training"] = used
        for i, ((loss, norm), (_, multiplier)) in enumerate(zip(values, self.rows, strict=True)):
            if fault := self.watch.fault(loss, norm):
                raise self._diverged(first + i, fault)
            if self.metrics is not None:
                clock = {"seconds": used} if first + i + 1 == self.done else {}
                lr = self.recipe.optimizer.lr * multiplier
                self.metrics.add("train", first + i + 1, loss=loss, lr=lr, norm=norm, **clock)
        if self.metrics is not None:
            self.metrics.flush()
        since = used - self.pace.used
        if since > 0 and self.done > self.pace.step:
            self.speed = (self.done - self.pace.step) * self.recipe.batch / since
        self.pace.mark(self.done, used)
        self.rows = []
        self.bar.show(min(1.0, self.pace.share(self.done)), self._parts(values[-1][0]))
        if self.team.world > 1 and self.team.any(self.interrupt.asked):
            self._leave()

    def _validate(self) -> None:
        """Score the model (its averages, where there are some), show what it does, keep it if it is best."""
        if self.rows:
            self._read()
        self.clock.turn("validation")
        swapped = nullcontext() if self.averages is None else self.averages.swapped()
        self.model.eval()
        with swapped, self.step.autocast():
            scores = self.task.validate(self.model)
            shown = "" if self.team.shards or not self.team.leads else self.task.show(self.model)
            score = next(iter(scores.values()))
            sign = 1 if self.task.better == "max" else -1
            if self.best is None or sign * score > sign * next(iter(self.best["scores"].values())):
                self.best = {"step": self.done, "scores": scores}
                model = self._whole()
                if self.team.leads:
                    keep_model(self.folder, self.task, model, self.done, scores)
        self.model.train()
        self.validated = self.done
        if self.metrics is not None:
            self.metrics.add("validation", self.done, **scores, sample=shown)
        listed = "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
        self.bar.say(f"step {self.done:,}: {listed}\n{_indented(shown)}")
        self.memorised = self.recipe.overfit is not None and self.task.memorised(scores)
        self.clock.turn("training")

    def _whole(self) -> torch.nn.Module:
        """The model with all its weights in this process."""
        if not self.team.shards:
            return self.model
        whole = self.task.model(generator(self.recipe.seed, "weights"))
        whole.load_state_dict(distributed.whole_weights(self.model))
        return whole

    def _save(self, last: bool = False) -> None:
        """Write a checkpoint; a full disk costs this one and not the run."""
        if self.saved == self.done:
            return
        if self.rows:
            self._read()
        self.clock.turn("validation")
        state = {
            "seconds": {name: value for name, value in self.clock.seconds.items() if name != "setup"},
            "pace": {"step": self.pace.step, "used": self.pace.used},
            "best": self.best,
            "start": self.watch.start,
            "world": self.team.world,
        }
        tensors = self._tensors()
        try:
            if self.metrics is not None:
                self.metrics.flush(hard=True)
            distributed.write_together(
                self.team, self.folder / CHECKPOINTS, self.done, tensors, state, keep=self.recipe.keep
            )
            self.saved = self.done
        except OSError as error:
            if last:
                raise Stopped(f"the last checkpoint could not be written: {error}") from error
            self.bar.say(f"step {self.done:,}: no checkpoint, the one before stays: {error}")
        self.clock.turn("training")

    def _tensors(self) -> dict[str, dict[str, Tensor]]:
        found = {"model": dict(self.model.state_dict()), "optimizer": self.optimizer.state()}
        return found if self.averages is None else {**found, "averages": self.averages.tensors}

    def _restore(self) -> None:
        """Take up the last good checkpoint; without one, begin at the beginning."""
        found, faults = checkpoint.last_good(self.folder / CHECKPOINTS)
        for fault in faults:
            self.bar.say(f"passed over: {fault}")
        if found is None:
            return
        if self.team.shards or (found.path / distributed.SHARDS).exists():
            distributed.read_together(found.path, self.team, self._tensors(), self.optimizer, self.model)
        else:
            self.model.load_state_dict(found.tensors["model"])
            self.optimizer.load(found.tensors["optimizer"])
            for name, tensor in ({} if self.averages is None else self.averages.tensors).items():
                tensor.copy_(found.tensors["averages"][name])
        self.done = self.saved = found.step
        self.pace.mark(**found.state["pace"])
        self.best, self.watch.start = found.state["best"], found.state["start"]
        self.clock.seconds.update(found.state["seconds"])
        self.bar.say(f"going on after step {self.done:,}")

    def _diverged(self, step: int, fault: str) -> Stopped:
        good = checkpoint.numbered(self.folder / CHECKPOINTS)
        where = f"the last good checkpoint is {good[0]}" if good else "there is no checkpoint yet"
        indices = [int(i) for part in self._batch(step) for i in part[0].flatten().tolist()]
        return Stopped(
            f"{fault} at step {step + 1:,}, batch {numbers(indices)}; {where}; "
            f"a lower --set optimizer.lr or a longer warm-up usually helps"
        )

    def _leave(self) -> None:
        self._save(last=True)
        self.bar.say(f"stopped after step {self.done:,}, saved; go on with: {how_to_go_on(self.folder)}")
        raise KeyboardInterrupt

    def _finish(self) -> Result:
        self.clock.turn(None)
        assert self.best is not None
        seconds = dict(self.clock.seconds)
        speed = self.done * self.recipe.batch / max(seconds.get("training", 0.0), 1e-9)
        result = Result(
            str(self.folder),
            self.recipe.name,
            self.done,
            self.best["step"],
            self.best["scores"],
            seconds,
            speed,
            self.parameters,
        )
        if self.team.leads:
            assert self.metrics is not None
            self.metrics.flush()
            checkpoint.write_json(result.as_dict(), self.folder / SUMMARY)
            draw_curves(self.folder)
        self.bar.say(self._closing(result))
        return result

    def _opening(self) -> str:
        where = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "CPU"
        team = "" if self.team.world == 1 else f", {self.team.world} processes"
        return (
            f"{self.recipe.name}: {self.parameters:,} parameters, {self.task.examples:,} examples, "
            f"batch {self.recipe.batch:,}, on {where}{team}, in {self.folder}"
        )

    def _parts(self, loss: float) -> dict[str, str]:
        left = self.pace.left(self.done)
        parts = {"step": f"{self.done:,}", "loss": f"{loss:.4f}"}
        if self.best is not None:
            name, score = next(iter(self.best["scores"].items()))
            parts[f"best {name}"] = f"{score:.4f}"
        parts["at"] = rate(self.speed * self.task.per_example, self.task.unit)
        if (share := self._share_of_peak()) is not None:
            parts["of peak"] = f"{share:.0%}"
        return parts if left is None else {**parts, "left": duration(left)}

    def _share_of_peak(self) -> float | None:
        """The exact operations per second over what the device can do, where both are known."""
        if self.peak is None or self.flops is None:
            return None
        return self.flops * self.speed / (self.peak * self.team.world)

    def _closing(self, result: Result) -> str:
        scores = "  ".join(f"{name} {value:.4f}" for name, value in result.scores.items())
        times = ", ".join(f"{name} {duration(value)}" for name, value in result.seconds.items())
        speed = rate(result.examples_per_second * self.task.per_example, self.task.unit)
        return (
            f"best at step {result.best_step:,} of {result.steps:,}: {scores}\n"
            f"{times}; {speed}\nnext: regard eval {self.folder} --test"
        )


def _divides(every: int | None, step: int) -> bool:
    return every is not None and step % every == 0


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
