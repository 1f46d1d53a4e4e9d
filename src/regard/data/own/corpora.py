"""Text of one's own as one long corpus: copied once into a file of UTF-8 that is read a stretch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data.kinds import Corpus
from regard.data.own.listing import File
from regard.data.own.problems import DataProblem
from regard.data.own.splits import drawn_part
from regard.data.own.store import SETTLE, Appending, PreparationBar, Prepared, beginning
from regard.data.own.tables import Row, check_text_file, fault_of_text
from regard.values import Json

CHUNK = 1 << 22  # characters in memory at a time
SCORED = 1 << 20  # bytes of what is held out that are scored: more says nothing new, and takes long
FILES = ("text", "starts", "draws")


class StoredCorpus(Corpus):
    """A corpus whose text lies on the disk; `text` reads all of it, `stretches` one piece after another.

    One document is cut at a place, several by the draws of whole documents. Of a long text that is held out
    the beginning is scored, or the documents that are drawn first.
    """

    def __init__(self, name: str, stored: Prepared) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "stored", stored)
        object.__setattr__(self, "digest", stored.digest)

    stored: Prepared
    digest: str

    @property
    def size(self) -> int:
        """How many bytes of UTF-8."""
        return int(self.stored.meta["bytes"])

    @property
    def text(self) -> str:
        """All of it, in memory."""
        return "".join(self._read([(0, self.size)]))

    def stretches(self, share: float, *, held: bool) -> Iterator[str]:
        """The text that is scored where `share` is held out, or all that is not, some megabytes at a time."""
        return self._read(self.spans(share, held=held))

    def spans(self, share: float, *, held: bool) -> list[tuple[int, int]]:
        """Where that text begins and ends, in bytes; neighbours are joined."""
        starts, draws = self._tensor("starts", torch.int64), self._tensor("draws", torch.float64)
        if len(starts) == 1:
            at = self._boundary(int(self.size * (1 - share)))
            return [(at, self._boundary(min(self.size, at + SCORED)))] if held else [(0, at)]
        out = draws < share
        if 0 < share < 1 and not out.any():
            out[draws.argmin()] = True
        if 0 < share < 1 and out.all():
            out[draws.argmax()] = False
        ends = torch.cat([starts[1:], torch.tensor([self.size])])
        chosen = self._scored(starts, ends, draws, out) if held else ~out
        spans: list[tuple[int, int]] = []
        for begin, end in zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True):
            if spans and spans[-1][1] == begin:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((begin, end))
        return spans

    def _scored(self, starts: Tensor, ends: Tensor, draws: Tensor, out: Tensor) -> Tensor:
        """Which documents of those held out are scored; where the last is too long, its end is moved."""
        order = torch.nonzero(out).flatten()
        order = order[torch.argsort(draws[order], stable=True)]
        before = (ends - starts)[order].cumsum(0) - (ends - starts)[order]
        order, before = order[before < SCORED], before[before < SCORED]
        if len(order):
            last = order[-1]
            ends[last] = min(int(ends[last]), self._boundary(int(starts[last] + SCORED - before[-1])))
        return torch.zeros_like(out).index_fill_(0, order, True)

    def _tensor(self, name: str, dtype: torch.dtype) -> Tensor:
        return self.stored.tensor(name, dtype, int(self.stored.meta["documents"]))

    def _boundary(self, at: int) -> int:
        """The nearest place at or after this one where a character begins."""
        with (self.stored.folder / "text").open("rb") as file:
            file.seek(at)
            following = file.read(4)
        while following and following[0] & 0xC0 == 0x80:
            at, following = at + 1, following[1:]
        return at

    def _read(self, spans: list[tuple[int, int]]) -> Iterator[str]:
        with (self.stored.folder / "text").open("rb") as file:
            for begin, end in spans:
                file.seek(begin)
                left = end - begin
                rest = b""
                while left:
                    data = file.read(min(CHUNK, left))
                    left -= len(data)
                    data = rest + data
                    cut = _last_line(data) if left else len(data)
                    yield data[:cut].decode("utf-8")
                    rest = data[cut:]


def _last_line(data: bytes) -> int:
    """Where the last whole line ends, or where the last whole character does."""
    at = data.rfind(b"\n") + 1
    if at:
        return at
    at = len(data)
    while at > 1 and data[at - 1] & 0xC0 == 0x80:
        at -= 1
    return at - 1 if at > 1 else len(data)


class Book(NamedTuple):
    """A file of text as one document, with its part and draw."""

    file: File
    part: str
    draw: float


def books_of(files: Iterable[File], parts: dict[str, str | None]) -> list[Book]:
    """Files of text with their draws; `parts` are those that folders or names give."""
    files = list(files)
    given = frozenset(part for part in parts.values() if part is not None)
    named = (
        (file, drawn_part(file.inner, parts.get(file.inner), given or frozenset({"train"}))) for file in files
    )
    return [Book(file, part, draw) for file, (part, draw) in named]


def store_books(folder: Path, name: str, books: list[Book]) -> Json:
    """Copy files of text one after another; a file that is no text is noted and left out."""
    note, files = beginning(folder, FILES)
    bad, first = note.get("bad", []), note.get("file", 0)
    bar = PreparationBar(name, sum(book.file.state[0] for book in books), "bytes")
    alone, settled = len(books) == 1, files.length("text")
    try:
        for at in range(first, len(books)):
            book, begin = books[at], files.length("text")
            if book.part == "test":
                continue
            problem = _copy(book.file, files, bar)
            if problem is not None:
                files.cut("text", begin)
                bad.append([problem.file, problem.what, problem.line])
            else:
                if not alone:
                    files.add("text", b"\n\n")  # so that documents do not run into each other
                _begin(files, begin, book.draw)
            if files.length("text") - settled > SETTLE:
                settled = files.length("text")
                files.settled({"file": at + 1, "bad": bad})
        return _summary(files, bad)
    finally:
        bar.close()
        files.close()


def _begin(files: Appending, start: int, draw: float) -> None:
    files.add("starts", start.to_bytes(8, "little"))
    files.add("draws", torch.tensor(draw, dtype=torch.float64).numpy().tobytes())


def _summary(files: Appending, bad: list[list[object]]) -> Json:
    documents = files.length("starts") // 8
    return {"documents": documents, "bytes": files.length("text"), "bad": bad}


def _copy(file: File, files: Appending, bar: PreparationBar) -> DataProblem | None:
    """The text of a file with plain line ends, or what is wrong with it and where."""
    try:
        check_text_file(file.path)
        with file.path.open(encoding="utf-8-sig", newline=None) as text:
            lines, any_text = 0, False
            while piece := text.read(CHUNK):
                if "\0" in piece:
                    line = lines + piece.count("\n", 0, piece.index("\0")) + 1
                    return DataProblem(file.inner, "holds zero bytes", line)
                lines += piece.count("\n")
                any_text = any_text or not piece.isspace()
                files.add("text", piece.encode())
                bar.at(files.length("text"))
            return None if any_text else DataProblem(file.inner, "is empty")
    except UnicodeDecodeError:
        return DataProblem(file.inner, "is not in UTF-8", _first_bad_line(file.path))
    except OSError as error:
        return DataProblem(file.inner, f"cannot be read: {error.strerror}")
    except ValueError as error:
        return DataProblem(file.inner, str(error).removeprefix(f"{file.path} "))


def _first_bad_line(path: Path) -> int | None:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return None


def store_rows(folder: Path, name: str, rows: Iterable[Row], problems: list[DataProblem], total: int) -> Json:
    """The texts of a table one after another; a preparation that was cut off goes on after its last row."""
    note, files = beginning(folder, FILES)
    done, settled = note.get("rows", 0), files.length("text")
    bar = PreparationBar(name, total, "bytes")
    try:
        for at, row in enumerate(rows):
            if at < done:
                continue
            part, draw = drawn_part(
                row.text, row.part, frozenset({"train"} if row.part is None else {row.part})
            )
            if part == "test":
                continue
            assert fault_of_text(row.text) is None
            begin = files.length("text")
            files.add("text", row.text.strip().replace("\r\n", "\n").encode() + b"\n\n")
            _begin(files, begin, draw)
            if files.length("text") - settled > SETTLE:
                settled = files.length("text")
                files.settled({"rows": at + 1})
                bar.at(settled)
        return _summary(files, [[one.file, one.what, one.line] for one in problems])
    finally:
        bar.close()
        files.close()
