r"""Answers in a file: one `name = …` a line, in LaTeX, Markdown or plain text.

Comments, headings, bullets, bold names, `$`, displays and tables of two columns are seen through. A line that
goes on (`&= …`, an open bracket, a matrix) belongs to the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.lessons.checking.checker import Answering
from regard.lessons.checking.equation import is_named
from regard.lessons.checking.exercise import Question
from regard.lessons.checking.verdict import Verdict

SUFFIXES = (".tex", ".md", ".txt")
OTHERS = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".html", ".ipynb", ".png", ".jpg", ".typ", ".csv", ".json")
LARGEST = 200_000  # bytes
MOST = 200  # answers
GOING_ON = 20  # lines of one answer
LONGEST_LINE = 20_000  # characters

STRUCTURE = re.compile(
    r"\\(documentclass|usepackage|section|subsection|subsubsection|paragraph|title|author|date|maketitle|newpage|"
    r"pagestyle|setlength|newcommand|renewcommand|vspace|bigskip|medskip|smallskip|chapter|input|hrule)\b.*$"
)
ENVIRONMENT = re.compile(
    r"\\(?:begin|end)\{(?!p?matrix|[bBv]matrix|smallmatrix|array)[A-Za-z]+\*?\}(?:\[[^\]]*\])?"
)
BULLET = re.compile(
    r"^\s*(?:>\s*)*(?:\\item(?:\[[^\]]*\])?|[-+•*–](?=\s)|\(?(?:\d{1,2}|[a-z])[.)](?=\s))?\s*"
)
NEW = re.compile(r"(?:\\(?:text|mathrm|textbf|mathbf|operatorname)\{)?[A-Za-z][\w -]*\}?\s*(?:&?=|:)")
MATRIX = re.compile(r"\\(begin|end)\{(?:[pbBv]?matrix|smallmatrix|array)\}")


@dataclass(frozen=True)
class Given:
    """One answer of a file, with its line."""

    line: int
    text: str


@dataclass(frozen=True)
class Report:
    """What is said about a file: verdicts on what could be read, and a line for each fault."""

    verdicts: tuple[Verdict, ...]
    faults: tuple[str, ...]


def is_file_name(text: str) -> bool:
    """Whether an answer is rather the name of a file.

    >>> is_file_name("answers.tex"), is_file_name("n(n+1)/2")
    (True, False)
    """
    return re.fullmatch(r"[^\n=]{1,400}", text) is not None and text.lower().endswith((*SUFFIXES, *OTHERS))


def check_file(exercises: Sequence[Question], path: Path) -> Report:
    """The verdicts on the answers of a file; a ValueError says why the file itself cannot be read."""
    answering = Answering(exercises)
    verdicts, faults = [], []
    for given in answers(path):
        where = f"{path.name}, line {given.line}"
        try:
            if not is_named(exercises, given.text):
                raise ValueError("no question is named here: write `name = formula`, or make it a comment")
            verdicts.append(replace(answering.judge(given.text), where=where))
        except ValueError as error:
            faults.append(f"{where}: {error}")
    return Report(tuple(verdicts), tuple(faults))


def answers(path: Path) -> list[Given]:
    """The answers that stand in a file."""
    text = _text(path)
    if path.suffix.lower() == ".tex":
        text = re.sub(r"(?<!\\)%.*", "", text)
    else:
        text = _unhidden(text)
        text = re.sub(r"(^|(?<=\s))#.*", "", text, flags=re.MULTILINE)
        text = re.sub(r"^[ \t]*(```|~~~).*$", "", text, flags=re.MULTILINE)
    lines = text.split("\n")
    for number, one in enumerate(lines, 1):
        if len(one) > LONGEST_LINE:
            raise ValueError(f"{path}, line {number}: more than {LONGEST_LINE:,} characters in a line")
    found: list[Given] = []
    for line in _whole(lines):
        found += _pieces(line)
        if len(found) > MOST:
            raise ValueError(f"{path}: more than {MOST} answers")
    if not found:
        raise ValueError(f"{path}: no answer in it; write one `name = formula` a line")
    return found


def _unhidden(text: str) -> str:
    """Without comments <!-- … -->, but with their line ends; one that is never closed hides the rest."""
    out, at = [], 0
    while (start := text.find("<!--", at)) >= 0:
        end = text.find("-->", start)
        end = len(text) if end < 0 else end + 3
        out += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end
    return "".join([*out, text[at:]])


def _text(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path}: answers are read from {', '.join(SUFFIXES)} files")
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if not path.is_file():
        raise ValueError(f"{path}: that is no file")
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise ValueError(f"{path}: a file of answers has at most {LARGEST:,} bytes, this has {size:,}")
        return path.read_text(encoding="utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is no text in UTF-8") from None


def _whole(lines: Sequence[str]) -> Iterator[Given]:
    """Lines put together with those that they go on in."""
    start, held, taken = 0, "", 0
    for number, written in enumerate(_untabled(lines), 1):
        line = STRUCTURE.sub("", re.sub(r"[ \t]+", " ", written))
        bare = re.sub(r"^[\s$]*(?:\\\[)?\s*", "", ENVIRONMENT.sub("", line))
        more = re.match(r"&?\s*=|&", bare) is not None or (
            _open(_stripped(held)) and not NEW.match(_stripped(line))
        )
        if held and more and taken < GOING_ON:
            held, taken = f"{held}\n{line}", taken + 1
            continue
        if held.strip():
            yield Given(start, held)
        start, held, taken = number, line, 1
    if held.strip():
        yield Given(start, held)


def _open(text: str) -> bool:
    """Whether a bracket or a matrix is still open, or a sign waits for more."""
    matrices = sum(1 if m[1] == "begin" else -1 for m in MATRIX.finditer(text))
    brackets = sum(text.count(a) - text.count(b) for a, b in ("()", "[]", "{}"))
    return matrices > 0 or (brackets > 0 and "=" in text) or re.search(r"[-+*/=]\s*$", text) is not None


def _untabled(lines: Sequence[str]) -> Iterator[str]:
    """Rows of a table of two columns as `name = answer`; its head and rule as nothing."""
    rule = re.compile(r"^\s*\|[\s:|-]+\|\s*$")
    for i, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        row = line.strip().startswith("|") and line.strip().endswith("|") and len(cells) == 2
        if rule.match(line) or (row and i + 1 < len(lines) and rule.match(lines[i + 1])):
            yield ""
        else:
            yield f"{cells[0]} = {cells[1]}" if row else line


def _pieces(given: Given) -> Iterator[Given]:
    """The answers of one line, which `\\` may part; a piece that begins with = goes on the one before."""
    out: list[Given] = []
    line = given.line
    for piece in _parted(given.text):
        text = _stripped(piece)
        if text and out and re.match(r"&?\s*=", text):
            out[-1] = replace(out[-1], text=f"{out[-1].text} {text}")
        elif text:
            out.append(Given(line + (len(piece) - len(piece.lstrip("\n"))), text))
        line += piece.count("\n")
    yield from out


def _parted(text: str) -> Iterator[str]:
    """Parts between line ends `\\` that stand outside matrices."""
    depth, start = 0, 0
    for match in re.finditer(r"\\(?:(begin|end)\{(?:[pbBv]?matrix|smallmatrix|array)\}|\\)", text):
        if match[1] is not None:
            depth += 1 if match[1] == "begin" else -1
        elif depth <= 0:
            yield text[start : match.start()]
            start = match.end()
    yield text[start:]


def _stripped(text: str) -> str:
    """Without bullets, bold marks, displays and rules."""
    text = BULLET.sub("", ENVIRONMENT.sub(" ", text), count=1)
    text = re.sub(r"^\s*[$`]*\s*(\*\*|__|\*|_)(.+?)\1\s*(?=[:=&$`])", r"\2 ", text)
    text = re.sub(r"^\s*[$`]*\s*(\*\*|__)([^*=]+?)\s*([:=])\s*\1", r"\2 \3 ", text)
    text = re.sub(r"^\[\d+pt\]|\\[\[\]]|\${1,2}", " ", text).strip(" \t\n&")
    return "" if re.fullmatch(r"[-=_*\s~{}.;,]*", text) else text
