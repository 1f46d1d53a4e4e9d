"""Locking a process in: what the system offers is used, what worked is said, and tried from inside."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from regard.grade.guest import callfilter, kernel, landlock

DISK = 64 << 20  # bytes of the private folder
FILE = 32 << 20  # bytes of one file
OPEN_FILES = 256
SYSTEM = ("/usr", "/lib", "/lib64", "/sys/devices/system", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
          "/proc/self", "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/group",
          "/etc/nsswitch.conf")  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


@dataclass(frozen=True)
class Room:
    """What a guest may see of the file system: trees to read but for what is hidden, and its own folder."""

    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    own: Path


def new_namespaces() -> set[str]:
    """Leave the network, the mounts, the processes and the users of this machine; what could be left."""
    user, group = os.getuid(), os.getgid()
    rest = kernel.NEWNET | kernel.NEWNS | kernel.NEWPID | kernel.NEWIPC | kernel.NEWUTS
    for flags in (kernel.NEWUSER | rest, rest):
        try:
            kernel.unshare(flags)
        except OSError:
            continue
        if flags & kernel.NEWUSER:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        return {"network", "mounts", "processes"}
    return set()


def lock_in(room: Room, offered: set[str], memory: int, seconds: int) -> set[str]:
    """Give up all that a student's code does not need, for good; the names of what now holds."""
    holds = set(offered)
    if "mounts" in offered:
        holds |= _tried("read-only", lambda: _mounts(room))
    _limits(memory, seconds)
    _tried("capabilities", kernel.drop_capabilities)
    _tried("privileges", kernel.no_new_privileges)
    if landlock.version():
        own = [(room.own, landlock.EVERYTHING if "read-only" in holds else landlock.READ)]
        holds |= _tried("landlock", lambda: landlock.restrict([*_readable(room), *own]))
    return holds | _tried("filter", callfilter.install)


def _tried(name: str, act: Callable[[], None]) -> set[str]:
    try:
        act()
    except OSError:
        return set()
    return {name}


def _mounts(room: Room) -> None:
    """Everything read-only, nothing in what is hidden, and the own folder in memory."""
    kernel.mount(None, "/", None, kernel.RECURSIVE | kernel.PRIVATE)
    kernel.read_only_everywhere()
    bare = kernel.NO_SUID | kernel.NO_DEVICES
    for path in room.hidden:
        if path.is_dir() and not room.own.is_relative_to(path):
            kernel.mount("none", str(path), "tmpfs", bare | kernel.READ_ONLY, "size=4k")
    kernel.mount("none", str(room.own), "tmpfs", bare, f"size={DISK},mode=700")


def _limits(memory: int, seconds: int) -> None:
    """Bytes beyond those that torch has taken already, seconds of computing, and no traces of a crash."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_AS, taken + memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))


def _readable(room: Room) -> Iterable[tuple[Path, int]]:
    for tree in dict.fromkeys([*map(Path, SYSTEM), *room.readable]):
        yield from landlock.without(tree.resolve(), [path.resolve() for path in room.hidden])
    for device in DEVICES:
        yield Path(device), landlock.USE


def leaks(outside: Path, hidden: Sequence[Path]) -> list[str]:
    """What a locked-in process can still do: it is tried, not assumed."""
    found = []
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=0.2).close()
        found.append("network")
    except ConnectionRefusedError:  # the packet went out, and came back from this machine
        found.append("network")
    except OSError:
        pass
    for act in (lambda: (outside / "written").write_text("x"), outside.rmdir):
        try:
            act()
            found.append("files")
        except OSError:
            pass
    for path in hidden:
        with suppress(OSError):
            if path.is_dir() and any(one.read_bytes() for one in path.glob("*.py")):
                found.append("answers")
    return list(dict.fromkeys(found))
