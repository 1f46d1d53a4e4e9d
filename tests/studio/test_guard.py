import pytest

from regard.studio import limits
from regard.studio.guard import Guard, foreign, loopback
from regard.studio.quotas import Tally
from regard.studio.server import check_address
from tests.studio.conftest import in_a_thread

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


def ask(token=None, path="/", query="", body=(b"",), kind="http", method="GET", guard=None, **headers):
    """Status, headers and text of one request."""
    headers = {"host": "127.0.0.1:7860", **headers}
    scope = {
        "type": kind, "path": path, "query_string": query.encode(), "method": method,
        "client": ("10.0.0.7", 5000),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    last = len(body) - 1
    parts = [{"type": "http.request", "body": one, "more_body": i < last} for i, one in enumerate(body)]
    said = []

    async def receive():
        return parts.pop(0)

    async def send(message):
        said.append(message)

    in_a_thread((Guard(inner, token) if guard is None else guard)(scope, receive, send))
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
    guard = Guard(inner, TOKEN)
    status, headers, _ = ask(guard=guard, path="/", query="a=1&token=correct+horse+battery")
    assert (status, headers["location"]) == (303, "/?a=1")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    assert TOKEN not in headers["set-cookie"]
    cookie = headers["set-cookie"].partition(";")[0]
    assert ask(guard=guard, cookie=cookie)[0] == 200
    assert ask(TOKEN, cookie=cookie)[0] == 401  # another studio, though its token is the same
    assert ask(TOKEN, authorization=f"Bearer {TOKEN}")[0] == 200


def test_tokens_cannot_be_tried_out_for_long():
    guard = Guard(inner, TOKEN)
    _, headers, _ = ask(guard=guard, query="token=correct+horse+battery")
    for i in range(limits.ATTEMPTS):
        way = {"query": f"token=guess{i}"} if i % 2 else {"authorization": f"Bearer guess{i}"}
        assert ask(guard=guard, **way)[0] == 401
    status, said, _ = ask(guard=guard, query="token=correct+horse+battery")
    assert (status, said["retry-after"]) == (429, "60")
    assert ask(guard=guard, authorization=f"Bearer {TOKEN}")[0] == 429
    assert ask(guard=guard)[0] == 401  # who tries nothing is told what is needed
    assert ask(guard=guard, cookie=headers["set-cookie"].partition(";")[0])[0] == 200  # who is in stays in
    guard.wrong.clock = lambda: guard.wrong.used["10.0.0.7"][-1][0] + 61
    assert ask(guard=guard, query="token=correct+horse+battery")[0] == 303


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "GET"])
@pytest.mark.parametrize("token", [None, TOKEN])
def test_pages_of_another_origin_can_do_nothing(method, token):
    known = {} if token is None else {"authorization": f"Bearer {token}"}
    for origin in ("http://evil.example", "null", "", "http://127.0.0.1:7861", "http://127.0.0.1"):
        status, _, text = ask(token, method=method, path="/api/vision/look", origin=origin, **known)
        assert (status, text) == (403, "this studio takes nothing from pages of another origin")
    assert ask(token, method=method, origin="http://127.0.0.1:7860", **known)[0] == 200
    assert ask(token, method=method, **known)[0] == 200  # a program, which no page can make use of


def test_a_link_from_elsewhere_leads_here_and_a_form_does_not():
    there = {"host": "a", "sec-fetch-site": "cross-site"}
    assert not foreign("GET", there)
    assert foreign("POST", there)
    assert not foreign("POST", {"host": "a", "sec-fetch-site": "same-origin"})


def test_uploads_have_a_quota(monkeypatch):
    monkeypatch.setattr(limits, "VISITOR", 1000)
    monkeypatch.setattr(limits, "SMALL", 100)
    guard = Guard(inner, None)

    def send(size):
        return ask(guard=guard, method="POST", path="/api/vision/look", content_length=str(size))

    assert [send(400)[0] for _ in range(3)] == [200, 200, 429]
    assert "at most 1,000 bytes may be uploaded in 10 minutes" in send(400)[2]
    assert send(90)[0] == 200  # a small question is no upload
    assert send(200)[0] == 200  # what was refused was not counted
    assert ask(guard=guard, body=(bytes(60), bytes(60)))[0] is None  # nor may a body without a length be one


def test_a_token_can_be_typed():
    guard = Guard(inner, TOKEN)
    html = {"accept": "text/html,*/*"}
    status, headers, page = ask(guard=guard, **html)
    assert (status, "<form" in page, "password" in page) == (401, True, True)
    assert "script-src 'self'" in headers["content-security-policy"]
    assert ask(guard=guard)[2].startswith("this studio needs its token")  # to a program

    def login(token, **more):
        body = (f"token={token.replace(' ', '+')}".encode(),)
        return ask(guard=guard, method="POST", path="/login", body=body, **more)

    status, headers, _ = login(TOKEN)
    assert (status, headers["location"]) == (303, "/")
    assert ask(guard=guard, cookie=headers["set-cookie"].partition(";")[0])[0] == 200
    assert login(TOKEN, origin="http://evil.example")[0] == 403
    for _ in range(limits.ATTEMPTS):
        status, _, page = login("<b>wrong")
        assert (status, "that is not the token" in page) == (401, True)
    assert login(TOKEN)[0] == 429
    assert ask(Guard(inner).token, method="POST", path="/login")[0] == 200  # without a token there is no door


def test_a_tally_forgets():
    now = [0.0]
    tally = Tally(10, most=3, clock=lambda: now[0])
    tally.add("a", 2)
    now[0] = 6
    tally.add("a")
    assert tally.full("a")
    now[0] = 10.5
    assert not tally.full("a", 2)
    assert tally.full("a", 3)
    for i in range(5000):
        tally.add(str(i))
    assert len(tally.used) <= 4096


def test_the_redirect_stays_here():
    _, headers, _ = ask(TOKEN, path="//evil.example/", query="token=correct+horse+battery")
    assert headers["location"] == "/evil.example/"


def test_long_bodies_are_cut_off():
    assert ask(content_length=str(limits.BODY + 1))[0] == 413
    assert ask(content_length="many")[0] == 400
    part, length = bytes(limits.BODY // 2), {"content_length": str(limits.BODY)}
    assert ask(body=(part, part, b"x"), **length)[0] is None
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
