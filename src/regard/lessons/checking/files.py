r"""Answers in a file: one `name = …` a line, in LaTeX, Markdown or plain text.

Comments, bullets, bold names, `$`, displays and tables are seen through. A line that goes on (`&= …`, an open
bracket, a matrix) belongs to the one before it; a name alone on its line, or in a heading, to the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.lessons.checking.checker import Answering
from regard.lessons.checking.equation import key, named, siblings, split
from regard.lessons.checking.exercise import Question
from regard.lessons.checking.expression import quoted
from regard.lessons.checking.latex import plain
from regard.lessons.checking.verdict import Verdict

SUFFIXES = (".tex", ".md", ".txt")
OTHERS = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".html", ".ipynb", ".png", ".jpg", ".typ", ".csv", ".json")
LARGEST = 200_000  # bytes
MOST = 200  # answers
GOING_ON = 20  # lines of one answer
LONGEST_LINE = 20_000  # characters

HEADING = re.compile(r"^\s*(?:#+\s*(.+?)[\s#]*|\\(?:(?:sub)*section|paragraph)\*?\{([^{}]*)\}(.*))$")
STRUCTURE = re.compile(
    r"\\(documentclass|usepackage|section|subsection|subsubsection|paragraph|title|author|date|maketitle|newpage|"
    r"pagestyle|setlength|newcommand|renewcommand|vspace|bigskip|medskip|smallskip|chapter|input|hrule|toprule|"
    r"midrule|bottomrule)\b.*$"
)
ENVIRONMENT = re.compile(
    r"\\(?:begin|end)\{(?!p?matrix|[bBv]matrix|smallmatrix|array|d?cases)[A-Za-z]+\*?\}"
    r"(?:\[[^\]]*\])?(?:\{[lcr|@p{}.\s\d]*\})?"
)
LABEL = r"\(?(?:\d{1,2}[a-z]?|[a-z])[.)](?=\s)"
BULLET = re.compile(rf"^\s*(?:>\s*)*(?:\\item(?:\[[^\]]*\])?|[-+•*–](?=\s)|{LABEL})?\s*(?:{LABEL})?\s*")
NEW = re.compile(r"(?:\\(?:text|mathrm|textbf|mathbf|operatorname)\{)?[A-Za-z][\w -]*\}?\s*(?:&?=|:)")
MATRIX = re.compile(r"\\(begin|end)\{(?:[pbBv]?matrix|smallmatrix|array|d?cases)\}")


@dataclass(frozen=True)
class Given:
    """One answer of a file, with its line."""

    line: int
    text: str


@dataclass(frozen=True)
class CheckedAnswers:
    """What is said about answers: verdicts, and a line for each fault and each line of a file passed over."""

    verdicts: tuple[Verdict, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()


def is_file_name(text: str) -> bool:
    """Whether an answer is rather the name of a file.

    >>> is_file_name("answers.tex"), is_file_name("n(n+1)/2")
    (True, False)
    """
    return re.fullmatch(r"[^\n=]{1,400}", text) is not None and text.lower().endswith((*SUFFIXES, *OTHERS))


def check_all(exercises: Sequence[Question], answers: Iterable[str | Path]) -> CheckedAnswers:
    """The verdicts on answers one after another, a path for those in a file, and why others have none."""
    answering = Answering(exercises)
    reports = []
    for answer in answers:
        try:
            if isinstance(answer, Path):
                reports.append(check_file(exercises, answer))
            elif is_file_name(answer):
                # A text may come from anybody; only who calls us may open files.
                raise ValueError(f"{answer} looks like a file: give it as a pathlib.Path")
            else:
                reports.append(CheckedAnswers((answering.judge(answer),), ()))
        except ValueError as error:
            reports.append(CheckedAnswers((), (str(error),)))
    return CheckedAnswers(
        tuple(verdict for report in reports for verdict in report.verdicts),
        tuple(fault for report in reports for fault in report.faults),
        tuple(note for report in reports for note in report.notes),
    )


def check_file(exercises: Sequence[Question], path: Path) -> CheckedAnswers:
    """The verdicts on the answers of a file; a ValueError says why the file itself cannot be read."""
    answering = Answering(exercises)
    verdicts, faults, notes = [], [], []
    steps: tuple[tuple[str, str], ...] = ()
    for given in answers(path, exercises):
        where = f"{path.name}, line {given.line}"
        try:
            step = _step(exercises, given.text)
            if step is not None:
                steps = (*steps, step)
                continue
            means_one, left = _means_one(exercises, given.text), list(answering.open)
            verdict = answering.judge(given.text, steps)
            if not means_one and not verdict.right:
                answering.open = left
                raise ValueError("no question is named")
        except ValueError as error:
            if means_one:
                faults.append(f"{where}: {error}")
            else:
                notes.append(f"{where}: passed over, no question is named: {quoted(given.text)}")
        else:
            verdicts.append(replace(verdict, where=where))
    if not verdicts and not faults:
        raise ValueError(f"{path}: no answer in it; write one `name = formula` a line")
    return CheckedAnswers(tuple(verdicts), tuple(faults), tuple(notes))


def _step(exercises: Sequence[Question], text: str) -> tuple[str, str] | None:
    """A letter and what it is, where a line is a step on the way: h_2 = x_2 - x_1, where h_4 is asked for."""
    try:
        sides = split(plain(text)).sides
    except ValueError:
        return None
    symbols = [symbol for e in exercises for symbol in e.left]
    return (sides[0], sides[-1]) if len(sides) > 1 and siblings(key(sides[0]), symbols) else None


def _means_one(exercises: Sequence[Question], text: str) -> bool:
    """Whether a line tries to answer a question: it names one, or has a word and = before a formula."""
    match = re.match(r"([^=:&→]*)(&?=|:|→)(.*)", text, re.DOTALL)
    if match is None:
        return False
    word = match[2] != ":" and re.fullmatch(r"\W*[A-Za-z-]{2,}\W*", match[1]) is not None
    return bool(named(exercises, match[1])) or (word and re.search(r"\d|\\", match[3]) is not None)


def answers(path: Path, exercises: Sequence[Question] = ()) -> list[Given]:
    """The answers that stand in a file."""
    text = _text(path)
    heading = "\n".join(
        f"{m[1] or m[2]}: {m[3] or ''}"
        if (m := HEADING.match(line)) and named(exercises, m[1] or m[2])
        else line
        for line in text.split("\n")
    )
    if path.suffix.lower() == ".tex":
        text = re.sub(r"(?<!\\)%.*", "", heading)
    else:
        text = _unhidden(heading)
        text = re.sub(r"(^|(?<=\s))#.*", "", text, flags=re.MULTILINE)
        text = re.sub(r"^[ \t]*(```|~~~).*$", "", text, flags=re.MULTILINE)
    lines = text.split("\n")
    for number, one in enumerate(lines, 1):
        if len(one) > LONGEST_LINE:
            raise ValueError(f"{path}, line {number}: more than {LONGEST_LINE:,} characters in a line")
    found: list[Given] = []
    for line in _whole(lines, exercises):
        for piece in _pieces(line):
            found[-1:] = _joined(exercises, found[-1:], piece)
        if len(found) > MOST:
            raise ValueError(f"{path}: more than {MOST} answers")
    if not found:
        raise ValueError(f"{path}: no answer in it; write one `name = formula` a line")
    return found


def _joined(exercises: Sequence[Question], before: Sequence[Given], piece: Given) -> list[Given]:
    """A name that stands alone together with the formula behind it."""
    if not before or len(before[0].text) > 80 or not named(exercises, before[0].text):
        return [*before, piece]
    head = re.match(r"[^=:&]*", piece.text)
    if head is not None and head[0] != piece.text and named(exercises, head[0]):
        return [piece]  # it has a name of its own
    return [Given(before[0].line, f"{before[0].text.rstrip(' :=')} = {piece.text.lstrip(' =&')}")]


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


def _whole(lines: Sequence[str], exercises: Sequence[Question]) -> Iterator[Given]:
    """Lines put together with those that they go on in."""
    start, held, taken = 0, "", 0
    for number, written in enumerate(_untabled(lines, exercises), 1):
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


def _untabled(lines: Sequence[str], exercises: Sequence[Question]) -> Iterator[str]:
    """Rows of a table as `name = answer`; its head and rule as nothing."""
    rule = re.compile(r"^\s*\|[\s:|-]+\|\s*$")
    for i, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        row = line.strip().startswith("|") and line.strip().endswith("|") and 2 <= len(cells) <= 9
        while len(cells) > 2 and not named(exercises, cells[0]):
            cells = cells[1:]
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
    for match in re.finditer(r"\\(?:(begin|end)\{(?:[pbBv]?matrix|smallmatrix|array|d?cases)\}|\\)", text):
        if match[1] is not None:
            depth += 1 if match[1] == "begin" else -1
        elif depth <= 0:
            yield text[start : match.start()]
            start = match.end()
    yield text[start:]


def _stripped(text: str) -> str:
    """Without bullets, bold marks, displays and rules."""
    text = BULLET.sub("", ENVIRONMENT.sub(" ", text.replace("\\hline", "")), count=1)
    text = re.sub(r"^\s*[$`]*\s*(\*\*|__|\*|_)(.+?)\1\s*(?=[:=&$`])", r"\2 ", text)
    text = re.sub(r"^\s*[$`]*\s*(\*\*|__)([^*=]+?)\s*([:=])\s*\1", r"\2 \3 ", text)
    text = re.sub(
        r"^\s*(\\text\w*\{[^{}]*\}|[A-Za-z][\w -]*?)\s*&(?!\s*=)", r"\1 = ", text
    )  # a row of a table
    text = re.sub(r"^\[\d+pt\]|\\[\[\]]|\${1,2}", " ", text).strip(" \t\n&")
    return "" if re.fullmatch(r"[-=_*\s~{}.;,]*", text) else text
