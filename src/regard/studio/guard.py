"""What stands between the network and the rooms: who may come in, how much they may send, where pages may go.

A plain ASGI wrapper. Without a token only this machine's own names are answered, so that no foreign page can
reach the studio by giving its own name this machine's address.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from regard.studio import limits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "regard-studio"
# Gradio writes scripts into its page and builds functions from text; nothing may come from or go elsewhere.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; "
    "frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class Guard:
    """Wraps an app: a token or this machine's name, a bound on what is sent, and the policy above."""

    def __init__(self, app: App, token: str | None = None) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refused(scope, headers)
        if refusal is not None:
            await _say(send, *refusal)
            return
        if not headers.get("content-length", "0").isdigit():
            await _say(send, 400, "content-length must be a number")
            return
        if int(headers.get("content-length", "0")) > limits.BODY:
            await _say(send, 413, f"a request may have at most {limits.BODY:,} bytes")
            return
        await self.app(scope, _bounded(receive), _dressed(send))

    def _refused(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """Status, text and headers of a refusal; None where the visitor may come in."""
        if self.token is None:
            host = re.sub(r":\d+$", "", headers.get("host", ""))
            if loopback(host.removeprefix("[").removesuffix("]")):
                return None
            return 403, "this studio answers to localhost only", {}
        if same(_cookie(headers), stamp(self.token)):
            return None
        if same(headers.get("authorization", ""), f"Bearer {self.token}"):
            return None
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        if same(dict(query).get("token", ""), self.token):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            to = scope["path"] + (f"?{rest}" if rest else "")
            cookie = f"{COOKIE}={stamp(self.token)}; HttpOnly; SameSite=Strict; Path=/"
            return 303, "come in", {"location": "/" + to.lstrip("/"), "set-cookie": cookie}
        return 401, "this studio needs its token: open the address with ?token=… that was printed", {}


def loopback(host: str) -> bool:
    """Whether a name or address means this machine to itself.

    >>> loopback("localhost"), loopback("::1"), loopback("0.0.0.0"), loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def stamp(token: str) -> str:
    """What the cookie holds: it proves the token without being it."""
    return hmac.new(token.encode(), b"regard studio", hashlib.sha256).hexdigest()


def same(given: str, wanted: str) -> bool:
    """Whether two texts are equal, in a time that does not tell how far."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def _cookie(headers: dict[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _bounded(receive: Receive) -> Receive:
    """The same body, cut off where it becomes longer than it said or may be."""
    taken = 0

    async def take() -> MutableMapping[str, Any]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return {"type": "http.disconnect"} if taken > limits.BODY else message

    return take


def _dressed(send: Send) -> Send:
    async def give(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return give


async def _say(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    named = {"content-type": "text/plain; charset=utf-8", **HEADERS, **(headers or {})}
    pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode()})
