"""Landlock: files that are not named here can be neither read nor written, whoever this process is."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.grade.guest.kernel import syscall

_CREATE, _ADD, _RESTRICT = 444, 445, 446
LIST = 1 << 3  # the names in a folder
READ = 1 << 2 | LIST
USE = 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # read and write what is there, as a device
EVERYTHING = (1 << 16) - 1
RIGHTS = {
    1: 13,
    2: 14,
    3: 15,
    4: 15,
}  # how many rights on files each version of Landlock knows; later ones: 16
NETWORK, SCOPES = 0b11, 0b11  # binding and connecting over TCP; abstract sockets and signals


class _Handled(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # which newer Pythons want beside the line above
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The version that the kernel speaks; 0 where it has no Landlock."""
    try:
        return syscall(_CREATE, None, 0, 1)
    except OSError:
        return 0


def restrict(allowed: Sequence[tuple[Path, int]]) -> None:
    """Allow each path, and all beneath it, these rights; what is not there is passed over."""
    speaks = version()
    every = (1 << RIGHTS.get(speaks, 16)) - 1
    handled = _Handled(every, NETWORK if speaks >= 4 else 0, SCOPES if speaks >= 6 else 0)
    size = 8 if speaks < 4 else 16 if speaks < 6 else 24
    rules = syscall(_CREATE, ctypes.byref(handled), size, 0)
    for path, rights in allowed:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        whole = rights if path.is_dir() else rights & (USE | READ) & ~LIST
        rule = _Beneath(whole & every, place)
        syscall(_ADD, rules, 1, ctypes.byref(rule), 0)
        os.close(place)
    syscall(_RESTRICT, rules, 0)
    os.close(rules)


def without(tree: Path, hidden: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    """Rights to read a tree but for what is hidden; of folders on the way there the names alone are listed.

    >>> import tempfile
    >>> top = Path(tempfile.mkdtemp())
    >>> for name in ("a/x", "a/y", "b"): (top / name).mkdir(parents=True)
    >>> for path, rights in without(top, [top / "a" / "x"]):
    ...     print(path.relative_to(top).as_posix(), rights == READ)
    . False
    a False
    a/y True
    b True
    """
    inside = [path for path in hidden if path.is_relative_to(tree)]
    if not inside:
        yield tree, READ
    elif tree not in inside:
        yield tree, LIST
        for path in sorted(tree.iterdir()):
            yield from without(path, inside)
