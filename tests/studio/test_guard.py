import asyncio

import pytest

from regard.studio import limits
from regard.studio.guard import Guard, loopback, stamp
from regard.studio.server import check_address

TOKEN = "correct horse battery"


async def inner(scope, receive, send):
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside" + body})


def ask(token=None, path="/", query="", body=(b"",), kind="http", **headers):
    """Status, headers and text of one request."""
    headers = {"host": "127.0.0.1:7860", **headers}
    scope = {
        "type": kind, "path": path, "query_string": query.encode(),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    last = len(body) - 1
    parts = [{"type": "http.request", "body": one, "more_body": i < last} for i, one in enumerate(body)]
    said = []

    async def receive():
        return parts.pop(0)

    async def send(message):
        said.append(message)

    asyncio.run(Guard(inner, token)(scope, receive, send))
    if not said or said[0]["type"] != "http.response.start":
        return None, {}, ""
    named = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return said[0]["status"], named, b"".join(one.get("body", b"") for one in said[1:]).decode()


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7860", "127.0.0.2", "localhost:80", "localhost", "[::1]:7860", "[::1]"]
)
def test_this_machine_may_come_in(host):
    status, headers, text = ask(host=host)
    assert (status, text) == (200, "inside")
    assert "connect-src 'self'" in headers["content-security-policy"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost:80.evil"])
def test_other_names_may_not(host):
    assert ask(host=host)[0] == 403


def test_without_the_token_nobody_comes_in():
    for headers in ({}, {"cookie": "regard-studio=x"}, {"authorization": "Bearer x"}, {"cookie": "=;;\x01"}):
        status, _, text = ask(TOKEN, host="studio.example", **headers)
        assert (status, text[:11]) == (401, "this studio")
    assert ask(TOKEN, query="token=wrong")[0] == 401
    assert ask(TOKEN, kind="websocket")[0] is None


def test_the_token_opens_the_door_once_and_the_cookie_from_then_on():
    status, headers, _ = ask(TOKEN, path="/", query="a=1&token=correct+horse+battery")
    assert (status, headers["location"]) == (303, "/?a=1")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    assert TOKEN not in headers["set-cookie"]
    assert ask(TOKEN, cookie=headers["set-cookie"].partition(";")[0])[0] == 200
    assert ask(TOKEN, authorization=f"Bearer {TOKEN}")[0] == 200
    assert stamp(TOKEN) != stamp(TOKEN + "!")


def test_the_redirect_stays_here():
    _, headers, _ = ask(TOKEN, path="//evil.example/", query="token=correct+horse+battery")
    assert headers["location"] == "/evil.example/"


def test_long_bodies_are_cut_off():
    assert ask(content_length=str(limits.BODY + 1))[0] == 413
    assert ask(content_length="many")[0] == 400
    part = bytes(limits.BODY // 2)
    assert ask(body=(part, part, b"x"))[0] is None
    assert ask(body=(b"a", b"b"))[2] == "insideab"


def test_addresses():
    check_address("127.0.0.1", 7860, None)
    check_address("0.0.0.0", 0, TOKEN)
    for host in ("0.0.0.0", "192.168.1.5", "studio.example", "::", ""):
        assert not loopback(host)
        with pytest.raises(ValueError, match="a token is required"):
            check_address(host, 7860, None)
    with pytest.raises(ValueError, match="at least 12 plain characters, got 5"):
        check_address("127.0.0.1", 7860, "short")
    with pytest.raises(ValueError, match="port must be at most 65,535"):
        check_address("127.0.0.1", 70_000, None)
