"""Where sets are found, and what a bad download leaves behind: nothing. The server is our own."""

import hashlib
import http.server
import io
import os
import re
import sys
import tarfile
import threading
from dataclasses import replace
from typing import ClassVar

import pytest

from regard.data.fetch import Published, find
from regard.data.files import Known
from regard.errors import how_to_install

pytest.importorskip("pooch")
CONTENT = b"the content of the set\n" * 50


def known(name: str, data: bytes) -> Known:
    return Known(name, "md5:" + hashlib.md5(data).hexdigest(), len(data))


def packed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as out:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


ARCHIVE = packed({"root/a.bin": CONTENT, "root/readme.html": b"no"})
SINGLE = Published(
    name="single", folder="single-set", address="", files=(known("a.bin", CONTENT),), instead="digits"
)
PACKED = replace(
    SINGLE,
    name="packed",
    folder="packed-set",
    archive=known("set.tar.gz", ARCHIVE),
    root="root",
    wanted=r".*\.bin",
)


@pytest.fixture
def server():
    """Files to serve by name; a file named in `cut` breaks off in the middle."""

    class Handler(http.server.BaseHTTPRequestHandler):
        served: ClassVar = {"a.bin": CONTENT, "set.tar.gz": ARCHIVE}
        cut: ClassVar = set()
        asked: ClassVar = []

        def do_GET(self):
            name = self.path.strip("/")
            self.asked.append(name)
            if name not in self.served:
                self.send_error(404)
                return
            data = self.served[name]
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if name in self.cut else data)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        Handler.address = f"http://127.0.0.1:{running.server_port}/"
        yield Handler
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("source", [SINGLE, PACKED], ids=["single", "packed"])
def test_downloaded_once_into_the_named_folder(source, server, tmp_path, capfd):
    source = replace(source, address=server.address)
    for _ in range(2):
        folder = find(source, tmp_path / "new" / "data")
        assert folder == tmp_path / "new" / "data" / source.folder
        assert os.listdir(folder) == ["a.bin"]
        assert (folder / "a.bin").read_bytes() == CONTENT
    assert len(server.asked) == 1
    assert os.listdir(tmp_path / "new" / "data") == [source.folder]
    assert "100%" in capfd.readouterr().err


def test_the_order_of_the_places(server, tmp_path, monkeypatch):
    source = replace(SINGLE, address=server.address)
    cached = find(source, None)
    assert (tmp_path / "cache") in cached.parents
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "variable"))
    assert find(source, None) == cached
    assert find(source, tmp_path / "argument") == cached
    for name in ("variable", "argument"):
        (tmp_path / name / source.folder).mkdir(parents=True)
        (tmp_path / name / source.folder / "a.bin").write_bytes(CONTENT)
    assert find(source, None) == tmp_path / "variable" / source.folder
    assert find(source, str(tmp_path / "argument")) == tmp_path / "argument" / source.folder
    monkeypatch.setenv("REGARD_DATA", "")
    assert find(source, None) == cached
    assert len(server.asked) == 1


def test_a_set_that_is_there_needs_no_other_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=re.escape(f"pooch is not installed: {how_to_install('data')}")):
        find(SINGLE, tmp_path)
    (tmp_path / SINGLE.folder).mkdir()
    (tmp_path / SINGLE.folder / "a.bin").write_bytes(CONTENT)
    assert find(SINGLE, tmp_path) == tmp_path / SINGLE.folder


def test_an_archive_that_was_put_there_is_unpacked(tmp_path):
    (tmp_path / "set.tar.gz").write_bytes(ARCHIVE)
    folder = find(replace(PACKED, address="http://127.0.0.1:9/"), tmp_path)
    assert (folder / "a.bin").read_bytes() == CONTENT
    assert (tmp_path / "set.tar.gz").read_bytes() == ARCHIVE


@pytest.mark.parametrize("data", [ARCHIVE[:-20], b"", ARCHIVE[:40] + b"x" + ARCHIVE[41:]])
def test_a_damaged_archive_that_was_put_there_is_named(data, tmp_path):
    (tmp_path / "set.tar.gz").write_bytes(data)
    with pytest.raises(ValueError, match=r"set\.tar\.gz does not have the official checksum .* remove it"):
        find(PACKED, tmp_path)
    assert os.listdir(tmp_path) == ["set.tar.gz"]


@pytest.mark.parametrize("source", [SINGLE, PACKED], ids=["single", "packed"])
@pytest.mark.parametrize("fault", ["changed", "cut", "missing"])
def test_a_bad_download_leaves_nothing(source, fault, server, tmp_path):
    source = replace(source, address=server.address)
    name = source.downloads[0].name
    if fault == "changed":
        server.served = {name: server.served[name][:-1] + b"!"}
        error, message = (
            ValueError,
            f"{name} gave something that does not have the official checksum .* try again",
        )
    elif fault == "cut":
        server.cut = {name}
        error, message = (ValueError, ConnectionError), name
    else:
        server.served = {}
        error, message = ConnectionError, f"{name} cannot be downloaded .HTTPError."
    with pytest.raises(error, match=message):
        find(source, tmp_path / "data")
    assert not (tmp_path / "data").exists()
    server.served, server.cut = {"a.bin": CONTENT, "set.tar.gz": ARCHIVE}, set()
    assert (find(source, tmp_path / "data") / "a.bin").read_bytes() == CONTENT


def test_an_archive_without_the_files_is_refused(server, tmp_path):
    data = packed({"root/b.bin": CONTENT})
    server.served = {"set.tar.gz": data}
    source = replace(PACKED, address=server.address, archive=known("set.tar.gz", data))
    with pytest.raises(ValueError, match=r"lacks a\.bin"):
        find(source, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_half_a_set_is_neither_used_nor_overwritten(server, tmp_path):
    source = replace(PACKED, files=(*PACKED.files, known("b.bin", b"b")), address=server.address)
    folder = tmp_path / source.folder
    folder.mkdir()
    (folder / "a.bin").write_bytes(b"mine")
    with pytest.raises(
        ValueError, match=r"lacks b\.bin, so packed is there only in part; remove .*packed-set"
    ):
        find(source, tmp_path)
    assert (folder / "a.bin").read_bytes() == b"mine"
    assert server.asked == []


@pytest.mark.parametrize(
    ("source", "where"), [(SINGLE, "a.bin into .*single-set"), (PACKED, "set.tar.gz into ")]
)
def test_without_a_network(source, where, tmp_path):
    source = replace(source, address="http://127.0.0.1:9/")  # nobody listens at the port "discard"
    with pytest.raises(ConnectionError) as caught:
        find(source, tmp_path / "data")
    assert caught.match(f"{source.name} is not in .*data or .*cache.* put {where}.*embedded set 'digits'")
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises((ValueError, OSError)):
        find(replace(SINGLE, address=server.address), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "in the way"
