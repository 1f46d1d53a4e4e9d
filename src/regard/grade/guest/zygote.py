"""The process that has imported torch and waits: one fork later there is a guest, in milliseconds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import torch

from regard.grade.guest import isolation, running, serving
from regard.grade.guest.kernel import prctl
from regard.grade.wire import Channel, Silence

_PARENT_DEATH = 1
PACKAGE = Path(__file__).parents[2]
KEPT: list[object] = []  # modules of ours that the guest takes out of sys.modules, and still needs


def main(control: int, place: str) -> None:
    """Wait for the judge: fork a guest for each submission, end it when told, and go when the judge goes.

    The judge removes its folder itself, unless it was killed.
    """
    torch.set_num_threads(1)
    _prepare()
    end = socket.socket(fileno=control)
    while True:
        text, files, *_ = socket.recv_fds(end, 1 << 16, 1)
        if not text:
            shutil.rmtree(place, ignore_errors=True)
            return
        asked = json.loads(text)
        if asked["do"] == "spawn":
            keeper = _spawn(end, files[0], asked)
            os.close(files[0])
            end.sendall(json.dumps({"keeper": keeper}).encode())
        else:
            with suppress(ProcessLookupError):
                os.kill(asked["keeper"], signal.SIGTERM)
            _, status = os.waitpid(asked["keeper"], 0)
            end.sendall(json.dumps({"code": os.waitstatus_to_exitcode(status)}).encode())


def _prepare() -> None:
    """Import what students import, and let NLTK cut sentences where its trained data is not installed."""
    one = torch.ones(1, 2, 2)
    with serving.Traffic():  # whose first use imports for seconds
        torch.nn.functional.scaled_dot_product_attention(one, one, one)
    try:
        import nltk.tokenize as rules
    except ImportError:
        return
    try:
        rules.PunktTokenizer("english")
    except LookupError:
        plain = rules.PunktSentenceTokenizer()
        rules.sent_tokenize = lambda text, language="english": plain.tokenize(text)


def _spawn(control: socket.socket, own_end: int, asked: dict[str, object]) -> int:
    """Fork the keeper, which leaves the machine's namespaces and forks the guest into the new ones."""
    keeper = os.fork()
    if keeper:
        return keeper
    try:
        control.close()
        prctl(_PARENT_DEATH, signal.SIGKILL)
        _keep(own_end, asked)
    finally:
        os._exit(99)


def _keep(own_end: int, asked: dict[str, object]) -> None:
    offered = set() if asked.get("unsafe") else isolation.new_namespaces()
    own, outside = Path(str(asked["own"])), Path(str(asked["outside"]))
    guest = os.fork()
    if guest == 0:
        try:
            prctl(_PARENT_DEATH, signal.SIGKILL)
            _guest(socket.socket(fileno=own_end), asked, offered, own, outside)
        finally:
            os._exit(0)
    os.close(own_end)

    def stop(number: int, frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(guest, signal.SIGKILL)

    signal.signal(signal.SIGTERM, stop)
    while True:
        try:
            _, status = os.waitpid(guest, 0)
            break
        except InterruptedError:
            continue
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _guest(end: socket.socket, asked: dict[str, object], offered: set[str], own: Path, outside: Path) -> None:
    """Lock oneself in, tell the judge how well, run the file, then serve."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    printed = running.Printed()
    sys.stdin, sys.stdout, sys.stderr = open(os.devnull), printed, printed  # noqa: SIM115
    channel = Channel(end)
    with suppress(Silence):
        readable = tuple(Path(str(path)) for path in asked["readable"])  # type: ignore[attr-defined]
        room = isolation.Room(readable, (PACKAGE,), own)
        holds: set[str] = set()
        if not asked.get("unsafe"):
            holds = isolation.lock_in(room, offered, int(str(asked["memory"])), int(str(asked["cpu"])))
        os.chdir(own)
        found = [] if asked.get("unsafe") else isolation.leaks(outside, room.hidden)
        channel.send({"holds": sorted(holds), "leaks": found})
        if found:
            return
        guard = _forget_ourselves(own)
        pieces = channel.receive()
        texts = pieces["pieces"]
        assert isinstance(texts, list)
        module, faults = running.run([str(text) for text in texts], float(str(asked["seconds"])))
        names, own_names = serving.names_of(module), serving.own_of(module)
        channel.send({"names": names, "own": own_names, "faults": faults, "answers": guard.asked,
                      "printed": printed.count})  # fmt: skip
        serving.answer_forever(serving.Server(channel, module, guard, printed))


def _forget_ourselves(own: Path) -> running.NoAnswers:
    """No module of ours is left to look into, and none can be imported."""
    package = PACKAGE.name
    KEPT.extend(module for name, module in sys.modules.items() if name.partition(".")[0] == package)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
    guard = running.NoAnswers(package)
    sys.meta_path.insert(0, guard)
    sys.path[:] = [path for path in sys.path if path and not (Path(path) / package).is_dir()] + [
        path for path in sys.path if "site-packages" in path
    ]
    os.environ.update(HOME=str(own), TMPDIR=str(own), MPLCONFIGDIR=str(own), MPLBACKEND="Agg")
    tempfile.tempdir = str(own)
    return guard
