"""The training loop: one for all tasks, on one device or many, that goes on exactly where it was stopped."""

from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import indent

import torch
from torch import Tensor

from regard.data.draws import generator, seed_of
from regard.files import write_json
from regard.paper.pages import numbers
from regard.paper.quantities import number
from regard.train import saving, telling
from regard.train.beginning import take
from regard.train.checkpoint import numbered
from regard.train.curves import draw_curves
from regard.train.distributed import Team, whole_weights
from regard.train.ema import Averages, share_kept
from regard.train.folder import CHECKPOINTS, SUMMARY, keep_model
from regard.train.hardware import peak, training_flops
from regard.train.metrics import Metrics, keep_record, read_rows
from regard.train.pace import Pace, Stopwatch, due
from regard.train.progress import Progress
from regard.train.recipe import Recipe
from regard.train.steps import Step
from regard.train.stopping import Interrupt, Interrupted, Stopped, Watch, diverged, how_to_go_on
from regard.train.switches import uses_bfloat16
from regard.train.task import Batch, Task, TaskSetting
from regard.values import Json

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

    def as_dict(self) -> Json:
        """Steps, scores and seconds, as JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the scores, and the curves where they were drawn."""
        rows = [
            ("run", self.folder),
            ("recipe", self.recipe),
            ("best step", f"{self.best_step:,} of {self.steps:,}"),
        ]
        rows += [(name, number(value)) for name, value in self.scores.items()]
        rows += [(f"seconds of {name}", number(value)) for name, value in self.seconds.items()]
        curves = Path(self.folder) / "curves.svg"
        return numbers(rows) + (curves.read_text(encoding="utf-8") if curves.exists() else "")


