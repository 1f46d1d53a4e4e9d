"""What notebooks play with: the browser's modules as one text each, for anywidget (the extra `notebook`)."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import need

if TYPE_CHECKING:
    from anywidget import AnyWidget

FOLDER = Path(__file__).parent / "browser"
IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";\n', re.MULTILINE)
GIVEN_ON = re.compile(r'^export (\{[^}]*\}) from "\./([\w.]+)";\n', re.MULTILINE)
EXPORTED = re.compile(r"^export (?=(?:async )?(?:const|function|class) (\w+))", re.MULTILINE)


def widget_class(entry: str) -> type[AnyWidget]:
    """The class of widgets that a module of the browser draws; traits are given to a class made from it.

    ImportError names the extra where anywidget is not installed.
    """
    found: type[AnyWidget] = need("anywidget", "notebook").AnyWidget
    return type("BrowserWidget", (found,), {"_esm": bundled(entry), "_css": style()})


def style() -> str:
    """The style sheet of all widgets."""
    return (FOLDER / "widget.css").read_text(encoding="utf-8")


@lru_cache
def bundled(entry: str) -> str:
    """A module of the browser and all that it imports as one module, as anywidget takes it.

    >>> text = bundled("widget_pattern.js")
    >>> text.count("import "), "export default { render };" in text
    (0, True)
    """
    done: list[str] = []
    parts: list[str] = []

    def add(name: str) -> str:
        text = (FOLDER / name).read_text(encoding="utf-8")
        for _, other in [*IMPORT.findall(text), *GIVEN_ON.findall(text)]:
            if other not in done:
                add(other)
        names = EXPORTED.findall(text)
        given_on = [(listed, other) for listed, other in GIVEN_ON.findall(text)]
        text = IMPORT.sub(lambda one: f"const {_renamed(one[1])} = {_module(one[2])};\n", text)
        text = EXPORTED.sub("", GIVEN_ON.sub("", text))
        text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("// @ts-check"))
        if name == entry:
            return text
        more = "".join(f"...(({listed}) => ({listed}))({_module(other)}), " for listed, other in given_on)
        parts.append(
            f"const {_module(name)} = (() => {{\n{text}return {{ {more}{', '.join(names)} }};\n}})();\n"
        )
        done.append(name)
        return ""

    last = add(entry)
    return "".join([*parts, last])


def _module(name: str) -> str:
    return "from_" + re.sub(r"\W", "_", name)


def _renamed(listed: str) -> str:
    return listed.replace(" as ", ": ")
