"""Running a student's file: statement by statement, or cell by cell, each on its own feet.

What fails, or takes too long, is noted, and the rest runs on: a solution is not wrong because the training
below it needs a data set that is not here.
"""

from __future__ import annotations

import ast
import linecache
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType

FILE = "solution.py"
MODULE = "solution"
NO_PYTHON = (SyntaxError, IndentationError, TabError)


class TimeUp(BaseException):
    """A statement or a call took longer than it may."""


class NoAnswers(MetaPathFinder):
    """Whoever imports the package with the answers in it is told no, and it is remembered."""

    def __init__(self, package: str) -> None:
        self.package, self.asked = package, False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Refuse the package; leave others to others."""
        if name.partition(".")[0] == self.package:
            self.asked = True
            raise ImportError(f"{name} cannot be imported here: it holds the answers")
        return None


class Printed:
    """A stream that keeps nothing but how much was written."""

    encoding, errors = "utf-8", "replace"

    def __init__(self) -> None:
        self.count = 0

    def write(self, text: str) -> int:
        """Count."""
        self.count += len(text)
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def isatty(self) -> bool:
        """It is no terminal."""
        return False


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeUp inside after so many seconds."""

    def up(signal_number: int, frame: FrameType | None) -> None:
        raise TimeUp(f"took longer than {seconds:g} s")

    signal.signal(signal.SIGALRM, up)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run(pieces: Sequence[str], seconds: float) -> tuple[ModuleType, list[dict[str, object]]]:
    """The module that these pieces of source make one after another, and what failed on the way."""
    module = ModuleType(MODULE)
    module.__dict__["__file__"] = FILE
    sys.modules[MODULE] = module
    whole = "\n".join(pieces)
    linecache.cache[FILE] = (len(whole), None, whole.splitlines(keepends=True), FILE)
    faults: list[dict[str, object]] = []
    first = 0
    for number, piece in enumerate(pieces, 1):
        try:
            tree = ast.parse(piece, FILE)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = first + (getattr(error, "lineno", None) or 1)
            faults.append(told(error) | {"piece": number, "line": line})
            first += piece.count("\n") + 1
            continue
        ast.increment_lineno(tree, first)
        first += piece.count("\n") + 1
        for node in tree.body:
            if (fault := _one(node, module, seconds)) is not None:
                faults.append(fault | {"piece": number})
    return module, faults


def _one(node: ast.stmt, module: ModuleType, seconds: float) -> dict[str, object] | None:
    try:
        code = compile(ast.Module([node], []), FILE, "exec", dont_inherit=True)
        with at_most(seconds):
            exec(code, module.__dict__)
    except SyntaxError as error:  # found by the compiler, or raised by what runs
        own = error.lineno if error.filename == FILE else None
        return told(error) | {"line": line_of(error) or own or node.lineno}
    except BaseException as error:  # exit() and Ctrl-C are theirs, too
        return told(error) | {"line": line_of(error) or node.lineno}
    return None


def told(error: BaseException) -> dict[str, object]:
    """What a student's code raised: its kind, its words and the last of the student's own lines."""
    try:
        text = str(error)
        if isinstance(error, SyntaxError) and type(error) in NO_PYTHON:
            text = str(error.msg or "")  # the line is told besides
    except BaseException:  # a class of errors may be hostile, too
        text = ""
    return {"kind": type(error).__name__[:100], "text": text[:2000], "line": line_of(error)}


def line_of(error: BaseException) -> int:
    """The last line of the student's file that the error passed through, or 0."""
    try:
        frames = traceback.extract_tb(error.__traceback__, limit=-200)
    except BaseException:
        return 0
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == FILE), 0)
