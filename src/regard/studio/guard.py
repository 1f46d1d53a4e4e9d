"""What stands between the network and the rooms: who may come in, how much they may send, where pages may go.

A plain ASGI wrapper. Without a token only this machine's own names are answered, so that no foreign page can
reach the studio by giving its own name this machine's address. A page of another origin can send requests all
the same, so what says that it comes from one is refused.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from regard.studio import limits
from regard.studio.quotas import Tally

Message = MutableMapping[str, Any]  # of ASGI, as are the others
Scope = Message
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

Refusal = tuple[int, str, dict[str, str]]  # status, text and headers

COOKIE = "regard-studio"
# The page has no script, style or address but the files beside it; pictures may be drawn into it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Wraps an app: a token or this machine's name, bounds on what is sent, and the policy above.

    The cookie proves that its owner had the token, and nothing can be learned of the token from it.
    """

    def __init__(self, app: App, token: str | None = None) -> None:
        self.app = app
        self.token = token
        self.stamp = secrets.token_hex(32)
        self.wrong = Tally(60, limits.ATTEMPTS)
        self.brought = Tally(60 * limits.MINUTES, limits.VISITOR)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        if self.token is not None and (scope["method"], scope["path"]) == ("POST", "/login"):
            if foreign("POST", headers):
                await _say(send, 403, "this studio takes nothing from pages of another origin")
            else:
                await self._login(self.token, scope, receive, send)
            return
        refusal = self._refused(scope, headers)
        if refusal is None and foreign(scope["method"], headers):
            refusal = 403, "this studio takes nothing from pages of another origin", {}
        if refusal is not None:
            page = refusal[0] in (401, 429) and "text/html" in headers.get("accept", "")
            await (_door(send, *refusal) if page else _say(send, *refusal))
            return
        if not headers.get("content-length", "0").isdigit():
            await _say(send, 400, "content-length must be a number")
            return
        if int(headers.get("content-length", "0")) > limits.BODY:
            await _say(send, 413, f"a request may have at most {limits.BODY:,} bytes")
            return
        if (length := int(headers.get("content-length", "0"))) > limits.SMALL:
            if self.brought.full(visitor(scope), length):
                why = f"at most {limits.VISITOR:,} bytes may be uploaded in {limits.MINUTES} minutes"
                await _say(send, 429, why, {"retry-after": "60"})
                return
            self.brought.add(visitor(scope), length)
        await self.app(
            scope, _bounded(receive, limits.SMALL if length <= limits.SMALL else limits.BODY), _dressed(send)
        )

    async def _login(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        """The door's form: its one field is the token."""
        taken = b""
        while len(taken) < limits.EXPRESSION:
            message = await receive()
            taken += message.get("body", b"")
            if not message.get("more_body"):
                break
        given = dict(parse_qsl(taken.decode("utf-8", "replace"))).get("token", "").strip()
        if self.wrong.full(visitor(scope)):
            await _door(send, 429, "too many wrong tokens: try again in a minute", {"retry-after": "60"})
        elif same(given, token):
            await _say(send, 303, "come in", {"location": "/", "set-cookie": self._cookie()})
        else:
            self.wrong.add(visitor(scope))
            await _door(send, 401, "that is not the token that was printed when the studio started", {})

    def _cookie(self) -> str:
        return f"{COOKIE}={self.stamp}; HttpOnly; SameSite=Strict; Path=/"

    def _refused(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """None where the visitor may come in."""
        if self.token is None:
            host = re.sub(r":\d+$", "", headers.get("host", ""))
            if loopback(host.removeprefix("[").removesuffix("]")):
                return None
            return 403, "this studio answers to localhost only", {}
        if same(_cookie(headers), self.stamp):
            return None
        return self._tried(self.token, scope, headers)

    def _tried(self, token: str, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """The same for somebody who shows a token, or nothing."""
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token"), headers.get("authorization")
        if given != (None, None):
            if self.wrong.full(visitor(scope)):  # the right one, too: guesses must take their time
                return 429, "too many wrong tokens: try again in a minute", {"retry-after": "60"}
            if same(given[1] or "", f"Bearer {token}"):
                return None
            if same(given[0] or "", token):
                rest = urlencode([(name, value) for name, value in query if name != "token"])
                to = scope["path"] + (f"?{rest}" if rest else "")
                return 303, "come in", {"location": "/" + to.lstrip("/"), "set-cookie": self._cookie()}
            self.wrong.add(visitor(scope))
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


def foreign(method: str, headers: dict[str, str]) -> bool:
    """Whether a page of another origin sent this, by what browsers say; programs say nothing of the kind.

    >>> foreign("POST", {"host": "localhost:7860", "origin": "http://localhost:7860"})
    False
    >>> foreign("POST", {"host": "localhost:7860", "origin": "http://evil.example"})
    True
    """
    origin = headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc != headers.get("host", "")
    reads = method in ("GET", "HEAD")  # a link from elsewhere may lead here
    return not reads and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def visitor(scope: Scope) -> str:
    """Whom a request came from, as far as the network tells."""
    client = scope.get("client")
    return "" if client is None else str(client[0])


def same(given: str, wanted: str) -> bool:
    """Whether two texts are equal, in a time that does not tell how far."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def _cookie(headers: dict[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _bounded(receive: Receive, most: int) -> Receive:
    """The same body, cut off where it becomes longer than it said or may be."""
    taken = 0

    async def take() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return {"type": "http.disconnect"} if taken > most else message

    return take


def _dressed(send: Send) -> Send:
    async def give(message: Message) -> None:
        if message["type"] == "http.response.start":
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return give


async def _door(send: Send, status: int, text: str, headers: dict[str, str]) -> None:
    """The page of somebody who has yet to show the token."""
    page = (Path(__file__).parent / "door.html").read_text(encoding="utf-8").replace("{said}", escape(text))
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    mark = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = POLICY.replace("style-src 'self'", f"style-src 'sha256-{mark}'")
    kind = {"content-type": "text/html; charset=utf-8", "content-security-policy": policy}
    await _say(send, status, page, {**headers, **kind})


async def _say(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    named = {"content-type": "text/plain; charset=utf-8", **HEADERS, **(headers or {})}
    pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode()})
