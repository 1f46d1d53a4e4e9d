"""The judge's side of the sandbox: a process that waits with torch imported, and a guest for each submission.

Student code never runs in this process. The guest has its own network, processes and mounts, can read
Python and its libraries without this package, can write to a folder in memory alone, and is ended when it
takes too long; see `guest.isolation` for what holds it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from regard.errors import visible
from regard.files import remove
from regard.grade.wire import BadMessage, Channel, Foreign, Handle, Silence

PACKAGE = Path(__file__).parents[1]
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT")
START = "import sys; from regard.grade.guest.zygote import main; main(int(sys.argv[1]), sys.argv[2])"


@dataclass(frozen=True)
class Limits:
    """What one submission may take: seconds of a statement or call, seconds in all, bytes beyond torch's."""

    call: float = 5.0
    whole: float = 30.0
    memory: int = 2 << 30


class NoIsolation(ValueError):  # noqa: N818 - it says what is missing
    """This system cannot lock student code in."""


class StudentError(Exception):
    """Student code raised: the kind and text of its error, and its line in the file, 0 if unknown."""

    def __init__(self, kind: str, text: str, line: int = 0) -> None:
        super().__init__(f"{kind}: {text}" if text else kind)
        self.kind, self.text, self.line = kind, text, line


class SolutionLine(int):
    """A line of a solution, which reads as the line of its code cell where the solution is a notebook.

    >>> cells = ["x = 1", "y = 2\\nz"]
    >>> f"line {SolutionLine.of(cells, 3)}", f"line {SolutionLine.of(cells[:1], 1)}"
    ('line 2 of code cell 2', 'line 1')
    """

    text = ""

    def __str__(self) -> str:
        return self.text or int.__repr__(self)

    @classmethod
    def of(cls, pieces: Sequence[str], number: object) -> SolutionLine:
        """The line with this number of the pieces below each other; 0 is none."""
        line = cls(number if isinstance(number, int) else 0)
        left = int(line)
        for cell, piece in enumerate(pieces if len(pieces) > 1 else (), 1):
            if 0 < left <= (size := piece.count("\n") + 1):
                line.text = f"{left} of code cell {cell}"
                break
            left -= size
        return line


class GuestLost(Exception):  # noqa: N818 - it says what happened
    """The student's process ended, hung or spoke nonsense; the text says which."""


class Sandbox:
    """Where submissions run, one after another; close it, or use it with `with`.

    >>> with Sandbox(unsafe=True) as sandbox, sandbox.guest(["def double(x):\\n    return 2 * x"]) as guest:
    ...     guest.call("double", 21)
    42
    """

    def __init__(self, limits: Limits | None = None, unsafe: bool = False) -> None:
        self.limits, self.unsafe = Limits() if limits is None else limits, unsafe
        self.place = Path(tempfile.mkdtemp(prefix="regard-grade-"))
        for name in ("own", "outside"):
            (self.place / name).mkdir()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the waiting process and remove its folder."""
        self._stop()
        remove(self.place)

    def _stop(self) -> None:
        if self._process is not None:  # before the connection ends, by which it would know that we are gone
            self._process.kill()
            self._process.wait()
        if self._control is not None:
            self._control.close()
        self._process = self._control = None

    def _ready(self) -> socket.socket:
        """The connection to the waiting process, which is started where there is none."""
        if sys.platform != "linux":
            raise NoIsolation(f"student code is locked in on Linux alone, and this is {sys.platform}")
        if self._control is None or self._process is None or self._process.poll() is not None:
            self._stop()
            here, there = socket.socketpair()
            env = {name: os.environ[name] for name in KEPT if name in os.environ}
            paths = [str(PACKAGE.parent), *filter(None, sys.path)]
            env |= {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
            # "-P": the folder that the judge stands in may hold other students' files
            command = [sys.executable, "-P", "-c", START, str(there.fileno()), str(self.place)]
            # of its own session: Ctrl-C is for the judge, which lets the submission at hand come to its end
            self._process = subprocess.Popen(
                command, pass_fds=[there.fileno()], env=env, cwd="/", stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            there.close()
            self._control = here
        return self._control

    def guest(self, pieces: Sequence[str]) -> Guest:
        """A process in which this source has run; raises NoIsolation where it cannot be locked in."""
        control = self._ready()
        ours, theirs = socket.socketpair()
        request = {
            "do": "spawn", "own": str(self.place / "own"), "outside": str(self.place / "outside"),
            "readable": _readable(), "memory": self.limits.memory, "cpu": int(self.limits.whole) + 5,
            "seconds": self.limits.call, "unsafe": self.unsafe,
        }  # fmt: skip
        try:
            socket.send_fds(control, [json.dumps(request).encode()], [theirs.fileno()])
            control.settimeout(60.0)
            keeper = json.loads(control.recv(1 << 12))["keeper"]
        except (OSError, ValueError) as error:
            self._stop()
            raise GuestLost("the process that waits for submissions cannot be reached") from error
        theirs.close()
        return Guest(self, Channel(ours), keeper, pieces)

    def end(self, keeper: int) -> int | None:
        """End a guest, and tell the exit code of its keeper: 128 and more for a signal."""
        if self._control is None:
            return None
        try:
            self._control.sendall(json.dumps({"do": "end", "keeper": keeper}).encode())
            self._control.settimeout(20.0)
            return int(json.loads(self._control.recv(1 << 12))["code"])
        except (OSError, ValueError):
            self._stop()
            return None


def _readable() -> list[str]:
    """Python and its libraries, and NLTK's data where it is."""
    homes = [
        Path(path) / "nltk_data" for path in ("~", "/usr/share", "/usr/local/share", "/usr/lib", sys.prefix)
    ]
    given = [os.environ["NLTK_DATA"]] if "NLTK_DATA" in os.environ else []
    trees = [sys.prefix, sys.base_prefix, *given, *(str(path.expanduser()) for path in homes)]
    trees += [path for path in sys.path if "site-packages" in path or "dist-packages" in path]
    return list(dict.fromkeys(path for path in trees if Path(path).exists()))


