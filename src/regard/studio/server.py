"""The studio as a server: for this machine alone unless a token is given, and silent to the network."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from regard.errors import check_int, need
from regard.studio import limits
from regard.studio.guard import Guard, loopback
from regard.studio.models import Models, gather
from regard.studio.quotas import Uploads
from regard.studio.work import WORKERS

PORT = 7860
LEAST = 12  # characters of a token


def serve(
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    runs: Sequence[str | Path] = (),
    say: Callable[[str], None] = print,
) -> None:
    """Serve the studio until it is interrupted; port 0 takes any that is free, `say` is told the address.

    >>> serve(host="0.0.0.0")
    Traceback (most recent call last):
        ...
    ValueError: a token is required where others can reach the studio, got host='0.0.0.0' and no token
    """
    check_address(host, port, token)
    with _listen(host, port) as listening, tempfile.TemporaryDirectory(prefix="regard-studio-") as folder:
        os.environ["GRADIO_TEMP_DIR"] = folder  # uploads go with the server
        app = application(gather(runs), token, Path(folder))
        import uvicorn  # which Gradio brings

        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, server_header=False)
        listening.listen()
        name = f"[{host}]" if ":" in host else host
        secret = "" if token is None else f"?token={quote(token)}"
        say(f"http://{name}:{listening.getsockname()[1]}/{secret}")
        WORKERS.warm()
        try:
            with _leaving():
                uvicorn.Server(config).run(sockets=[listening])
        finally:
            WORKERS.close()


@contextmanager
def _leaving() -> Iterator[None]:
    """A server that is told to end clears up behind itself: the signal becomes an exception."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def application(models: Models, token: str | None = None, folder: Path | None = None) -> Guard:
    """The ASGI app: the page behind its guard; `folder` is where uploads go."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before Gradio is imported
    gr = need("gradio", "studio")
    from fastapi import FastAPI

    from regard.studio.page import blocks
    from regard.studio.style import CSS, HEAD, theme

    plain = {"docs_url": None, "redoc_url": None, "openapi_url": None}
    outer = gr.mount_gradio_app(
        FastAPI(docs_url=None, redoc_url=None, openapi_url=None),
        blocks(models),
        path="/",
        app_kwargs=plain,
        allowed_paths=[],
        max_file_size=limits.UPLOAD,
        show_error=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        footer_links=[],
        theme=theme(),
        css=CSS,
        head=HEAD,
    )
    return Guard(outer, token, None if folder is None else Uploads(folder))


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
