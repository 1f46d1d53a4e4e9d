"""Code of one's own by name, `module:name`: imported where a user names it, and never because a file does.

A name in a file (a recipe, a model) is looked up in a table, which `regard.trust` fills after asking.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from regard.errors import did_you_mean

Value = TypeVar("Value")
SESSION = "__main__"  # a script or a notebook: known by name while it runs
HERE = ""  # how sys.path says the current directory, wherever that is
LIBRARY = (str(Path(__file__).parent), str(Path(importlib.__file__).parents[1]))  # ours, and Python's
_FROM_FILES: set[str] = set()  # modules that came from a named file, and are read anew when it is named again


def look_here() -> None:
    """From now on names are also looked for in the current directory, after everything installed."""
    if HERE not in sys.path:
        sys.path.append(HERE)


def imported(name: str) -> object:
    """What `module:name` names, or a ValueError of one line that names the module and the reason.

    >>> imported("math:tau") > 6
    True
    >>> imported("no_such_module:thing")
    Traceback (most recent call last):
        ...
    ValueError: no_such_module cannot be imported: there is no module of this name here or installed
    """
    module, inner = split_name(name)
    return inside(sys.modules[module] if module == SESSION else import_module(module), inner)


def split_name(name: str) -> tuple[str, str]:
    """The module and what is inside it."""
    module, colon, inner = name.partition(":")
    parts = [*module.split("."), *inner.split(".")]
    if not colon or not all(parts) or not all(part.isidentifier() for part in inner.split(".")):
        raise ValueError(f"code is named as module:name, such as my_models:small, got {name!r}")
    return module, inner


def inside(module: ModuleType, inner: str) -> object:
    """What a module holds under a name, which may have dots."""
    found: object = module
    for part in inner.split("."):
        if not hasattr(found, part):
            hint = did_you_mean(part, [one for one in vars(module) if not one.startswith("_")])
            raise ValueError(f"{module.__name__} has no {inner!r}{hint} ({file_of(module)})")
        found = getattr(found, part)
    return found


def import_module(module: str) -> ModuleType:
    """A module by its name; what it prints goes to the error stream, so that machines can read the other."""
    if module in sys.modules:
        return sys.modules[module]
    importlib.invalidate_caches()  # it may have been written a moment ago
    return guarded(module, lambda: importlib.import_module(module))


def guarded(what: str, act: Callable[[], Value]) -> Value:
    """What code of a user gives; whatever it raises is one ValueError that says where."""
    try:
        with redirect_stdout(sys.stderr):
            return act()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may well call sys.exit
        raise ValueError(f"{what} cannot be imported: {reason(error, what)}") from error


def reason(error: BaseException, module: str = "") -> str:
    """An error on one line, with its kind and, where it is the user's, its file and line."""
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        if module == error.name or module.startswith(f"{error.name}."):
            return "there is no module of this name here or installed"
        return f"it needs the module {error.name}, which is not installed"
    said = (str(error).splitlines() or [""])[0]
    if isinstance(error, SystemExit):
        return f"it ends the program (exit {said or 0})"
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    return f"{type(error).__name__}: {said}{_place(error)}"


def _place(error: BaseException) -> str:
    """Where in a user's file an error arose: the last line that is neither ours nor a library's."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        library = "site-packages" in path or path.startswith((*LIBRARY, "<"))
        if not library and Path(path).is_file():
            found = f" ({path}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found


def import_file(path: Path) -> ModuleType:
    """The module in a file that a user named: read anew, under the file's name, with its folder importable.

    So its functions have names, `my_recipe:small`, that a fresh process finds from the same folder.
    """
    path = path.resolve()
    name = path.stem
    if "." in name or not name.strip():
        raise ValueError(f"{path.name} cannot be imported: rename it so that its name has no dot")
    there = sys.modules.get(name)
    if there is not None and name not in _FROM_FILES:
        if file_of(there) == str(path):
            return there
        raise ValueError(
            f"{path.name} cannot be imported: {name!r} is the name of {file_of(there)} already; rename it"
        )
    reach(path.parent)
    sys.modules.pop(name, None)
    _FROM_FILES.add(name)
    importlib.invalidate_caches()
    return guarded(str(path), lambda: importlib.import_module(name))


def reach(folder: Path) -> None:
    """Make modules in a folder importable, before others of their name: as Python does for a script's own."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def file_of(module: ModuleType) -> str:
    """The file of a module, or the words for one without."""
    return getattr(module, "__file__", None) or "a module without a file"


def name_of(value: object) -> str:
    """The name by which `imported` finds a class or a function, or a ValueError where none does.

    >>> name_of(did_you_mean)
    'regard.errors:did_you_mean'
    """
    module, inner = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module is None or inner is None or "<" in inner:
        raise ValueError(
            f"{inner or value!r} cannot be written down: only a class or a function at the top of a module "
            "has a name that another process finds"
        )
    if any(letter.isspace() for letter in module):
        raise ValueError(
            f"{inner} cannot be written down: rename the file {module}.py so that it has no space"
        )
    if not finds(f"{module}:{inner}", value):
        raise ValueError(f"{module}:{inner} is by now another one than what was to be written down")
    return f"{module}:{inner}"


def finds(name: str, value: object) -> bool:
    """Whether a name leads to this very value in this process, without importing anything."""
    module, inner = split_name(name)
    found: object = sys.modules.get(module)
    for part in inner.split("."):
        found = getattr(found, part, None)
    return found is value


def root_of(module: str) -> str | None:
    """The folder that holds a module's topmost package, found without importing it; None without one."""
    top = module.partition(".")[0]
    if top == SESSION:
        return file_of(sys.modules[SESSION])
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return str(Path(next(iter(spec.submodule_search_locations))).resolve().parent)
    return None if spec.origin is None else str(Path(spec.origin).resolve().parent)


class Importable(Mapping[str, object]):
    """A table of all that can be imported, for texts that a user typed; each is imported when asked for.

    >>> "math:tau" in Importable(), "strided" in Importable()
    (True, False)
    """

    def __getitem__(self, name: str) -> object:
        if ":" not in name:
            raise KeyError(name)
        return imported(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
