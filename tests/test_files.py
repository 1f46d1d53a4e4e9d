"""Files are the old ones or the new ones, whole folders too, and damage to any of them is known."""

import errno
import json

import pytest

from regard import files
from regard.files import check, check_all, find_folder, leftovers, place, seal, tidy, unfinished, write


def folder(path, **contents):
    path.mkdir()
    for name, text in contents.items():
        write(path / name, text.encode())
    seal(path)
    return path


def _read(path):
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "m"
    write(path, b"old")
    with pytest.raises(TypeError):
        write(path, "not bytes")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["m"]


def test_a_full_disk_is_told_with_the_path_and_the_bytes(tmp_path, monkeypatch):
    def full(handle, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "write", full)
    with pytest.raises(
        OSError, match=r"m could not be written, it takes 3 bytes and .* are free: No space"
    ) as error:
        write(tmp_path / "m", b"new")
    assert error.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_the_system_takes_in_parts(tmp_path, monkeypatch):
    real = files.os.write
    monkeypatch.setattr(files.os, "write", lambda handle, data: real(handle, data[:2]))
    write(tmp_path / "m", b"seven b")
    assert (tmp_path / "m").read_bytes() == b"seven b"


def test_writing_replaces_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "x"
    write(path, b"old")
    monkeypatch.setattr(files.os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        write(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["x"]
    monkeypatch.undo()
    write(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["a", "b", "checksums.json"])
def test_every_byte_counts(name, tmp_path):
    path = folder(tmp_path / "x", a="one", b="two")
    assert check_all(path)
    data = (path / name).read_bytes()
    for at in range(len(data)):
        (path / name).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        # A space between two sums may become another sign of that kind, which is read the same.
        if name != "checksums.json" or _read(path / name) != json.loads(data):
            with pytest.raises(ValueError, match=r"is damaged|cannot be read"):
                check_all(path)
    (path / name).write_bytes(data)
    assert check_all(path)


def test_one_file_by_itself(tmp_path):
    path = folder(tmp_path / "x", a="one")
    check(path / "a")
    write(path / "new", b"nobody knows this one")
    check(path / "new")
    write(path / "a", b"two")
    with pytest.raises(ValueError, match=r"a is damaged: it is not what checksums\.json beside it says"):
        check(path / "a")
    (path / "a").unlink()
    with pytest.raises(ValueError, match="a cannot be read"):
        check_all(path)
    (path / "checksums.json").unlink()
    assert not check_all(path)


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    path = folder(tmp_path / "x", a="old")
    place(folder(unfinished(path), b="new"), path)
    assert {one.name for one in path.iterdir()} == {"b", "checksums.json"}
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


def test_a_folder_that_a_kill_caught_without_a_name(tmp_path):
    path = tmp_path / "x"
    half = folder(unfinished(path), a="half")
    (half / "a").unlink()
    folder(unfinished(path), a="whole")
    assert (find_folder(path) / "a").read_text() == "whole"
    assert not path.exists()
    tidy(tmp_path)
    assert (path / "a").read_text() == "whole"
    assert leftovers(tmp_path) == []


def test_only_what_is_ours_is_tidied(tmp_path):
    (tmp_path / ".gitignore").write_text("*")
    (tmp_path / ".hidden.file").write_text("mine")
    write(unfinished(tmp_path / "x"), b"half")
    tidy(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".gitignore", ".hidden.file"}
    tidy(tmp_path / "nowhere")
