"""A filter on system calls: no new processes or programs, no sockets, no signals to others, no mounts."""

from __future__ import annotations

import ctypes
import errno
import os

from regard.grade.guest.kernel import MACHINE, filter_calls, no_new_privileges

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# By machine: of x86_64, of aarch64; -1 where there is no such call.
REFUSED = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242), "fork": (57, -1), "vfork": (58, -1), "execve": (59, 221), "execveat": (322, 281),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "tkill": (200, 130),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "fsopen": (430, 430), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsmount": (432, 432), "mount_setattr": (442, 442), "bpf": (321, 280),
    "perf_event_open": (298, 241), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "sethostname": (170, 161), "setdomainname": (171, 162),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "io_uring_setup": (425, 425), "userfaultfd": (323, 282),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "shmat": (30, 196),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180), "open_by_handle_at": (304, 265),
    "quotactl": (179, 60), "acct": (163, 89), "personality": (135, 92), "syslog": (103, 116),
}  # fmt: skip
CLONE, CLONE3 = (56, 220), (435, 435)
TO_ITSELF = {"kill": (62, 129), "tgkill": (234, 131)}  # allowed where the first argument is this process
NOBODY = {"prlimit64": (302, 261)}  # allowed where the first argument is 0: the limits of this process
THREAD = 0x00010000
_LOAD, _EQUAL, _BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16  # where a call's number, machine and first argument lie
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32),
    )  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("first", ctypes.POINTER(_Instruction)))


def install() -> None:
    """Refuse the calls above from now on, in this process and all its threads to come."""
    if MACHINE not in ARCHITECTURES:
        raise OSError(f"system calls are not known on {MACHINE}")
    lines = _instructions(list(ARCHITECTURES).index(MACHINE), os.getpid())
    array = (_Instruction * len(lines))(*(_Instruction(*line) for line in lines))
    no_new_privileges()
    filter_calls(_Program(len(lines), array))


def _instructions(machine: int, process: int) -> list[tuple[int, int, int, int]]:
    refuse = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    first = (_LOAD, 0, 0, _FIRST)
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, ARCHITECTURES[MACHINE]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_BITS, 0, 1, 0x40000000),  # calls of x86_64's other numbering
        refuse,
    ]
    for numbers in REFUSED.values():
        if numbers[machine] >= 0:
            lines += [(_EQUAL, 0, 1, numbers[machine]), refuse]
    # The C library falls back to clone, whose flags can be looked at.
    lines += [(_EQUAL, 0, 1, CLONE3[machine]), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    lines += [(_EQUAL, 0, 4, CLONE[machine]), first, (_BITS, 0, 1, THREAD), allow, refuse]
    only = [*((numbers, process) for numbers in TO_ITSELF.values()), *((n, 0) for n in NOBODY.values())]
    for numbers, value in only:
        lines += [(_EQUAL, 0, 4, numbers[machine]), first, (_EQUAL, 0, 1, value), allow, refuse]
    return [*lines, allow]
