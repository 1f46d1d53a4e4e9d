"""Files that are whole or not there."""

import gzip
import hashlib
import os

import pytest

from regard.data import files
from regard.data.files import Known, matches, new_folder, read_known, unzipped


def known(data: bytes, name="x.bin") -> Known:
    return Known(name, "md5:" + hashlib.md5(data).hexdigest(), len(data))


def test_a_good_copy_is_read(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"content")
    assert read_known(tmp_path, known(b"content")) == b"content"
    assert matches(b"content", "sha256:" + hashlib.sha256(b"content").hexdigest())


@pytest.mark.parametrize(
    ("have", "message"),
    [(b"conte", "has 5 bytes where the official file has 7"), (b"cOntent", "checksum md5:")],
)
def test_a_damaged_copy_is_named(tmp_path, have, message):
    (tmp_path / "x.bin").write_bytes(have)
    with pytest.raises(ValueError, match=rf"x\.bin .*{message}.* damaged; remove .* load the set again"):
        read_known(tmp_path, known(b"content"))


def test_a_missing_copy_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"x\.bin cannot be read: No such file"):
        read_known(tmp_path, known(b"content"))


@pytest.mark.parametrize("cut", [0, 1, 5, 20, -1])
def test_a_cut_gzip_file_is_named(tmp_path, cut):
    whole = gzip.compress(bytes(range(256)) * 10)
    assert unzipped(whole, tmp_path / "a.gz") == bytes(range(256)) * 10
    if cut:
        with pytest.raises(ValueError, match=r"a\.gz is no whole gzip file"):
            unzipped(whole[:cut], tmp_path / "a.gz")
    with pytest.raises(ValueError, match=r"a\.gz is no whole gzip file"):
        unzipped(b"neither" + whole, tmp_path / "a.gz")


def _interrupted(final):
    with new_folder(final) as fresh:
        (fresh / "half").write_text("x")
        raise KeyboardInterrupt


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    final = tmp_path / "deep" / "set"
    with pytest.raises(KeyboardInterrupt):
        _interrupted(final)
    assert os.listdir(tmp_path) == []
    with new_folder(final) as fresh:
        assert not final.exists()
        (fresh / "file").write_text("first")
    assert (final / "file").read_text() == "first"
    with new_folder(final) as fresh:  # another process was faster
        (fresh / "file").write_text("second")
    assert (final / "file").read_text() == "first"
    assert os.listdir(tmp_path / "deep") == ["set"]


def test_without_one_call_for_everything(tmp_path, monkeypatch):
    monkeypatch.delattr(files.os, "sync", raising=False)
    with new_folder(tmp_path / "set") as fresh:
        (fresh / "file").write_text("x")
    assert (tmp_path / "set" / "file").read_text() == "x"
