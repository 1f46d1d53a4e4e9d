"""Write what the site generates: lesson pages, executed notebooks, benchmark tables, recipes, reference.

python docs/make.py                 # tables, recipes and reference: fast, from files alone
python docs/make.py --lessons       # and every lesson, run now, as a page and as a notebook
python docs/make.py --lessons heads # or some of them
python docs/make.py --notebooks     # and the tutorials that are notebooks too, run now
python docs/make.py --figures       # and the pictures of what trained models looked at; needs the real data
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from pages import (  # noqa: E402
    benchmarks,
    cheaper,
    figures,
    house,
    lessons,
    notebooks,
    recipes,
    reference,
    results,
    sharding,
    speed,
)


def main(arguments: list[str]) -> None:
    """Write the generated pages."""
    if arguments[:1] == ["--lessons"]:
        lessons.write(HERE, arguments[1:])
    if arguments[:1] == ["--notebooks"]:
        notebooks.write(HERE)
    if arguments[:1] == ["--figures"]:
        figures.write(HERE, arguments[1:])
    for folder in (benchmarks, cheaper, house, recipes, reference, results, sharding, speed):
        for path, text in folder.pages().items():
            (HERE / path).parent.mkdir(parents=True, exist_ok=True)
            (HERE / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
