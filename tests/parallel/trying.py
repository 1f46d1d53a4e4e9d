"""Random calls of attention over ranks, what one process makes of them, and what is compared."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.attention import DistanceBias, attend
from regard.attention.problem import Attended
from regard.parallel import Ranks, SimulatedRanks
from regard.parallel.attend import asked_of
from regard.parallel.halves import Begun, begin, end
from regard.pattern import Causal, Exchange, Pattern
from tests.hunt.attending import a_pattern

NEAR = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 3e-2}  # times the largest number compared
DEALS = ("auto", "even", "zigzag", "pairs", "given")


@dataclass
class Case:
    """A whole problem, and the plan by which it is dealt out."""

    plan: Exchange
    query: Tensor
    key: Tensor
    value: Tensor
    segments: Tensor | None = None
    options: dict[str, Any] = field(default_factory=dict)  # what else `attend` is asked
    of_out: Tensor | None = None  # the gradient that the output gets
    of_lse: Tensor | None = None  # and that of the normalisers, where those are asked for

    @property
    def dtype(self) -> torch.dtype:
        return self.query.dtype

    @property
    def each(self) -> int:
        """Bytes of a key, its value and its segment in all rows of the batch."""
        B, G, _, D = self.key.shape
        labels = 0 if self.segments is None else B * self.segments.element_size()
        return B * G * (D + self.value.shape[3]) * self.key.element_size() + labels

    def positions(self, rank: int) -> Tensor:
        return self.plan.held[rank].positions()

    def __str__(self) -> str:
        shapes = ", ".join(str(tuple(x.shape)) for x in (self.query, self.key, self.value))
        asked = ", ".join(f"{name}={value}" for name, value in self.options.items())
        plan = f"{self.plan.pattern} on {self.plan.ranks} ranks, dealt {self.plan.deal.bounds}"
        return f"{plan}, {shapes} {self.dtype}, {asked}, segments {self.segments is not None}"


def drawn(
    at: random.Random, ranks: int, pattern: Pattern | None = None, n: int | None = None, **fixed: Any
) -> Case:
    """A case: any expression, any length, any dealing, any of the options."""
    n = at.choice([0, 1, 2, 5, 17, 33, 65, 70, 100, 130]) if n is None else n
    deal: Any = at.choice(DEALS)
    if deal == "given":
        cuts = sorted(at.randint(0, n) for _ in range(ranks - 1))
        deal = [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    if pattern is None:
        pattern = a_pattern(at, n, n) if n else Causal()
    plan = pattern.exchange(n, ranks, deal)
    dtype = fixed.get("dtype", at.choice([torch.float32, torch.float64]))
    B, G, D, E = at.choice([1, 2]), at.choice([1, 2]), at.choice([3, 16]), at.choice([3, 5, 16])
    H = G * at.choice([1, 2])
    shapes = ((B, H, n, D), (B, G, n, D), (B, G, n, E))
    case = Case(plan, *(torch.randn(shape, dtype=torch.float64).to(dtype) for shape in shapes))
    chances: dict[str, Any] = {
        "bias": lambda: DistanceBias(tuple(at.random() for _ in range(H))),
        "softcap": lambda: 3.0,
        "scale": lambda: at.choice([0.4, 0.0, -0.3]),
        "dropout": lambda: 0.3,
    }
    case.options = {name: draw() for name, draw in chances.items() if at.random() < 0.25}
    if at.random() < 0.3:
        labels = [[at.choice([-1, 0, 0, 1]) for _ in range(n)] for _ in range(B)]
        case.segments = torch.tensor(labels, dtype=at.choice([torch.int32, torch.int64])).view(B, n)
    case.of_out = torch.randn(B, H, n, E, dtype=torch.float64).to(dtype)
    if at.random() < 0.3:
        case.of_lse = 0.3 * torch.randn(B, H, n, dtype=torch.promote_types(dtype, torch.float32))
    return case


def generator(device: torch.device) -> torch.Generator:
    return torch.Generator(device).manual_seed(5)


def loss(found: Attended, of_out: Tensor, of_lse: Tensor | None) -> Tensor:
    total = (found.out * of_out).sum()
    if of_lse is not None:
        assert found.lse is not None
        seen = found.lse > -torch.inf
        total = total + (found.lse[seen] * of_lse[seen]).sum()
    return total


def expected(case: Case) -> dict[str, Tensor]:
    """Output, normalisers and gradients of one process, by the definition."""
    leaves = [x.detach().clone().requires_grad_() for x in (case.query, case.key, case.value)]
    found = Attended(
        *attend(
            *leaves, case.plan.pattern, segments=case.segments, return_lse=True, impl="reference",
            generator=generator(case.query.device), **case.options,
        )
    )  # fmt: skip
    assert case.of_out is not None
    loss(found, case.of_out, case.of_lse).backward()
    assert found.lse is not None
    grads = {name: x.grad for name, x in zip(("dq", "dk", "dv"), leaves, strict=True)}
    return {"out": found.out.detach(), "lse": found.lse.detach(), **grads}  # type: ignore[dict-item]


def parts_of(case: Case, rank: int) -> tuple[list[Tensor], Tensor | None]:
    """What a rank holds: three leaves, and its segments."""
    at = case.positions(rank)
    leaves = [x[:, :, at].clone().requires_grad_() for x in (case.query, case.key, case.value)]
    return leaves, None if case.segments is None else case.segments[:, at]


def begun(case: Case, leaves: list[Tensor], segments: Tensor | None, ranks: Ranks) -> Begun:
    query, key, value = leaves
    asked, query = asked_of(query, key, lse=True, generator=generator(query.device), **case.options)
    return begin(query, key, value, segments, case.plan, ranks, asked)


def simulated(case: Case) -> tuple[dict[str, Tensor], dict[tuple[int, int], int]]:
    """The same by all ranks in turn, and the bytes that each sent to each other, forward and backward."""
    world = SimulatedRanks.world(case.plan.ranks)
    parts = [parts_of(case, ranks.rank) for ranks in world]
    halves = [begun(case, *part, ranks) for part, ranks in zip(parts, world, strict=True)]
    found = [end(half) for half in halves]
    box = world[0].mailbox
    total = torch.zeros((), dtype=torch.float64)
    for rank, one in enumerate(found):
        at = case.positions(rank)
        assert case.of_out is not None
        of_lse = None if case.of_lse is None else case.of_lse[:, :, at]
        total = total + loss(one, case.of_out[:, :, at], of_lse).double()
    total.backward()
    assert not box.under_way
    out = {name: torch.cat([getattr(one, name).detach() for one in found], 2) for name in ("out", "lse")}
    for i, name in enumerate(("dq", "dk", "dv")):
        out[name] = torch.cat([leaves[i].grad for leaves, _ in parts], 2)  # type: ignore[misc]
    back = torch.cat([case.positions(rank) for rank in range(case.plan.ranks)]).argsort()
    return {name: x[:, :, back] for name, x in out.items()}, dict(box.bytes)


def bytes_of(case: Case) -> dict[tuple[int, int], int]:
    """What each rank must send to each other: keys and values there, and gradients of what it got back."""
    labels = 0 if case.segments is None else case.segments.shape[0] * case.segments.element_size()
    found = case.plan.between * case.each + case.plan.between.T * (case.each - labels)
    return {(a, b): int(found[a, b]) for a, b in found.nonzero().tolist()}


def fault_of(got: dict[str, Tensor], want: dict[str, Tensor]) -> str | None:
    """What differs, or None."""
    for name, given in got.items():
        true, near = want[name], NEAR[want["out"].dtype]
        if given.shape != true.shape:
            return f"{name} has shape {tuple(given.shape)}, not {tuple(true.shape)}"
        endless = true == -torch.inf
        if not torch.equal(endless, given == -torch.inf):
            return f"{name} is −∞ at other places"
        off = (given[~endless] - true[~endless]).abs().double()
        most = float(true[~endless].abs().max()) if off.numel() else 0.0
        if off.numel() and not float(off.max()) <= near * max(1.0, most):
            return f"{name} is off by {float(off.max()):.2e} of {most:.2e}"
    return None
