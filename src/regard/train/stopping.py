"""What ends a run early, each said in one line with the way to go on."""

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import torch

from regard.paper.commands import command

EXPLODED = 10.0  # times the largest of the first losses


class Stopped(ValueError):  # noqa: N818 - it says what happened to the run
    """A run that could not go on, with the reason and what to do."""


class Interrupted(KeyboardInterrupt):
    """A run that was asked to end, by Ctrl-C or a cluster's SIGTERM, and has saved what going on takes."""


class Watch:
    """Judges every loss: it must be a number, and not far above where training began."""

    def __init__(self, start: float | None = None) -> None:
        self.start = start

    def fault(self, loss: float, norm: float) -> str | None:
        """What is wrong with a step, or None.

        >>> watch = Watch()
        >>> watch.fault(2.3, 1.0), watch.fault(float("nan"), 1.0), watch.fault(99.0, 1.0)
        (None, 'the loss is nan', 'the loss exploded: 99 after a start at 2.3')
        """
        if not math.isfinite(loss):
            return f"the loss is {loss}"
        if not math.isfinite(norm):
            return f"the gradient's norm is {norm}"
        if self.start is None:
            self.start = loss
        if loss > EXPLODED * max(1.0, self.start):
            return f"the loss exploded: {loss:.4g} after a start at {self.start:.4g}"
        return None


def numbers(indices: list[int], most: int = 8) -> str:
    """The first few of many numbers.

    >>> numbers(list(range(20)), most=3)
    '0, 1, 2 and 17 more'
    """
    rest = f" and {len(indices) - most} more" if len(indices) > most else ""
    return ", ".join(map(str, indices[:most])) + rest


def how_to_go_on(folder: Path) -> str:
    """The command that continues a run."""
    return command("train", "--resume", "--out", str(folder))


def diverged(
    fault: str, step: int, indices: list[int], folder: Path, checkpoints: list[Path], lr: float
) -> Stopped:
    """What to say when the numbers went wrong at a step."""
    where, then = "there is no checkpoint yet", "begin again with it"
    if checkpoints:
        where = f"the last good checkpoint is {checkpoints[0]}"
        number = int(checkpoints[0].name.rpartition("-")[2])
        again = command("train", "--from", f"{folder}:{number}", "--out", f"{folder}-lower")
        then = f"go on from there with: {again}"
    return Stopped(
        f"{fault} at step {step:,}, batch {numbers(indices)}; {where}; a lower learning rate or a longer "
        f"warm-up usually helps: {then} --set optimizer.lr={lr / 3:.2g}"
    )


def out_of_memory(device: torch.device, batch: int, accumulate: int) -> Stopped:
    """What to say when the device is full."""
    size = torch.cuda.get_device_properties(device).total_memory / 2**30 if device.type == "cuda" else None
    where = "memory" if size is None else f"the {size:.0f} GiB of {torch.cuda.get_device_name(device)}"
    return Stopped(
        f"out of memory: batch={batch} in {accumulate} part(s) does not fit {where}; "
        f"add --set accumulate={2 * accumulate} (the same batch in smaller parts; only dropout draws anew) "
        f"or a smaller batch"
    )


class Interrupt:
    """Whether Ctrl-C, or a cluster's SIGTERM, has asked the run to end."""

    def __init__(self) -> None:
        self.asked = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.asked = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note the first request, for the loop to see between two steps; obey a second one at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        old = {kind: signal.signal(kind, self._note) for kind in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for kind, handler in old.items():
                signal.signal(kind, handler)
