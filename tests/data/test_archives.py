"""Archives opened with suspicion."""

import io
import os
import tarfile
import zipfile

import pytest

from regard.data import archives
from regard.data.archives import extract


def tar(path, members):
    with tarfile.open(path, "w:gz") as out:
        for member, data in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return path


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members:
            out.writestr(name, data)
    return path


MAKERS = [(tar, "a.tar.gz"), (zipped, "a.zip")]


@pytest.mark.parametrize(("make", "name"), MAKERS)
def test_only_what_is_wanted(tmp_path, make, name):
    members = [
        ("set/a.bin", b"1"),
        ("./set/in/b.bin", b"22"),
        ("set/c.html", b""),
        ("other/d.bin", b"4"),
        ("e.bin", b"5"),
    ]
    archive = make(tmp_path / name, members)
    assert extract(archive, tmp_path / "out", "set", r".*\.bin") == 2
    found = {
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    assert found == {"a.bin", os.path.join("in", "b.bin")}
    assert (tmp_path / "out" / "in" / "b.bin").read_bytes() == b"22"


@pytest.mark.parametrize(("make", "name"), MAKERS)
@pytest.mark.parametrize(
    "path",
    ["../evil.bin", "set/../../evil.bin", "/tmp/evil.bin", "set/..\\evil.bin", "C:/evil.bin", "set/a:b.bin"],
)
def test_no_path_leads_outside(tmp_path, make, name, path):
    archive = make(tmp_path / name, [(path, b"evil")])
    with pytest.raises(ValueError, match="leads outside of it; it was not unpacked"):
        extract(archive, tmp_path / "out", "set", ".*")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_no_links_and_devices(tmp_path, kind):
    info = tarfile.TarInfo("set/a.bin")
    info.type, info.linkname = kind, "/etc/passwd"
    archive = tar(tmp_path / "a.tar.gz", [(info, b"")])
    with pytest.raises(ValueError, match=r"set/a\.bin, a link or device"):
        extract(archive, tmp_path / "out", "set", ".*")


@pytest.mark.parametrize(("make", "name"), MAKERS)
def test_nothing_swells(tmp_path, make, name, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST", 1000)
    archive = make(tmp_path / name, [("set/a", b"0" * 700), ("set/b", b"0" * 301)])
    with pytest.raises(ValueError, match="unpacks to more than 1,000 bytes"):
        extract(archive, tmp_path / "out", "set", ".*")


@pytest.mark.parametrize(("make", "name"), MAKERS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.95])
def test_a_cut_archive_is_named(tmp_path, make, name, share):
    archive = make(tmp_path / name, [("set/a", os.urandom(5000)), ("set/b", os.urandom(5000))])
    archive.write_bytes(archive.read_bytes()[: int(share * archive.stat().st_size)])
    with pytest.raises(ValueError, match=rf"{name} .*download it again"):
        extract(archive, tmp_path / "out", "set", ".*")


def test_a_damaged_member_is_named(tmp_path):
    archive = zipped(tmp_path / "a.zip", [("set/a", os.urandom(5000))])
    data = bytearray(archive.read_bytes())
    data[2000] ^= 1
    archive.write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.zip cannot be unpacked"):
        extract(archive, tmp_path / "out", "set", ".*")
