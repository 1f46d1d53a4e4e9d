"""Processes that prepare cases all at once, since compiling takes cores, and then measure one at a time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from threading import Lock
from typing import TypeVar, cast

Item = TypeVar("Item")
Found = TypeVar("Found")
# What prepares an item, given a lock for what only one may do at a time: then what measures it.
Prepare = Callable[[Item, Lock], Callable[[], Found]]


def in_turns(prepare: Prepare[Item, Found], items: Sequence[Item], workers: int) -> Iterator[Found]:
    """What is found of each item, in order; nothing else runs while one is measured."""
    context = multiprocessing.get_context("spawn")
    alone = context.Lock()
    shares = [range(first, len(items), workers) for first in range(min(workers, len(items)))]
    pipes = []
    for share in shares:
        ours, theirs = context.Pipe()
        given = (prepare, [items[index] for index in share], alone, theirs)
        context.Process(target=_work, args=given, daemon=True).start()
        theirs.close()
        pipes.append(ours)
    for pipe in pipes:
        _answer(pipe)
    for index in range(len(items)):
        pipe = pipes[index % len(pipes)]
        pipe.send(index // len(pipes))
        yield cast(Found, _answer(pipe))


def _work(prepare: Prepare[Item, Found], items: Sequence[Item], alone: Lock, pipe: Connection) -> None:
    try:
        ready = [prepare(item, alone) for item in items]
        pipe.send((True, None))
        while True:
            pipe.send((True, ready[pipe.recv()]()))
    except EOFError:  # the caller has gone
        return
    except Exception as error:  # goes to the caller, whatever it is
        pipe.send((False, f"{type(error).__name__}: {error}"))


def _answer(pipe: Connection) -> object:
    try:
        right, found = pipe.recv()
    except EOFError:
        raise RuntimeError("a process that measures has ended without an answer") from None
    if not right:
        raise RuntimeError(found)
    return found
