"""One training step: gather, augment, forward, backward, clip, optimise, average.

It runs as written, with forward and loss through torch.compile, or captured whole in one CUDA graph, which is
then replayed: the host copies a batch's numbers into fixed places and launches a single thing.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import cast

import torch
from torch import Tensor, nn

from regard.data.draws import seed_of
from regard.recording import recording
from regard.train.distributed import Team, local
from regard.train.ema import Averages
from regard.train.optimizers import Optimizer
from regard.train.recipe import Recipe
from regard.train.sequences import PartReader, Sequences
from regard.train.switches import chosen_compile, uses_bfloat16
from regard.train.task import Batch, Losses, Task

WARM_UPS = 3


class Objective(nn.Module):
    """A task's loss as a module, which can be compiled or wrapped for several processes."""

    def __init__(self, task: Task, model: nn.Module, sequences: Sequences | None = None) -> None:
        super().__init__()
        self.task, self.model, self.sequences = task, model, sequences

    def forward(self, inputs: Batch, generator: torch.Generator | None) -> Losses:
        """The sum of the losses and how many there are, of this process's part of the sequences if shared."""
        if self.sequences is None:
            return self.task.loss(self.model, inputs, generator)
        own, shard = self.task.cut(inputs, self.sequences)
        return self.task.loss(PartReader(self.model, shard), own, generator)