class Guest:
    """A student's process, through which its functions are called; it is ended by `close`."""

    def __init__(self, sandbox: Sandbox, channel: Channel, keeper: int, pieces: Sequence[str]) -> None:
        self.sandbox, self.channel, self.keeper = sandbox, channel, keeper
        self.limits, self.pieces = sandbox.limits, pieces
        self.left = self.limits.whole
        self.answers, self.printed, self.ended = False, 0, False
        first = self._receive(20.0)
        leaks = first.get("leaks")
        if leaks:
            self.close()
            raise NoIsolation(f"this system leaves open to student code: {', '.join(map(str, leaks))}")  # type: ignore[call-overload]
        holds = first.get("holds")
        self.holds = tuple(map(str, holds)) if isinstance(holds, list) else ()
        self.channel.send({"pieces": list(pieces)})
        told = self._receive(self.limits.whole)
        names, own, faults = told.get("names"), told.get("own"), told.get("faults")
        self.names = tuple(map(str, names)) if isinstance(names, list) else ()
        self.own = tuple(map(str, own)) if isinstance(own, list) else ()  # without what it imports
        self.faults = (
            tuple(fault for fault in faults if isinstance(fault, dict)) if isinstance(faults, list) else ()
        )

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> int | None:
        """End the process; its exit code."""
        if self.ended:
            return None
        self.ended = True
        self.channel.close()
        return self.sandbox.end(self.keeper)

    def _receive(self, seconds: float) -> dict[str, object]:
        import time

        start = time.monotonic()
        try:
            answer = self.channel.receive(min(seconds, self.left))
        except Silence as silence:
            code = self.close()
            raise GuestLost(_why(silence.gone, code, min(seconds, self.left))) from silence
        except (BadMessage, RecursionError, ValueError) as error:
            self.close()
            raise GuestLost("it sent what is no answer") from error
        self.left = max(0.5, self.left - (time.monotonic() - start))
        self.answers = self.answers or answer.get("answers") is True
        printed = answer.get("printed")
        self.printed = printed if isinstance(printed, int) else self.printed
        return answer

    def ask(self, request: Mapping[str, object]) -> object:
        """What the guest answers; StudentError if the student's code raised, GuestLost if it is gone."""
        if self.ended:
            raise GuestLost("its process has ended")
        seconds = min(self.limits.call, self.left)
        try:
            self.channel.send({**request, "seconds": seconds})
        except Silence as silence:
            raise GuestLost(_why(True, self.close(), 0)) from silence
        answer = self._receive(seconds + 1.5)
        error = answer.get("error")
        if isinstance(error, dict):
            known = SolutionLine.of(self.pieces, error.get("line"))
            kind, text = visible(str(error.get("kind"))), str(error.get("text"))
            raise StudentError(kind, "\n".join(map(visible, text.splitlines())), known)
        return answer.get("value")

    def call(self, target: str | Handle | Foreign, *args: object, method: str = "", seed: int = 0,
             named: Mapping[str, object] | None = None) -> object:  # fmt: skip
        """Call a function of the file, or a method of an object of it."""
        request = {
            "do": "call",
            "target": target,
            "args": args,
            "named": dict(named or {}),
            "method": method,
            "seed": seed,
        }
        return self.ask(request)


def _why(gone: bool, code: int | None, seconds: float) -> str:
    if not gone:
        return f"it took longer than {seconds:.0f} s and was ended"
    if code is None:
        return "its process is gone"
    if code == 128 + 9:
        return "its process was killed: too much memory or computing time, or by itself"
    if code == 128 + 24:
        return "it used up its computing time"
    if code > 128:
        return f"its process crashed (signal {code - 128})"
    return f"it ended its own process (exit code {code})"
