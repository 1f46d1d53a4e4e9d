"""The studio as a server: for this machine alone unless a token is given, and silent to the network."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from regard.errors import check_int, need
from regard.studio import limits
from regard.studio.app import Studio
from regard.studio.guard import Guard, loopback
from regard.studio.work import Workers

if TYPE_CHECKING:
    import uvicorn

PORT = 7860
BREATH = 0.5  # seconds for the page before a worker loads
LEAST = 12  # characters of a token


def serve(
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    runs: Sequence[str | Path] = (),
    say: Callable[[str], None] = print,
    listed: str | Path | None = None,
) -> None:
    """Serve the studio until it is interrupted; port 0 takes any that is free, `say` is told the address.

    The models of `runs` are shown in the rooms; all runs in the folder `listed` can be watched and opened.

    >>> serve(host="0.0.0.0")
    Traceback (most recent call last):
        ...
    ValueError: a token is required where others can reach the studio, got host='0.0.0.0' and no token
    """
    check_address(host, port, token)
    if listed is not None and not Path(listed).is_dir():
        raise ValueError(f"the folder of runs must be there, got {str(listed)!r}")
    need("uvicorn", "studio")
    with _listen(host, port) as listening:
        asyncio.run(_serve(listening, host, token, runs, say, listed))


async def _serve(
    listening: socket.socket,
    host: str,
    token: str | None,
    runs: Sequence[str | Path],
    say: Callable[[str], None],
    listed: str | Path | None,
) -> None:
    import uvicorn

    answers = Workers(limits.WORKERS, [str(run) for run in runs], listed)
    streams = Workers(limits.STREAMS, [str(run) for run in runs], listed)
    try:
        if runs:  # which must open; without them the page is there before anything is loaded
            _ = [said async for said in answers.ask("shell/models", {})]
        config = uvicorn.Config(
            Guard(Studio(answers, streams), token),
            log_level="warning",
            timeout_graceful_shutdown=2,
            server_header=False,
            lifespan="off",
            ws="none",
            limit_concurrency=limits.CONNECTIONS,
        )
        server = uvicorn.Server(config)
        listening.listen()
        name = f"[{host}]" if ":" in host else host
        secret = "" if token is None else f"?token={quote(token)}"
        say(f"http://{name}:{listening.getsockname()[1]}/{secret}")
        warming, asked = asyncio.create_task(_warmed(answers)), _ended_by_signals(server)
        await server.serve(sockets=[listening])
        warming.cancel()
    finally:
        await answers.close()
        await streams.close()
    if asked:  # as a shell expects of what was ended
        sys.exit(128 + asked[0])


def _ended_by_signals(server: uvicorn.Server) -> list[int]:
    """Let Ctrl-C and the like end the server in order, so that its processes end too; what came is noted."""
    came: list[int] = []

    def end(one: int) -> None:
        server.should_exit, server.force_exit = True, bool(came)
        came.append(one)

    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment] # which would raise them anew
    for one in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError):  # on Windows, and off the main thread
            asyncio.get_running_loop().add_signal_handler(one, end, one)
    return came


async def _warmed(workers: Workers) -> None:
    """A process loads while nobody has asked yet, but not before the page can be read."""
    await asyncio.sleep(BREATH)
    if not workers.idle and not workers.busy:
        await workers.warm()


def check_address(host: str, port: int, token: str | None) -> None:
    """Raise unless a stranger would need the token."""
    check_int("port", port, 0, 65_535)
    if token is not None and (len(token) < LEAST or not token.isascii() or not token.isprintable()):
        raise ValueError(f"token must have at least {LEAST} plain characters, got {len(token)}")
    if token is None and not loopback(host):
        raise ValueError(f"a token is required where others can reach the studio, got {host=} and no token")


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that a taken port is said before anything is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    if sys.platform != "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ValueError(f"{host} port {port} cannot be used: {error.strerror}; try --port 0") from error
    return listening
