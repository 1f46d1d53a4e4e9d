"""`regard bench data`: large sets of one's own, prepared and trained on, beside small ones in memory.

Each is written to a folder for a while, a million pictures, ten gigabytes of text and three million rows of
a table (which needs 60 GB of disk), then prepared and trained on in a process of its own, whose anonymous
memory is watched. Its speed is compared with that of the same recipe on a set of the same kind in memory.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread

import torch

from regard import recipes
from regard.bench.report import BenchReport, BenchRow
from regard.data import Corpus, Images, Pictures, Reviews, Source, Texts
from regard.data.own.store import VARIABLE
from regard.train import train
from regard.train.own_data import on_data

FEW = 5_000  # examples of a set in memory, as many as the embedded ones have
SIDE, CLASSES = 32, 10
ROUNDS = 5  # runs of each, in turns
WORDS = 60  # of a row


@dataclass(frozen=True)
class SizeRow(BenchRow):
    """How long a set took to prepare, what memory it took, and how fast training on it was."""

    columns = (
        ("data", "<30"), ("recipe", "<20"), ("on disk", ">9"), ("prepared", ">9"), ("anonymous", ">10"),
        ("a second", ">10"), ("in memory", ">10"), ("ratio", ">6"),
    )  # fmt: skip

    data: str
    recipe: str
    bytes: int
    prepared_s: float
    anonymous_bytes: int  # the most that was seen from the beginning on, Python and torch included
    per_second: float  # examples, in the median run
    in_memory_per_second: float
    ratio: float

    def cells(self) -> list[str]:
        """The cells as texts."""
        return [
            self.data, self.recipe, f"{self.bytes / 1e9:.1f} GB", f"{self.prepared_s:.0f} s",
            f"{self.anonymous_bytes / 1e9:.2f} GB", f"{self.per_second:,.1f}",
            f"{self.in_memory_per_second:,.1f}", f"{self.ratio:.3f}",
        ]  # fmt: skip


ROW = SizeRow


def run(device: str, quick: bool) -> BenchReport:
    """All three sets, one after another."""
    if not Path("/proc/self/status").exists():
        raise ValueError("bench data reads the memory of a process from /proc, which this system lacks")
    images, text, rows = (2_000, 4 * 10**6, 3_000) if quick else (10**6, 10**10, 3 * 10**6)
    report = BenchReport("data", {"device": device, "quick": quick, "rounds": ROUNDS})
    cases: list[tuple[str, str, Callable[[Path], Source], int]] = [
        (f"{images:,} images", "vit-cifar10-cpu", partial(write_images, count=images), 60),
        (f"{text / 1e9:g} GB of text", "shakespeare-char-cpu", partial(write_text, size=text), 250),
        (f"{rows:,} rows of a table", "sentiment-imdb-cpu", partial(write_rows, count=rows), 250),
    ]
    for name, recipe, write, steps in cases:
        with TemporaryDirectory(prefix="regard-bench-", dir=os.environ.get("TMPDIR")) as folder:
            source = write(Path(folder) / "set")
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                asked = alone.submit(_measured, folder, source, recipe, 3 if quick else steps, device)
                prepared_s, anonymous, mapped, memory = asked.result()
            size = sum(path.stat().st_size for path in Path(folder, "set").rglob("*") if path.is_file())
            speeds = round(mapped, 2), round(memory, 2), round(mapped / memory, 4)
            report.record(SizeRow(name, recipe, size, round(prepared_s, 1), anonymous, *speeds))
    return report


def _measured(
    folder: str, source: Source, name: str, steps: int, device: str
) -> tuple[float, int, float, float]:
    """Seconds of preparation, most bytes of anonymous memory, and both speeds, the middle of some runs."""
    os.environ[VARIABLE] = str(Path(folder) / "cache")
    with anonymous_memory() as most, Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        begin = time.perf_counter()
        ours = on_data(recipes.get(name), source)
        kind = {"vit": "images", "sha": "corpus", "sen": "reviews"}[name[:3]]
        small = on_data(recipes.get(name), Source(f"regard.bench.data:{kind}_in_memory"))
        pair = []
        for recipe in (ours, small):
            checks = replace(recipe.checks, validate_every=10**9, save_every=10**9)
            pair.append(replace(recipe, steps=steps, epochs=None, minutes=None, checks=checks, before=None))
        first = train(pair[0], Path(folder) / "first", device=device)
        prepared_s = time.perf_counter() - begin - first.seconds["training"] - first.seconds["validation"]
        speeds: tuple[list[float], list[float]] = ([], [])
        for turn in range(ROUNDS):
            for which, recipe in enumerate(pair):
                done = train(recipe, Path(folder) / f"{turn}-{which}", device=device)
                speeds[which].append(done.examples_per_second)
    return prepared_s, most[0], median(speeds[0]), median(speeds[1])


@contextmanager
def anonymous_memory() -> Iterator[list[int]]:
    """The most anonymous memory this process has meanwhile, in bytes, looked at every 20 ms."""
    most, over = [0], Event()

    def watch() -> None:
        while not over.wait(0.02):
            status = Path("/proc/self/status").read_text()
            kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon"))
            most[0] = max(most[0], 1024 * int(kilobytes))

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def write_images(root: Path, count: int) -> Source:
    """Class folders of small pictures, of which many are alike: their names are not."""
    from PIL import Image

    data = []
    for picture in images_in_memory().train.images[:1000]:
        file = BytesIO()
        Image.fromarray(picture.permute(1, 2, 0).contiguous().numpy()).save(file, "png")
        data.append(file.getvalue())
    for at in range(CLASSES):
        (root / f"class{at}").mkdir(parents=True)
    for at in range(count):
        (root / f"class{at % CLASSES}" / f"{at:07}.png").write_bytes(data[at % len(data)])
    return Source(str(root), kind="images")


def write_text(root: Path, size: int) -> Source:
    """One file of words."""
    root.mkdir()
    block = corpus_in_memory().text.encode()
    with (root / "book.txt").open("wb") as file:
        while file.tell() < size:
            file.write(block[: size - file.tell()])
    return Source(str(root / "book.txt"), kind="corpus")


def write_rows(root: Path, count: int) -> Source:
    """A table of texts that all differ, with labels."""
    root.mkdir()
    few = reviews_in_memory().train.texts
    with (root / "rows.csv").open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        for at in range(count):
            file.write(f"{at} {few[at % len(few)]},{'yes' if at % 2 else 'no'}\n")
    return Source(str(root / "rows.csv"), kind="reviews", text="text", label="label")


def images_in_memory() -> Images:
    """As many pictures as an embedded set has, of chance."""
    draws = torch.Generator().manual_seed(0)
    images = torch.randint(256, (FEW, 3, SIDE, SIDE), generator=draws, dtype=torch.uint8)
    part = Pictures(images, torch.arange(FEW) % CLASSES)
    return Images("few", tuple(f"class{at}" for at in range(CLASSES)), part, part.take(slice(0, 100)))


def corpus_in_memory() -> Corpus:
    """A megabyte of words of chance."""
    luck = random.Random(0)
    return Corpus("few", "\n".join(_sentence(luck, 12) for _ in range(16_000)))


def reviews_in_memory() -> Reviews:
    """As many texts as an embedded set has, of chance."""
    luck = random.Random(1)
    part = Texts(tuple(_sentence(luck, WORDS) for _ in range(FEW)), torch.arange(FEW) % 2)
    return Reviews("few", ("no", "yes"), part, part.take(slice(0, 100)))


def _sentence(luck: random.Random, words: int) -> str:
    """Some of 5,000 words, the first of them more often."""
    chosen = (int(5000 * luck.random() ** 3) for _ in range(words))
    return " ".join("".join(chr(97 + (word // 26**k + 7 * k) % 26) for k in range(4)) for word in chosen)
