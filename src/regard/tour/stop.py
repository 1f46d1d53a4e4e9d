"""What a stop of the tour gives to the page, to the terminal and to machines, and what its training cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape

from rich.console import RenderableType

from regard.cost import Cost
from regard.paper import pages
from regard.paper.quantities import duration, short
from regard.tour.runs import Trained


@dataclass(frozen=True)
class Bill:
    """What a run cost: the price of one training step, and how a step was counted."""

    trained: Trained
    step: Cost
    counted: str

    @property
    def steps(self) -> int:
        """How many steps were trained."""
        return self.trained.result.steps

    @property
    def flops(self) -> int:
        """The multiplies and adds of all of them."""
        return self.step.flops * self.steps

    def as_dict(self) -> dict[str, object]:
        """The cost, the result, and the command that repeats the run."""
        cost = {
            "parameters": self.step.parameters,
            "flops_per_step": self.step.flops,
            "steps": self.steps,
            "flops": self.flops,
            "counted": self.counted,
        }
        return {"cost": cost, "result": asdict(self.trained.result), "command": self.trained.command}

    def rows(self) -> list[tuple[str, str]]:
        """The bill in words."""
        times = self.trained.result.seconds
        spent = ", ".join(f"{name} {duration(times[name])}" for name in times)
        when = " in an earlier tour" if self.trained.reused else ""
        return [
            ("parameters", f"{self.step.parameters:,}"),
            ("one training step", f"{short(self.step.flops)} flops, {self.counted}"),
            (f"all {self.steps:,} steps", f"{short(self.flops)} flops"),
            ("time", f"{duration(self.trained.seconds)}{when} ({spent})"),
        ]

    def html(self, use: str) -> str:
        """The bill, and the commands that repeat the run and use its model."""
        return (
            f"<h3>What it cost</h3>\n{pages.numbers(self.rows())}\n"
            f'<p class="quiet">To repeat it alone, and to use what was trained here:</p>\n'
            f"<pre>{escape(self.trained.command)}\n{escape(use)}</pre>"
        )


@dataclass(frozen=True)
class Stop:
    """HTML for the page, renderables for the terminal, data for machines; of a run its bill and its score.

    `headline` is the score as the page's first lines show it: a value, and what it is.
    """

    html: str
    terminal: Sequence[RenderableType]
    data: dict[str, object] = field(default_factory=dict)
    bill: Bill | None = None
    score: str = ""
    headline: tuple[str, str] = ("", "")
