"""Work with an end: a question is computed in a process of its own, which is ended when its time is up.

A thread cannot be stopped while it computes, so a formula that takes minutes would keep a core for minutes
after everybody has gone. Processes are kept for the next question; one that was ended is replaced.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

import regard
from regard.studio import limits, show
from regard.studio.controls import FAST

COMMAND = [sys.executable, "-m", "regard.studio.worker"]
STARTING = 120  # seconds that a process may take to load
# The events that ask for such work; together they have as many processes as the limit says.
WORK = {**FAST, "concurrency_id": "work", "concurrency_limit": limits.WORKERS}


T = TypeVar("T")


class Worker:
    """One process; `ask` waits for its answer, and `end` from another thread makes it stop waiting."""

    def __init__(self) -> None:
        here = str(Path(regard.__file__).parents[1])  # the same code, wherever it was imported from
        path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
        )
        self.ready = False

    def wait(self) -> None:
        """Until it has loaded."""
        if not self.ready:
            pickle.load(self._out())
            self.ready = True

    def ask(self, work: Callable[..., T], given: tuple[object, ...], seconds: int) -> T:
        """What `work(*given)` gives there; a ValueError where it refuses."""
        assert self.process.stdin is not None
        try:
            pickle.dump((work, given, seconds), self.process.stdin)
            self.process.stdin.flush()
            kind, said = pickle.load(self._out())
        except (EOFError, OSError) as error:
            raise RuntimeError("the process ended, perhaps for want of memory") from error
        if kind == "refusal":
            raise ValueError(said)
        if kind == "failure":
            raise RuntimeError(said)
        answer: T = said
        return answer

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(OSError):  # what was not read any more
                pipe.close()

    def _out(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout


class Workers:
    """Processes that wait for questions."""

    def __init__(self) -> None:
        self.idle: list[Worker] = []
        self.busy: set[Worker] = set()
        self.lock = threading.Lock()

    def take(self) -> Worker:
        """One that is idle, or a new one."""
        with self.lock:
            while self.idle and self.idle[-1].process.poll() is not None:  # it died while nobody looked
                self.idle.pop().end()
            found = self.idle.pop() if self.idle else Worker()
            self.busy.add(found)
        return found

    def put_back(self, worker: Worker, *, sound: bool) -> None:
        """For the next question; one that was left in the middle of an answer is ended."""
        with self.lock:
            self.busy.discard(worker)
            keep = sound and len(self.idle) <= limits.WORKERS
            if keep:
                self.idle.append(worker)
        if not keep:
            worker.end()

    def warm(self) -> None:
        """Have one load before anybody asks."""
        self.put_back(self.take(), sound=True)

    def close(self) -> None:
        """End all of them."""
        with self.lock:
            every = [*self.idle, *self.busy]
            self.idle, self.busy = [], set()
        for worker in every:
            worker.end()


WORKERS = Workers()


async def within(work: Callable[..., T], *given: object, seconds: int | None = None) -> T:
    """What `work(*given)` gives, or a ValueError after so many seconds; ended, too, where nobody waits."""
    seconds = limits.SECONDS if seconds is None else seconds
    worker, sound = WORKERS.take(), False
    try:
        await asyncio.wait_for(asyncio.to_thread(worker.wait), STARTING)
        try:
            said = await asyncio.wait_for(asyncio.to_thread(worker.ask, work, given, seconds), seconds)
            sound = True
        except ValueError:  # refused, which is an answer
            sound = True
            raise
        except TimeoutError as error:
            raise ValueError(
                f"this was stopped after {seconds} seconds, which is all that one question gets here; "
                "in Python it may take as long as it likes"
            ) from error
        return said
    finally:
        WORKERS.put_back(worker, sound=sound)


async def shown(work: Callable[..., str], *given: object) -> str:
    """The same for HTML, with what is wrong with a question in place of its answer."""
    try:
        return await within(work, *given)
    except ValueError as error:
        return show.fault(error)
