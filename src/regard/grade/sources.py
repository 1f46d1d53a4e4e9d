"""A student's file as pieces of source: a Python file is one, a notebook has one a cell, outputs ignored."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

LARGEST = 4 << 20  # bytes of one file
SUFFIXES = (".py", ".ipynb")
SKIPPED = ("%%bash", "%%sh", "%%html", "%%javascript", "%%js", "%%latex", "%%writefile", "%%script", "%%cmd")
ASSIGNED = re.compile(r"(\s*[A-Za-z_][\w.,\s]*=\s*)([%!])(\w*)(.*)")  # as `files = !ls`, `x = %time f(3)`


def pieces(path: Path) -> list[str]:
    """The pieces of a file; ValueError says why it cannot be read."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: a solution is a .py or .ipynb file")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path}: larger than {LARGEST >> 20} MiB")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path}, line {line}: no UTF-8 text; save it once more with the encoding UTF-8, which editors "
            "offer under Save as"
        ) from error
    if "\0" in text:
        raise ValueError(f"{path}: a text with null bytes")
    return cells(text, str(path)) if path.suffix == ".ipynb" else [text]


def cells(text: str, name: str = "the notebook") -> list[str]:
    """The code cells of a notebook as plain Python: magics and shell lines are left out.

    >>> cells('{"cells": [{"cell_type": "code", "source": ["%time\\\\n", "x = 1"]}]}')
    ['pass\\nx = 1']
    """
    try:
        found = json.loads(text)
        listed = found["cells"] if "cells" in found else found["worksheets"][0]["cells"]
        codes = [one for one in listed if one["cell_type"] == "code"]
        sources = [one.get("source", one.get("input", "")) for one in codes]
        whole = ["".join(source) if isinstance(source, list) else str(source) for source in sources]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"{name}: no notebook in the format of Jupyter") from error
    return [_plain(source) for source in whole]


def _plain(source: str) -> str:
    if source.lstrip().startswith(SKIPPED):
        return ""
    try:  # as it is, where it is Python: a line of a text may begin with %
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        lines = [_line(line) for line in source.split("\n")]
        return "\n".join(lines)
    return source


def _line(line: str) -> str:
    """A line without magic: what is assigned stays defined, and `%time` is what it times."""
    if given := ASSIGNED.fullmatch(line):
        name, sign, magic, rest = given.groups()
        return name + ("[]" if sign == "!" else rest.strip() if magic == "time" and rest.strip() else "None")
    bare = line.lstrip()
    magic = bare.startswith(("%", "!", "?")) or (
        bare.endswith("?") and bare[:-1].replace(".", "").isidentifier()
    )
    return line[: len(line) - len(bare)] + "pass" if magic else line
