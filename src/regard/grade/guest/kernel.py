"""The few system calls of Linux that Python does not have, by ctypes."""

from __future__ import annotations

import ctypes
import os
import platform

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
READ_ONLY, NO_SUID, NO_DEVICES, RECURSIVE, PRIVATE = 1, 2, 4, 0x4000, 1 << 18
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _CAPABILITIES = 38, 22, 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91}
MACHINE = platform.machine()

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(code: int, what: str) -> int:
    if code < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return code


def syscall(number: int, *arguments: object) -> int:
    """A system call by its number; raises OSError."""
    _libc.syscall.restype = ctypes.c_long
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *given), f"system call {number}")


def unshare(flags: int) -> None:
    """Leave the namespaces of everyone else for new ones."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount, or change how mounts propagate."""
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    data = None if options is None else options.encode()
    _checked(_libc.mount(*words, ctypes.c_ulong(flags), data), f"mount {target}")


def read_only_everywhere() -> None:
    """Make every mount of this namespace read-only."""
    attributes = (ctypes.c_uint64 * 4)(READ_ONLY, 0, 0, 0)
    size = ctypes.sizeof(attributes)
    syscall(_MOUNT_SETATTR, _AT_FDCWD, ctypes.c_char_p(b"/"), _AT_RECURSIVE, ctypes.byref(attributes), size)


def prctl(option: int, *arguments: object) -> None:
    """Change something about this process."""
    rest = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments]
    rest += [ctypes.c_ulong(0)] * (4 - len(rest))
    _checked(_libc.prctl(ctypes.c_int(option), *rest), f"prctl {option}")


def no_new_privileges() -> None:
    """Nothing that this process starts may do more than it may itself."""
    prctl(_SET_NO_NEW_PRIVS, 1)


def filter_calls(program: ctypes.Structure) -> None:
    """From now on every system call goes through this filter."""
    prctl(_SET_SECCOMP, 2, ctypes.byref(program))


def drop_capabilities() -> None:
    """Give up every right that root has beyond others."""
    if MACHINE not in _CAPSET:
        raise OSError(f"capset is not known on {MACHINE}")
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    syscall(_CAPSET[MACHINE], ctypes.byref(header), ctypes.byref(none))
