"""Tutorials as notebooks: the text of a page as it is, its Python as cells, run top to bottom."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import gettempdir

from nbformat import NotebookNode, v4, writes

from regard.lessons.render.notebook import executed

# The page of each notebook.
PAGES = {"first-hour": "tutorials/notebook.md"}
BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)


def write(docs: Path) -> None:
    """Run the notebooks and write them."""
    for name, page in PAGES.items():
        text = (docs / page).read_text(encoding="utf-8")
        written = writes(executed(notebook(name, text)))
        # Where it ran says nothing to a reader.
        written = re.sub(rf"{re.escape(gettempdir())}/tmp\w+/", "", written)
        (docs / "notebooks" / f"{name}.ipynb").write_text(written + "\n", encoding="utf-8")


def notebook(name: str, page: str) -> NotebookNode:
    """The page as a notebook, not yet run."""
    cells = []
    for i, part in enumerate(BLOCK.split(page)):  # text and code take turns
        if part.strip():
            # Links of a page of the site mean nothing to a notebook, which stands in another folder.
            said = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", part).strip()
            cells.append(v4.new_code_cell(part.strip()) if i % 2 else v4.new_markdown_cell(said))
    for i, cell in enumerate(cells):
        cell.id = f"{name}-{i}"  # nbformat draws random ones, and files would differ every time
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
