"""What a careless or hostile visitor may send: a limit, a message, and a server that stays up."""

import json
import time
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from regard.paper.pixels import png
from regard.pattern import parse
from regard.studio import limits
from regard.studio.rooms import sentiment
from regard.train import load_run


@pytest.fixture(autouse=True)
def stays_up(studio):
    yield
    assert studio.process.poll() is None
    assert studio.get("/")[0] == 200


def drawn(studio, text, big=""):
    done, said = studio.ask("text-a", "change", **{"text-a": text, "big": big})
    assert done, said
    return said["data"][1]


@pytest.mark.parametrize(
    ("text", "big", "message"),
    [
        ("causal" + " | causal" * 1200, "", "may have at most 1,000 characters here, got 10,806"),
        ("causal" + " " * 9_990, "", "may have at most 1,000 characters here, got 9,996"),
        ("~" * 900 + "full", "", "more than 100 levels"),
        (" | ".join(f"strided({i})" for i in range(20)), "", "at most 8 single values here, got 20"),
        ("causal", "99999999", "n must be a whole number from 1 to 65,536, got 99,999,999"),
        ("causal", "-1", "n must be a whole number from 1 to 65,536"),
        ("strided(99999999999999999999)", "", "back must be at most"),
        ("__import__('os').system('true')", "", "no pattern is called '__import__'"),
        ("<img src=x onerror=alert(1)>", "", "&lt;img src=x"),
        (None, "", "a pattern must be a text"),
        ({"a": [1]}, "", "has no meaning here"),
    ],
)
def test_expressions_and_lengths(studio, text, big, message):
    said = drawn(studio, text, big)
    assert 'class="fault"' in said
    assert message in said.replace("&#x27;", "'")
    assert "<img" not in said


def test_a_formula_that_takes_long_is_not_worked_out(studio):
    begin = time.perf_counter()
    assert "<svg" in drawn(studio, "windowed(16) | windowed(9) | windowed(5) | windowed(7)")
    assert time.perf_counter() - begin < 20  # its formula takes over a minute


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tokens": 10**15}, "tokens must be a whole number from 1 to 1,048,576"),
        ({"tokens": None}, "tokens must be a whole number"),
        ({"tokens": float("1e308")}, "tokens must be a whole number"),
        ({"batch": 0}, "batch must be a whole number from 1 to 65,536"),
        ({"config": "["}, "this is no JSON"),
        ({"config": "[" * 15_000}, "this is no JSON"),
        ({"config": "x" * 20_001}, "at most 20,000 characters"),
        ({"config": '{"model_type": "gpt2", "n_layer": 1000000000}'}, "n_layer may be at most 4,096"),
        ({"config": '{"model_type": "gpt2"}'}, "is missing"),
    ],
)
def test_costs(studio, values, message):
    if "config" in values:
        values = {"cost-model": "config.json, pasted below", **values}
    done, said = studio.ask("tokens", "change", **values)
    assert done, said
    assert message in said["data"][0]


def test_only_models_that_are_offered(studio):
    assert studio.ask("tokens", "change", **{"cost-model": "../../etc/passwd"})[0] is False
    assert studio.ask("write", "click", **{"dialogue-model": "zoo:../secret"})[0] is False


def test_a_pasted_config_is_priced(studio):
    config = {"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_layer": 12, "n_embd": 768,
              "n_head": 12}  # fmt: skip
    values = {"cost-model": "config.json, pasted below", "config": json.dumps(config)}
    done, said = studio.ask("tokens", "change", **values)
    assert done
    assert "124,439,808" in said["data"][0]


def uploaded(studio, name, data):
    """The path that an upload got."""
    mark = uuid.uuid4().hex
    head = f'--{mark}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    body = head.encode() + data + f"\r\n--{mark}--\r\n".encode()
    return studio.post("gradio_api/upload", body, f"multipart/form-data; boundary={mark}")


def looked(studio, path, name):
    file = {"path": path, "orig_name": name, "meta": {"_type": "gradio.FileData"}}
    return studio.ask("upload", "change", upload=file)


