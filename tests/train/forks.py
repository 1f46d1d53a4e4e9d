"""Processes that start at once: forked from one that has imported everything and computed nothing."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.train.small import ROOT

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.train.preload"])


@dataclass
class Fork:
    """A process that runs a function, what it prints, and how it ended."""

    process: Any
    log: Path

    def ended(self, timeout: float = 240) -> tuple[int, str]:
        """The exit code and everything printed."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
            raise AssertionError(f"still running after {timeout} s: {self.log.read_text(errors='replace')}")
        return self.process.exitcode, self.log.read_text(errors="replace")

    def kill(self) -> None:
        self.process.kill()


@contextmanager
def _found():
    """The process that all are forked from finds the tests, and has one thread, by its environment alone."""
    old = {name: os.environ.get(name) for name in ("PYTHONPATH", "OMP_NUM_THREADS")}
    paths = [str(ROOT / "src"), str(ROOT), *(old["PYTHONPATH"] or "").split(os.pathsep)]
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, paths)), OMP_NUM_THREADS="1")
    try:
        yield
    finally:
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def fork(log: Path, work: Callable[..., None], *words: Any, **environment: str) -> Fork:
    """Run a function of some module in a process of its own."""
    with _found():
        process = CONTEXT.Process(target=_inside, args=(str(log), environment, work, words), daemon=True)
        process.start()
    return Fork(process, log)


def _inside(log: str, environment: dict[str, str], work: Callable[..., None], words: tuple[Any, ...]) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.environ.update(environment)
    code = 0
    try:
        work(*words)
    except (ValueError, OSError) as error:  # as the command line does
        print(f"error: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # nothing of the parent's is to be ended here


def group(log: Path, world: int, work: Callable[..., None], *words: Any) -> list[Fork]:
    """The same in several processes that find each other as under torchrun."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(world)}
    return [
        fork(
            log.with_name(f"{log.name}-{rank}"), work, *words, RANK=str(rank), LOCAL_RANK=str(rank), **address
        )
        for rank in range(world)
    ]


def ended(forks: list[Fork]) -> tuple[list[int], str]:
    """The exit codes of all, and everything they printed."""
    done = [one.ended() for one in forks]
    return [code for code, _ in done], "\n".join(text for _, text in done)
