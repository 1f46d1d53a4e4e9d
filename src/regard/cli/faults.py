"""What went wrong, as one line for people and, with --json, as JSON for machines."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from regard.files import Unwritten

# What to do about the faults of files that people meet.
ADVICE = {
    errno.EACCES: "no permission; choose another place, or ask for the right to use this one",
    errno.EPERM: "no permission; choose another place, or ask for the right to use this one",
    errno.EROFS: "the disk is read-only; choose another place",
    errno.ENOSPC: "the disk is full; make room, or choose another place",
    errno.EDQUOT: "no more room is left to you on this disk; make room, or choose another place",
    errno.EISDIR: "it is a folder, and a file is wanted",
    errno.ENOTDIR: "a part of the path is a file, and a folder is wanted",
    errno.EEXIST: "it is there already, and is no folder",
    errno.ENAMETOOLONG: "the name is too long",
}


def told(error: Exception) -> str:
    """An error as it is told: files by their names instead of numbers, patterns without what is no help.

    >>> told(IsADirectoryError(errno.EISDIR, "Is a directory", "plots"))
    'plots cannot be used: it is a folder, and a file is wanted'
    """
    if isinstance(error, OSError) and not isinstance(error, Unwritten) and error.errno is not None:
        return _file(error)
    lines = str(error).split("\n")
    if len(lines) == 4 and lines[2].strip() == "^" and lines[3].startswith("patterns: "):
        return _pattern(*lines)
    return str(error) or type(error).__name__


def _file(error: OSError) -> str:
    why = ADVICE.get(error.errno or 0, error.strerror or type(error).__name__)
    if error.filename is None:
        return why
    path = Path(str(error.filename))
    if error.errno == errno.ENOENT and not path.parent.exists():
        why += f"; the folder {path.parent} is not there"
    return f"{path} cannot be used: {why}"


def _pattern(what: str, shown: str, caret: str, names: str) -> str:
    """Where a text ends too early its end is the place; names are for those who look for one."""
    if len(caret) > len(shown.rstrip()) > 2:
        return f"{what}, at the end of {shown.strip()!r}"
    asked = "no pattern is called" in what or "expected a pattern" in what
    return "\n".join([what, shown, caret, *([names] if asked else [])])


def fail(message: str, arguments: Sequence[str]) -> int:
    """Say it on stderr and, where JSON was asked for, on stdout too; give the exit code."""
    if "--json" in arguments:
        first, *more = message.split("\n")
        print(json.dumps({"error": first} | ({"details": more} if more else {}), ensure_ascii=False))
    print(f"error: {message}", file=sys.stderr)
    return 2
