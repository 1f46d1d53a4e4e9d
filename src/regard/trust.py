"""Whose code a file may have imported: what this user has run before, from where, or says `--trust` to.

Opening a run or a model of someone else must not run its code. So what a file names is imported only from
where this user's own training took it, which is noted in the user's own folder, or by the user's word.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from regard.files import write_json
from regard.importing import SESSION, imported, reach, root_of, split_name

_VOUCHED: set[tuple[str, str]] = set()  # in this process, whatever can be written down


class Untrusted(ValueError):  # noqa: N818 - it says what the code is
    """Code that nobody has vouched for; what it says is one line."""


def granted(
    names: Iterable[str], where: object, *, roots: Mapping[str, str] | None = None, trust: bool = False
) -> dict[str, object]:
    """The code that a file names, imported, or an Untrusted that says what would be and from where.

    `roots` is where each module was found when the file was written; a name is looked for there first.

    >>> granted(["my_models:small"], "runs/theirs")
    Traceback (most recent call last):
        ...
    ValueError: runs/theirs names my_models:small, but there is no module my_models here or installed
    """
    wanted = sorted(set(names))
    found = {name: _found(name, where, roots or {}) for name in wanted}
    if not trust and (strange := [name for name in wanted if not known(name, found[name])]):
        listed = ", ".join(f"{name} from {found[name]}" for name in strange)
        raise Untrusted(
            f"{where} would import and run code that you have not run before: {listed}; "
            "if you trust it, say --trust (in Python: trust=True)"
        )
    out = {}
    for name, root in found.items():
        if Path(root).is_dir():
            reach(Path(root))
        out[name] = imported(name)
        if (here := root_of(split_name(name)[0])) != root:
            raise ValueError(f"{where} names {name} of {root}, but here that of {here} is loaded already")
        vouch(name)
    return out


def _found(name: str, where: object, roots: Mapping[str, str]) -> str:
    """The folder that a name's module comes from: the one it came from before, where it is still there."""
    module, inner = split_name(name)
    if module == SESSION and not hasattr(sys.modules[SESSION], inner.partition(".")[0]):
        raise ValueError(f"{where} names {name}, which only the script or notebook that trained it knows")
    top = module.partition(".")[0]
    before = roots.get(top)
    if before is not None and any((Path(before) / part).exists() for part in (f"{top}.py", top)):
        return before
    root = root_of(module)
    if root is None:
        was = f"; it was in {before}" if before is not None else ""
        raise ValueError(f"{where} names {name}, but there is no module {top} here or installed{was}")
    return root


def roots_of(names: Iterable[str]) -> dict[str, str]:
    """Where each topmost module of these names is, as a run notes it."""
    tops = {split_name(name)[0].partition(".")[0] for name in names}
    return {top: root for top in sorted(tops) if (root := root_of(top)) is not None}


def vouch(name: str) -> None:
    """Remember that this user runs this code from where it is now; on a read-only disk, for this process."""
    root = root_of(split_name(name)[0])
    if root is not None and not known(name, root):
        _VOUCHED.add((name, root))
        path = _note(name, root)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"name": name, "root": root})


def known(name: str, root: str) -> bool:
    """Whether this user has run this code from this folder before."""
    if (name, root) in _VOUCHED:
        return True
    try:
        return json.loads(_note(name, root).read_text(encoding="utf-8")) == {"name": name, "root": root}
    except (OSError, ValueError):
        return False


def _note(name: str, root: str) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "regard" / "trusted" / f"{sha256(f'{name} {root}'.encode()).hexdigest()[:32]}.json"
