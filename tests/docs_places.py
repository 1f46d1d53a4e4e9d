"""What the commands of the docs find where they run: stand-ins for a reader's own data, models and files."""

import re
from pathlib import Path

from tests.data.own.making import photos, picture, table
from tests.grade.right import RIGHT

ROOT = Path(__file__).parents[1]


def furnish(folder: Path, page: str) -> None:
    """Everything that pages speak of, and the files that this page tells to write."""
    photos(folder / "photos", ("cat", "dog"), count=30)
    for i, name in ((1, "cat"), (7, "dog")):
        picture(i).save(folder / "photos" / name / f"{i}.jpg")
    picture(size=(8, 6)).save(folder / "cat.png")
    (folder / "book.txt").write_text("It was the best of times, it was the worst of times.\n" * 300)
    table(folder / "reviews.csv", header="review,stars", count=60)
    if "models/llama" in page:
        models(folder / "models")
    if "solution.py" in page:
        solutions(folder)
    for name, code in re.findall(
        r"^Write it as `(\w+\.py)`:\n\n```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE
    ):
        (folder / name).write_text(code, encoding="utf-8")
    for name, code in re.findall(
        r"^A file `(\w+\.py)`.*\n\n((?:(?:    .*)?\n)+?)\n    torchrun", page, re.MULTILINE
    ):
        (folder / name).write_text(re.sub(r"^    ", "", code, flags=re.MULTILINE), encoding="utf-8")


def models(folder: Path) -> None:
    """Folders as transformers writes them."""
    from regard.train import open_run
    from regard.train.export import export_huggingface
    from tests.cli.test_generate_hub import a_folder, a_tokenizer

    a_folder(folder / "llama", "llama")
    a_tokenizer(begins=True).save_pretrained(folder / "llama")
    export_huggingface(open_run("zoo:digits-vit"), folder / "vit")


def solutions(folder: Path) -> None:
    """A student's work, as a file, as a notebook, and a class of two."""
    from nbformat import v4, write

    (folder / "solution.py").write_text(first("attention-head"), encoding="utf-8")
    write(v4.new_notebook(cells=[v4.new_code_cell(first("counting"))]), folder / "solution.ipynb")
    for name in ("ada", "bob"):
        (folder / "submissions" / name).mkdir(parents=True)
        (folder / "submissions" / name / "solution.py").write_text(first("counting"), encoding="utf-8")


def first(task: str) -> str:
    """A right solution."""
    return next(iter(RIGHT[task].values()))
