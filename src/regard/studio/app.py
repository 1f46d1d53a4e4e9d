"""The studio's address space: the page's files, read once, and its API, answered by worker processes.

`POST /api/<room>/<action>` takes a JSON object and gives one; where the action streams, a line of JSON for
each part. What is wrong is `{"error": {"field": …, "message": …}}`, in a stream as its last line. Who leaves
is no longer worked for.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import AsyncIterator
from hashlib import blake2b
from pathlib import Path

import regard
from regard.studio.api.table import TABLE
from regard.studio.guard import Message, Receive, Scope, Send
from regard.studio.limits import FieldError
from regard.studio.work import BusyError, Workers

ROOT = Path(regard.__file__).parent
FOLDERS = ("studio/page", "paper/browser")  # whose files are the page's, at the same paths
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
JSON = "application/json; charset=utf-8"


class Page:
    """The files that a browser may read: these and no others, whatever path it asks for."""

    def __init__(self) -> None:
        found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
        self.files = {f"/{path.relative_to(ROOT).as_posix()}": path for path in found}
        self.files["/"] = ROOT / FOLDERS[0] / "index.html"
        self.read: dict[Path, tuple[float, bytes, bytes, str]] = {}

    def get(self, path: str) -> tuple[bytes, bytes, str, str] | None:
        """(bytes, the same compressed, mark of this version, kind) of a file."""
        file = self.files.get(path)
        if file is None:
            return None
        when = file.stat().st_mtime
        known = self.read.get(file)
        if known is None or known[0] != when:
            data = file.read_bytes()
            known = (when, data, gzip.compress(data, 6), f'"{blake2b(data, digest_size=8).hexdigest()}"')
            self.read[file] = known
        return known[1], known[2], known[3], KINDS[file.suffix]


class Studio:
    """The ASGI app inside the guard."""

    def __init__(self, answers: Workers, streams: Workers) -> None:
        self.page, self.answers, self.streams = Page(), answers, streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path, method = scope["path"], scope["method"]
        if path.startswith("/api/"):
            name = path.removeprefix("/api/")
            if name not in TABLE:
                await _error(send, 404, "", "there is no such action")
            elif method != "POST":
                await _error(send, 405, "", "an action is asked for by POST")
            else:
                await self._api(name, receive, send)
            return
        found = self.page.get(path)
        if found is None or method not in ("GET", "HEAD"):
            await _error(send, 404, "", "there is no such page")
            return
        data, small, mark, kind = found
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        named = {"content-type": kind, "etag": mark, "cache-control": "no-cache", "vary": "accept-encoding"}
        if headers.get("if-none-match") == mark:
            await _say(send, 304, b"", named)
            return
        if "gzip" in headers.get("accept-encoding", ""):
            data, named["content-encoding"] = small, "gzip"
        await _say(send, 200, data if method == "GET" else b"", named)

    async def _api(self, name: str, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            return
        try:
            fields = json.loads(body or b"{}")
            if not isinstance(fields, dict):
                raise ValueError
        except (ValueError, RecursionError):
            await _error(send, 400, "", "a question must be a JSON object")
            return
        workers = self.streams if TABLE[name].streams else self.answers
        give = _stream if TABLE[name].streams else _answer
        work = asyncio.create_task(give(send, workers.ask(name, fields)))
        left = asyncio.create_task(_left(receive))
        await asyncio.wait((work, left), return_when=asyncio.FIRST_COMPLETED)
        for task in (work, left):
            task.cancel()
        await asyncio.gather(work, left, return_exceptions=True)


async def _answer(send: Send, parts: AsyncIterator[bytes]) -> None:
    """The one answer, or what is wrong."""
    try:
        *_, said = [part async for part in parts]
        await _say(send, 200, said, {"content-type": JSON, "cache-control": "no-store"})
    except (FieldError, RuntimeError) as error:
        status, field, message = _wrong(error)
        await _error(send, status, field, message)


async def _stream(send: Send, parts: AsyncIterator[bytes]) -> None:
    """A line for each part; the headers wait for the first, so that a refusal has its own status."""
    begun = False
    try:
        async for said in parts:
            if not begun:
                named = {"content-type": "application/x-ndjson", "cache-control": "no-store"}
                await send(_start(200, named))
                begun = True
            if said != b"{}":  # the end of a stream says nothing of its own
                await send({"type": "http.response.body", "body": said + b"\n", "more_body": True})
    except (FieldError, RuntimeError) as error:
        status, field, message = _wrong(error)
        if not begun:
            await _error(send, status, field, message)
            return
        line = json.dumps({"error": {"field": field or None, "message": message}}).encode() + b"\n"
        await send({"type": "http.response.body", "body": line, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _wrong(error: FieldError | RuntimeError) -> tuple[int, str, str]:
    """Status, field and words for what went wrong; a failure of ours is told to the terminal alone."""
    if isinstance(error, FieldError):
        return 422, error.field, str(error)
    if isinstance(error, BusyError):
        return 503, "", str(error)
    print(f"the studio could not answer: {error}", file=sys.stderr)
    return 500, "", "this went wrong in the studio; its terminal says how"


async def _left(receive: Receive) -> None:
    """Until the one who asked has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive) -> bytes | None:
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _start(status: int, named: dict[str, str]) -> Message:
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
    return {"type": "http.response.start", "status": status, "headers": pairs}


async def _say(send: Send, status: int, data: bytes, named: dict[str, str]) -> None:
    await send(_start(status, {**named, "content-length": str(len(data))} if status != 304 else named))
    await send({"type": "http.response.body", "body": data})


async def _error(send: Send, status: int, field: str, message: str) -> None:
    said = json.dumps({"error": {"field": field or None, "message": message}}, ensure_ascii=False)
    await _say(send, status, said.encode(), {"content-type": JSON, "cache-control": "no-store"})