class Step:
    """The step of one run; after each call `row` holds (loss, norm of the gradient), on the device.

    Every process gathers and draws for the whole batch, whose rows it then shares with the others and with
    its own `accumulate` parts: what an example looks like does not depend on who takes it.
    """

    def __init__(
        self,
        task: Task,
        model: nn.Module,
        optimizer: Optimizer,
        averages: Averages | None,
        recipe: Recipe,
        team: Team,
    ) -> None:
        self.task, self.model, self.optimizer, self.averages = task, model, optimizer, averages
        self.device, how = next(model.parameters()).device, recipe.execution
        self.batch, self.parts, self.clip, self.team = recipe.batch, how.accumulate, how.clip, team
        self.bfloat16 = uses_bfloat16(how, self.device)
        fixed = getattr(task, "fixed", True)
        self.mode = chosen_compile(how, self.device, team.world, team.context, fixed=fixed)
        self.generator = torch.Generator(self.device)
        self.multiplier = torch.ones((), device=self.device)
        self.kept = torch.zeros((), device=self.device)
        self.row = torch.zeros(2, device=self.device)
        self.plain = objective = team.wrap(Objective(task, model, team.sequences))
        if self.mode != "none":
            # Fixed shapes, and no CUDA graphs of the compiler's own: ours holds the whole step.
            dynamic = False if self.mode == "graph" else None
            objective = cast(nn.Module, torch.compile(objective, dynamic=dynamic))
        self.objective = objective
        self.graph: torch.cuda.CUDAGraph | None = None
        self.place: Batch = ()

    def __call__(self, batch: Batch, *, multiplier: float, kept: float, seed: int) -> None:
        """Train on one batch, the same in all processes; everything random comes from `seed`."""
        self._seed(seed)
        self.multiplier.fill_(multiplier)
        self.kept.fill_(kept)
        if self.mode != "graph":
            self._body(batch)
            return
        if self.graph is None:
            self.capture(batch)
            self._seed(seed)
        for old, new in zip(self.place, batch, strict=True):
            old.copy_(new)
        assert self.graph is not None
        self.graph.replay()

    def autocast(self) -> AbstractContextManager[None]:
        """bfloat16 for products, where asked for."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.bfloat16 else nullcontext()

    def warm_up(self, batch: Batch) -> str | None:
        """Compile and capture ahead of the first step, without training.

        A CPU without what compiling takes (a C++ compiler, Python's headers) runs as written, which is told.
        """
        if self.mode == "graph":
            self.capture(batch)
        elif self.mode == "compile":
            from torch._dynamo.exc import BackendCompilerFailed  # which loads the compiler

            before = self._snapshot()
            self._seed(0)
            try:
                self._body(batch)
            except BackendCompilerFailed as error:
                if self.device.type != "cpu":
                    raise
                self.mode, self.objective = "none", self.plain
                why = str(error).strip().splitlines()[0]
                return f"the step is not compiled, so it takes longer, but runs: {why}"
            finally:
                self._restore(before)
        return None

    def capture(self, batch: Batch) -> None:
        """Record the whole step as one CUDA graph, and leave weights and optimiser as they were."""
        before = self._snapshot()
        self.place = tuple(tensor.clone() for tensor in batch)
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):  # lets libraries and the compiler allocate what they keep
                self._body(self.place)
        torch.cuda.current_stream(self.device).wait_stream(side)
        torch.cuda.synchronize(self.device)
        self.optimizer.zero_grad()
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        with recording(graph):
            self._body(self.place)
        torch.cuda.synchronize(self.device)
        self.graph = graph
        self._restore(before)

    def _seed(self, seed: int) -> None:
        self.generator.manual_seed(seed)
        # What a batch looks like comes from the seed, the same in all processes; dropout is each one's own.
        self.own = seed if self.team.leads else seed_of(seed, "process", self.team.rank)
        # Compiled code, and a model of one's own, take no generator and draw from the device's.
        torch.manual_seed(self.own)

    def _rows(self, inputs: Batch, part: int) -> Batch:
        """The rows of the batch that are this group's in one part, after those that come ahead of them."""
        size = self.batch // (self.parts * self.team.groups)
        if size == self.batch:
            return inputs
        first = (part * self.team.groups + self.team.group) * size
        return tuple(x[first : first + size + len(x) - self.batch] for x in inputs)

    def _body(self, batch: Batch) -> None:
        self.optimizer.zero_grad()
        sums = torch.zeros(2, device=self.device)  # of losses, of targets
        inputs = self.task.prepare(batch, self.generator)
        if not self.team.leads:
            self.generator.manual_seed(self.own)
        generator = self.generator if self.mode == "none" else None
        for i in range(self.parts):
            with self.team.gathering(self.objective, last=i == self.parts - 1):
                with self.autocast():
                    total, count = self.objective(self._rows(inputs, i), generator)
                total.backward()
            sums += torch.stack([total.detach().float(), count.detach().float()])
        self.team.sum(sums)
        norm = self._scale_gradients(self.team.world / sums[1])
        self.optimizer.step(self.multiplier)
        if self.averages is not None:
            self.averages.update(self.kept)
        self.row.copy_(torch.stack([sums[0] / sums[1], norm]))

    @torch.no_grad()
    def _scale_gradients(self, scale: Tensor) -> Tensor:
        """Turn the sum's gradients into the mean's, clip them, and give their norm before clipping."""
        grads = [weight.grad for weight in self.model.parameters() if weight.grad is not None]
        norm = self.team.norm(grads) * scale
        if self.clip is not None:
            scale = scale * (self.clip / (norm + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_([local(grad) for grad in grads], scale)
        return norm

    def _snapshot(self) -> dict[str, dict[str, Tensor]]:
        return {name: {key: x.clone() for key, x in part.items()} for name, part in self._state().items()}

    def _state(self) -> dict[str, dict[str, Tensor]]:
        weights = {key: value.detach() for key, value in self.model.state_dict().items()}
        averages = {} if self.averages is None else self.averages.tensors
        return {"model": weights, "optimizer": self.optimizer.state(), "averages": averages}

    @torch.no_grad()
    def _restore(self, before: dict[str, dict[str, Tensor]]) -> None:
        """In place, since a graph knows tensors by where they are; what was not there before was zero."""
        for name, part in self._state().items():
            for key, tensor in part.items():
                if key in before[name]:
                    tensor.copy_(before[name][key])
                else:
                    tensor.zero_()
