"""Work with an end: a question is computed in a process of its own, which is ended when its time is up.

A thread cannot be stopped while it computes, so a formula that takes minutes would keep a core for minutes
after everybody has gone. Processes are kept for the next question; one that was ended is replaced.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import struct
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import regard
from regard.studio import limits
from regard.studio.api.table import TABLE
from regard.studio.limits import FieldError

STARTING = 120  # seconds that a process may take to load
SETTLING = 2  # and to stop when it is told to, before it is ended
PART, ANSWER, REFUSAL = b"P", b"A", b"W"  # of the worker's frames; the rest are its failures


class Worker:
    """One process, which answers one question at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.ready = False
        self.answering = False

    @classmethod
    async def start(cls, folders: Sequence[str]) -> Worker:
        """A new one, which may take seconds until it is ready."""
        here = str(Path(regard.__file__).parents[1])  # the same code, wherever it was imported from
        path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "regard.studio.worker", *folders,
            stdin=pipe, stdout=pipe, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        return cls(process)

    async def frames(self, question: bytes) -> AsyncIterator[tuple[bytes, bytes]]:
        """What it says to a question, part by part; the last frame is no part."""
        assert self.process.stdin is not None
        try:
            if not self.ready:
                await asyncio.wait_for(self._frame(), STARTING)
                self.ready = True
            self.answering = True
            self.process.stdin.write(struct.pack("!I", len(question)) + question)
            await self.process.stdin.drain()
            kind = PART
            while kind == PART:
                kind, said = await self._frame()
                self.answering = kind == PART
                yield kind, said
        except (asyncio.IncompleteReadError, OSError) as error:
            raise RuntimeError("the process ended, perhaps for want of memory") from error

    async def settle(self) -> bool:
        """Whether it can be asked again, once it has left an answer that nobody waits for."""
        if self.process.returncode is not None:
            return False
        if not self.answering:
            return True
        if self.ready and hasattr(signal, "SIGUSR1"):
            with suppress(asyncio.TimeoutError, asyncio.IncompleteReadError, OSError):
                self.process.send_signal(signal.SIGUSR1)
                async with asyncio.timeout(SETTLING):
                    while self.answering:
                        self.answering = (await self._frame())[0] == PART
                return True
        return False

    async def end(self) -> None:
        """Stop it, whatever it does."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def _frame(self) -> tuple[bytes, bytes]:
        assert self.process.stdout is not None
        head = await self.process.stdout.readexactly(5)
        return head[:1], await self.process.stdout.readexactly(struct.unpack("!I", head[1:])[0])


class Workers:
    """At most so many processes, for one question each; who comes then waits, but not too many do."""

    def __init__(self, most: int, folders: Sequence[str] = (), listed: str | Path | None = None) -> None:
        whole = [str(Path(folder).resolve()) for folder in folders]
        named = [] if listed is None else [f"--listed={Path(listed).resolve()}"]
        self.folders = [*named, "--", *whole]
        self.idle: list[Worker] = []
        self.busy: set[Worker] = set()
        self.free = asyncio.Semaphore(most)
        self.waiting = 0
        self.closing: set[asyncio.Task[None]] = set()

    async def ask(self, name: str, fields: object, seconds: float | None = None) -> AsyncIterator[bytes]:
        """The JSON of each part of an answer; `FieldError` where it refuses or takes too long."""
        if self.waiting >= limits.WAITING:
            raise BusyError("too many are asking at this moment: try again in some seconds")
        self.waiting += 1
        try:
            await self.free.acquire()
        finally:
            self.waiting -= 1
        worker = None
        try:
            worker = self._idle()
            if worker is None and self.closing:  # one that is about to be free loads sooner than a new one
                await asyncio.wait(self.closing, timeout=SETTLING, return_when=asyncio.FIRST_COMPLETED)
                worker = self._idle()
            worker = worker or await Worker.start(self.folders)
            self.busy.add(worker)
            async for said in self._within(worker, name, fields, seconds):
                yield said
        finally:  # may run while this is being cancelled, when nothing can be waited for
            task = asyncio.create_task(self._put_back(worker))
            self.closing.add(task)
            task.add_done_callback(self.closing.discard)

    def _idle(self) -> Worker | None:
        while self.idle:
            worker = self.idle.pop()
            if worker.process.returncode is None:  # else it died while nobody looked
                return worker
        return None

    async def _within(
        self, worker: Worker, name: str, fields: object, seconds: float | None
    ) -> AsyncIterator[bytes]:
        seconds = TABLE[name].seconds if seconds is None else seconds
        frames = worker.frames(json.dumps([name, fields]).encode())
        loop = asyncio.get_running_loop()
        # A process that has yet to load has more time for its first frame.
        end = loop.time() + seconds + (0 if worker.ready else STARTING)
        while True:
            try:
                kind, said = await asyncio.wait_for(anext(frames), max(0.0, end - loop.time()))
            except TimeoutError as error:
                raise FieldError(
                    "", f"this was stopped after {seconds:g} seconds, which is all that one question gets "
                    "here; in Python it may take as long as it likes",
                ) from error  # fmt: skip
            if kind == REFUSAL:
                wrong = json.loads(said)
                raise FieldError(wrong["field"] or "", wrong["message"])
            if kind not in (PART, ANSWER):
                raise RuntimeError(said.decode("utf-8", "replace") or "it was stopped")
            yield said
            if kind == ANSWER:
                return

    async def _put_back(self, worker: Worker | None) -> None:
        """For the next question; one that does not stop is ended."""
        try:
            if worker is not None:
                sound = await worker.settle()
                self.busy.discard(worker)
                if sound:
                    self.idle.append(worker)
                else:
                    await worker.end()
        finally:
            self.free.release()

    async def warm(self) -> None:
        """Have one load before anybody asks."""
        self.idle.append(await Worker.start(self.folders))

    async def close(self) -> None:
        """End all of them."""
        every, self.idle, self.busy = [*self.idle, *self.busy], [], set()
        for worker in every:
            await worker.end()


class BusyError(RuntimeError):
    """There is no room for another question."""
