"""The process that computes for visitors, one question after another: `python -m regard.studio.worker`.

It reads pickled (function, arguments, seconds) and writes (kind, answer); only the studio that started it can
reach its pipes. Whoever waits ends it when its time is up.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from typing import IO

import torch

import regard.studio.rooms.costs
import regard.studio.rooms.patterns  # noqa: F401 - what is asked most is loaded before anybody asks
from regard.studio import limits

ANSWER, REFUSAL, FAILURE = "answer", "refusal", "failure"
SPARE = 5  # seconds after which it ends itself, should nobody be left to do so


def main() -> None:
    """Answer until nobody asks any more."""
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the studio, which ends this
    _bound_memory()
    torch.set_num_threads(1)  # the visitors share the cores
    _tell(told, (ANSWER, "ready"))
    while True:
        try:
            work, given, seconds = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        _alarm(seconds + SPARE)
        answer = _answered(work, given)
        _alarm(0)
        _tell(told, answer)


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has nothing of the kind
        return
    resource.setrlimit(resource.RLIMIT_DATA, (limits.MEMORY, limits.MEMORY))


def _alarm(seconds: int) -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _answered(work: Callable[..., object], given: tuple[object, ...]) -> tuple[str, object]:
    try:
        return ANSWER, work(*given)
    except (ValueError, ImportError) as error:
        return REFUSAL, str(error)
    except (MemoryError, RuntimeError) as error:  # torch has no error of its own for it
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            return REFUSAL, f"this takes more than {limits.MEMORY:,} bytes, all that one question gets here"
        return FAILURE, traceback.format_exc()
    except Exception:
        return FAILURE, traceback.format_exc()


def _tell(told: IO[bytes], message: tuple[str, object]) -> None:
    pickle.dump(message, told)
    told.flush()


if __name__ == "__main__":
    main()