class Training:
    """One run in this process; `known` is its recipe as written down, without the folder of a first stage."""

    def __init__(
        self, recipe: Recipe, known: Recipe, folder: Path, setting: TaskSetting, team: Team, bar: Progress
    ) -> None:
        self.recipe, self.known, self.folder, self.team, self.bar = recipe, known, folder, team, bar
        self.device = device = setting.device
        self.clock = Stopwatch()
        self.clock.turn("setup")
        self.task: Task = team.together(lambda: recipe.task.build(setting))
        model = self.task.model(generator(recipe.seed, "weights"))
        self.taken: Json | None = None
        if setting.begin is not None and setting.begin.model is not None:
            self.taken = take(setting.begin, model, self.task)
        self.parameters = sum(weight.numel() for weight in model.parameters())
        self.team = team = team.sharing(model, device)
        self.model = team.place(model, device).train()
        self.optimizer = recipe.optimizer.build(self.model)
        self.averages = None if recipe.checks.ema is None else Averages(self.model)
        seconds = None if recipe.minutes is None else 60.0 * recipe.minutes
        self.pace = Pace(recipe.steps_for(self.task.examples), seconds)
        self.watch, self.interrupt = Watch(), Interrupt()
        self.done, self.validated, self.saved = 0, -1, (-1, -1)
        self.rows: list[tuple[Tensor, float]] = []
        self.best: Json | None = None
        self.memorised, self.leaving, self.looks, self.speed = False, False, False, 0.0
        self.metrics: Metrics | None = None
        self.step: Step | None = None
        config = getattr(model, "config", None)
        tokens = self.task.per_example if self.task.unit == "tokens" else None
        self.peak = peak(device, uses_bfloat16(recipe.execution, device))
        self.flops = None if self.peak is None else training_flops(config, tokens)

    def run(self) -> Result:
        """Train to the end, or until told to stop."""
        recipe = self.recipe
        # After a checkpoint was taken up: what is compiled and wrapped knows tensors by their place.
        self.step = Step(self.task, self.model, self.optimizer, self.averages, recipe, self.team)
        self.bar.say(telling.opening(self))
        try:
            self.team.led(self._open_record)
            if self.step.mode != "none":
                self.bar.say(telling.COMPILING)
            if (said := self.step.warm_up(self._batch(self.done))) is not None:
                self.bar.warn(said)
            self.clock.turn("training")
            with self.interrupt.listening():
                while not self.over():
                    self._one()
                    if self.over() or self._validates():
                        self._validate()
                    if self.over() or self.done % recipe.checks.save_every == 0:
                        saving.save(self, last=self.over())
                    if self.leaving or (self.interrupt.asked and self.team.world == 1):
                        self._leave()
                if self.validated != self.done:
                    self._validate()
                saving.save(self, last=True)
            return self._finish()
        finally:
            self.clock.turn(None)
            if self.metrics is not None:
                with suppress(OSError):  # rows that found no room belong to steps that will be taken again
                    self.metrics.close()

    def _open_record(self) -> None:
        """The record from here on; one of a run whose checkpoints are gone is kept beside it."""
        last = max((row["step"] for row in read_rows(self.folder)), default=0)
        if self.done == 0 and last > self.recipe.checks.save_every:
            kept = keep_record(self.folder)
            self.bar.warn(f"there is a record of {last:,} steps and no checkpoint: it is kept as {kept.name}")
        self.metrics = Metrics(self.folder, self.done, self.validated)

    def over(self) -> bool:
        """Whether there is nothing more to train."""
        return self.memorised or self.pace.over(self.done)

    def _validates(self) -> bool:
        checks = self.recipe.checks
        every = checks.validate_every or (MEMORISING if checks.overfit else None)
        return self.looks or (every is not None and self.done % every == 0)

    def _one(self) -> None:
        """One step, its learning rate and its chance from the step's number."""
        recipe, step = self.recipe, self.done
        assert self.step is not None
        multiplier = recipe.schedule.at(self.pace.middle(step))
        kept = 0.0 if recipe.checks.ema is None else share_kept(recipe.checks.ema, step)
        seed = seed_of(recipe.seed, "step", step, 0)
        self.step(self._batch(step), multiplier=multiplier, kept=kept, seed=seed)
        self.rows.append((self.step.row.clone(), multiplier))
        self.done += 1
        # What seems to be over by the last reading may not be: only the clock knows.
        if due(self.done, recipe.checks.read_every) or self.over():
            self.read()

    def _batch(self, step: int) -> Batch:
        return self.task.batch(step, self.recipe.batch)

    def read(self) -> None:
        """Wait for the device, judge and record the steps since the last reading, and look at the clock."""
        if not self.rows:
            return
        values = torch.stack([row for row, _ in self.rows]).tolist()
        first = self.done - len(values)
        used = self.clock.read("training")
        if self.metrics is not None:
            used = self.metrics.replayed.get(self.done, used)
        told = self.team.gathered((used, self.interrupt.asked))
        used, self.leaving = told[0][0], any(asked for _, asked in told) and self.team.world > 1
        self.clock.seconds["training"] = used
        for i, ((loss, norm), (_, multiplier)) in enumerate(zip(values, self.rows, strict=True)):
            if fault := self.watch.fault(loss, norm):
                raise self._diverged(first + i, fault)
            if self.metrics is not None:
                clock = {"seconds": used} if first + i + 1 == self.done else {}
                lr = self.recipe.optimizer.lr * multiplier
                self.metrics.add("train", first + i + 1, loss=loss, lr=lr, norm=norm, **clock)
        self._record()
        since = used - self.pace.used
        if since > 0 and self.done > self.pace.step:
            self.speed = (self.done - self.pace.step) * self.recipe.batch / since
        begun, many = self.pace.share(self.pace.step), self.recipe.checks.validations
        self.pace.mark(self.done, used)
        self.looks |= many is not None and int(many * begun) < int(many * self.pace.share(self.done))
        self.rows = []
        self.bar.show(min(1.0, self.pace.share(self.done)), telling.parts(self, values[-1][0]))

    def _record(self) -> None:
        """Write the rows that wait; a full disk makes them wait longer, and the run goes on."""
        try:
            if self.metrics is not None:
                self.metrics.flush()
        except OSError as error:
            self.bar.say(f"step {self.done:,}: the record waits: {error}")

    def _validate(self) -> None:
        """Score the model (its averages, where there are some), show what it does, keep it if it is best."""
        self.read()
        self.looks = False
        assert self.step is not None
        self.clock.turn("validation")
        swapped = nullcontext() if self.averages is None else self.averages.swapped()
        self.model.eval()
        with swapped, self.step.autocast():
            scores = self.task.validate(self.model, self.team)
            score = next(iter(scores.values()))
            sign = 1 if self.task.better == "max" else -1
            best = self.best is None or sign * score > sign * next(iter(self.best["scores"].values()))
            whole = self._whole() if best else self.model
            shown = self.team.led(lambda: self._shown(whole if best else None, scores))
        self.model.train()
        if best:
            self.best = {"step": self.done, "scores": scores}
        self.validated = self.done
        if self.metrics is not None:
            self.metrics.add("validation", self.done, **scores, sample=shown)
        self._record()
        listed = "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
        self.bar.say(f"step {self.done:,}: {listed}\n{indent(shown, ' ' * 4, lambda _: True)}")
        self.memorised = self.recipe.checks.overfit is not None and self.task.memorised(scores)
        self.clock.turn("training")

    def _shown(self, best: torch.nn.Module | None, scores: dict[str, float]) -> str:
        """Keep the model if it is the best, and give a sample of what it does; sharded ones cannot sample."""
        if best is not None:
            try:
                keep_model(self.folder, self.task, best, self.done, scores)
            except OSError as error:
                raise Stopped(
                    f"the best model could not be kept: {error}; make room, then {how_to_go_on(self.folder)}"
                ) from error
        return "" if self.team.shards else self.task.show(self.model)

    def _whole(self) -> torch.nn.Module:
        """The model with all its weights in this process."""
        if not self.team.shards:
            return self.model
        whole = self.task.model(generator(self.recipe.seed, "weights"))
        whole.load_state_dict(whole_weights(self.model))
        return whole

    def _diverged(self, step: int, fault: str) -> Stopped:
        indices = [int(i) for i in self._batch(step)[0].flatten().tolist()]
        good = numbered(self.folder / CHECKPOINTS)
        return diverged(fault, step + 1, indices, self.folder, good, self.recipe.optimizer.lr)

    def _leave(self) -> None:
        saving.save(self, last=True)
        said = f"stopped after step {self.done:,}, saved; go on with: {how_to_go_on(self.folder)}"
        self.bar.say(said)
        raise Interrupted(said)

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
        self.team.led(lambda: self._summed_up(result))
        self.bar.say(telling.closing(self, result))
        return result

    def _summed_up(self, result: Result) -> None:
        try:
            if self.metrics is not None:
                self.metrics.flush(hard=True)
            write_json(self.folder / SUMMARY, result.as_dict())
            draw_curves(self.folder)
        except OSError as error:
            raise Stopped(
                f"the run is trained, but not summed up: {error}; make room, then {how_to_go_on(self.folder)}"
            ) from error