def bomb():
    """A small file that says it has 100 million pixels."""
    import struct
    import zlib

    data = png(torch.zeros(1, 1, 3, dtype=torch.uint8))
    head = struct.pack(">IIBBBBB", 10_000, 10_000, 8, 2, 0, 0, 0)
    return data[:16] + head + struct.pack(">I", zlib.crc32(b"IHDR" + head)) + data[33:]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("evil.png", b"cos\nsystem\n(S'true'\ntR.", "is no image that can be read"),
        ("bomb.png", bomb(), "must have at most 64,000,000 pixels"),
        ("cut.png", png(torch.zeros(40, 40, 3, dtype=torch.uint8))[:60], "damaged image"),
        ("empty.png", b"", "is no image that can be read"),
        ("text.gif.png", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", ".png"),
    ],
)
def test_pictures_that_are_none(studio, name, data, message):
    status, said = uploaded(studio, name, data)
    assert status == 200, said
    done, out = looked(studio, json.loads(said)[0], name)
    assert done, out
    assert 'class="fault"' in out["data"][1]
    assert message in out["data"][1]
    assert "/" not in out["data"][1].replace("</div>", "").replace("&#x27;", ""), "no folder of ours is told"


def test_uploads_have_a_size(studio):
    for count in (limits.UPLOAD + 1, limits.BODY + 1):
        try:
            assert uploaded(studio, "big.png", bytes(count))[0] == 413
        except urllib.error.URLError as error:  # the door was shut before all was said
            assert isinstance(error.reason, ConnectionError)  # noqa: PT017


def test_another_kind_of_file_is_refused(studio):
    status, said = uploaded(studio, "model.pkl", b"cos\nsystem\n(S'true'\ntR.")
    assert status == 200
    done, _ = looked(studio, json.loads(said)[0], "model.pkl")
    assert not done


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../../etc/passwd", "file:///etc/passwd"])
def test_files_of_the_server_are_not_read(studio, path):
    done, out = looked(studio, path, "x.png")
    assert not done or "fault" in str(out)
    assert "root:" not in str(out)


@pytest.mark.parametrize(
    "path",
    [
        "gradio_api/file=/etc/passwd",
        "gradio_api/file=../../../../../../etc/passwd",
        "gradio_api/file=%2Fetc%2Fpasswd",
        "gradio_api/file=pyproject.toml",
        "gradio_api/file=src/regard/__init__.py",
        "file=/etc/passwd",
        "static/../../../../../../etc/passwd",
        "static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "assets/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "gradio_api/proxy=http://example.org/",
        "docs",
        "openapi.json",
    ],
)
def test_paths_lead_nowhere(studio, path):
    status, said = studio.get(path)
    assert status >= 400, said[:200]
    assert "root:" not in said


def test_foreign_names_are_not_answered(studio):
    assert studio.get("/", Host="evil.example")[0] == 403
    assert studio.get("/", Host="localhost")[0] == 200


def test_pages_of_another_origin_send_nothing(studio):
    for path in ("gradio_api/upload", "gradio_api/queue/join", "gradio_api/cancel"):
        headers = {"content-type": "text/plain", "origin": "http://evil.example"}
        request = urllib.request.Request(studio.address + path, data=b"{}", headers=headers)
        status, said = studio._send(request)
        assert (status, said) == (403, "this studio takes nothing from pages of another origin")


def test_visitors_of_one_model_get_their_own_verdicts(studio, runs):
    """Each as if there were no other: what is looked at is not changed by looking."""
    run = load_run(runs[2])
    words = ("the acting is", "dull", "not", "a film of", "one", "minute", "never", "wonderful")
    texts = [" ".join(words[(i * j) % 8] for j in range(1, 3 + i % 7)) for i in range(1, 25)]
    want = [sentiment.answer(run, text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda text: studio.ask("review", "change", review=text), texts))
    assert [out["data"][0] if done else out for done, out in said] == want


def test_sixteen_visitors_at_once(studio):
    def ask(i):
        n = 40 + i
        return f"{parse('strided(9)').pairs(n):,} of" in drawn(studio, "strided(9)", str(n))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(16)))
    with ThreadPoolExecutor(16) as pool:
        words = list(pool.map(lambda i: studio.ask("write", "click", prompt="A", new=20), range(16)))
    assert all(done for done, _ in words)
