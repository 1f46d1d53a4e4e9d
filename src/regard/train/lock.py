"""One process at a time in a run's folder: the system's lock, which ends with the process that holds it."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from regard.values import Json

try:
    import fcntl
except ImportError:  # Windows
    fcntl: ModuleType | None = None  # type: ignore[no-redef]

LOCK = ".lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a run's folder for as long as the block lasts, or raise a ValueError that names who has it.

    A process that died holds nothing. On a file system without locks its name in the file decides: one of
    this machine that is gone is passed over, one of another machine must be removed by hand.
    """
    path = folder / LOCK
    handle = _taken(path)
    try:
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        yield
    finally:
        os.ftruncate(handle, 0)
        with suppress(OSError):
            path.unlink()  # while it is still ours
        os.close(handle)


def in_use(folder: Path) -> bool:
    """Whether a process works in a run's folder, by the name that it left there: nothing is locked to ask.

    Of another machine this is believed; of this one, the process must be alive.
    """
    try:
        owner = _owner((folder / LOCK).read_bytes())
    except OSError:
        return False
    return owner is not None and (owner["host"] != socket.gethostname() or _alive(owner["pid"]))


def _taken(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(handle):
                raise _in_use(path)
            # Its last owner may have removed the file between our opening and our locking it.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether the lock is ours now."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            pass
    owner = _owner(os.read(handle, 1000))
    return owner is None or (owner["host"] == socket.gethostname() and not _alive(owner["pid"]))


def _owner(text: bytes) -> Json | None:
    try:
        found = json.loads(text)
        return {"pid": int(found["pid"]), "host": str(found["host"])}
    except (ValueError, TypeError, KeyError):
        return None


def _alive(pid: object) -> bool:
    if fcntl is None:  # where a signal 0 is no question
        return True
    try:
        os.kill(int(str(pid)), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _in_use(path: Path) -> ValueError:
    try:
        owner = _owner(path.read_bytes())
    except OSError:
        owner = None
    who = "another process" if owner is None else f"process {owner['pid']} on {owner['host']}"
    return ValueError(
        f"{path.parent} is in use by {who}: wait until it ends, or choose another --out; "
        f"if it is gone for good, remove {path}"
    )
