"""The process that computes for visitors, one question after another: `python -m regard.studio.worker`.

It reads frames of JSON [action, fields] and writes frames: a part of an answer, the whole of it, or what is
wrong. Whoever waits may tell it to stop, by a signal, and ends it where it does not.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import struct
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO

import torch

# What is asked first is loaded before anybody asks.
from regard.studio import limits, listed, models
from regard.studio.api import patterns  # noqa: F401
from regard.studio.api.body import Body
from regard.studio.api.table import ELSEWHERE, TABLE
from regard.studio.telling import told

READY, PART, ANSWER, REFUSAL, FAILURE, STOPPED = b"R", b"P", b"A", b"W", b"F", b"S"
SPARE = 5  # seconds after which it ends itself, should nobody be left to do so


class StopAsked(BaseException):
    """Nobody waits for the answer any more."""


def main() -> None:
    """Answer until nobody asks any more."""
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the studio, which ends this
    given = argparse.ArgumentParser()
    given.add_argument("--listed", type=Path)
    given.add_argument("runs", nargs="*")
    told_at_start = given.parse_args()
    models.FOLDERS[:] = told_at_start.runs
    listed.FOLDER[:] = [told_at_start.listed] if told_at_start.listed else []
    _bound_memory()
    torch.set_num_threads(1)  # the visitors share the cores
    computing = late = False  # whether it may be stopped here; whether it was to be while it told a part

    def stop(*_: object) -> None:
        nonlocal late
        if computing:
            raise StopAsked
        late = True

    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, stop)
    _tell(told, READY, b"")
    with suppress(Exception):  # whoever asks for the models is told what is wrong
        _open_models()  # before a question, so that nobody who leaves ends this halfway
    while question := _read(sys.stdin.buffer):
        name, fields = json.loads(question)
        _alarm(TABLE[name].seconds + SPARE)
        try:
            try:
                late, computing = False, True
                for kind, said in _answered(name, fields):
                    computing = False  # each frame is written whole, and nothing comes after the last one
                    _tell(told, kind, said)
                    if kind == PART:
                        computing = True
                        if late:
                            raise StopAsked
            finally:
                computing = False
        except StopAsked:
            _tell(told, STOPPED, b"")
        _alarm(0)


def _open_models() -> None:
    """Have the models in memory, and what their tokenizers load when they first read."""
    for run in models.here().runs.values():
        if run.tokenizer is not None:
            run.tokenizer.encode("a")


def _answered(name: str, fields: object) -> Iterator[tuple[bytes, bytes]]:
    room, _, action = name.partition("/")
    try:
        work = getattr(
            import_module(f"regard.studio.api.{ELSEWHERE.get(room, room)}"), action.replace("-", "_")
        )
        said = work(Body(fields))
        if TABLE[name].streams:
            for part in said:
                yield PART, _json(part)
            said = {}
        yield ANSWER, _json(said)
    except (ValueError, ImportError) as error:
        yield REFUSAL, _json({"field": getattr(error, "field", None), "message": told(error)})
    except (MemoryError, RuntimeError) as error:  # torch has no error of its own for it
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            why = f"this takes more than {limits.MEMORY:,} bytes, all that one question gets here"
            yield REFUSAL, _json({"field": None, "message": why})
        else:
            yield FAILURE, traceback.format_exc().encode()
    except Exception:
        yield FAILURE, traceback.format_exc().encode()


def _json(said: object) -> bytes:
    return json.dumps(said, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def _read(source: IO[bytes]) -> bytes:
    head = source.read(4)
    return source.read(struct.unpack("!I", head)[0]) if len(head) == 4 else b""


def _tell(target: IO[bytes], kind: bytes, said: bytes) -> None:
    target.write(kind + struct.pack("!I", len(said)) + said)
    target.flush()


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has nothing of the kind
        return
    resource.setrlimit(resource.RLIMIT_DATA, (limits.MEMORY, limits.MEMORY))


def _alarm(seconds: int) -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


if __name__ == "__main__":
    main()
