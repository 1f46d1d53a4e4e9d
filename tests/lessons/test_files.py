"""Files of answers: what is seen through, which line a fault is in, and that any file is read or refused."""

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.lessons import check, check_file, get
from regard.lessons.checking.files import answers, is_file_name

COUNTING = "counting-attention"
TEX = r"""\documentclass{article}
\usepackage{amsmath}
\begin{document}
\section*{My answers}   % with a comment
% strided = wrong
\begin{align*}
  \text{autoregressive} &= \frac{n(n+1)}{2} \\[2pt]
  \text{strided} &= n(t+1) - \frac{t(t+1)}{2} \\
                 &= \frac{(2n-t)(t+1)}{2}.
\end{align*}
\begin{itemize}
  \item $windowed = \frac{n(w+1)}{2}$
\end{itemize}
\end{document}
"""
MARKDOWN = """# Answers

<!-- strided = wrong
and more -->
- **autoregressive** = n(n+1)/2
* strided: $n(t+1) - t(t+1)/2$

```
windowed = floor(n/w)*w(w+1)/2 + (n % w)(n % w + 1)/2   # all n
```
---
"""
TABLE = """| question | answer |
|:---|---|
| autoregressive | n(n+1)/2 |
| **strided** | `(2n-t)(t+1)/2` |
| Windowed | $n(w+1)/2$ |
"""
TEXT = """
# mine
1. autoregressive = n(n+1)/2
2) strided = (2n-t
  )(t+1)/2
(c) windowed = n *
 (w+1)/2
"""
DOS = "autoregressive = n(n+1)/2\r\nstrided = (2n-t)(t+1)/2\r\nwindowed = n(w+1)/2\r\n"
MARKED = "\ufeffautoregressive = n(n+1)/2\n\nstrided = (2n-t)(t+1)/2\nwindowed = n(w+1)/2"
ONE_LINE = r"\[ autoregressive = n(n+1)/2 \\ strided = (2n-t)(t+1)/2 \\ windowed = n(w+1)/2 \]"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.tex", TEX, [7, 8, 12]),
        ("a.md", MARKDOWN, [5, 6, 9]),
        ("b.MD", TABLE, [3, 4, 5]),
        ("a.txt", TEXT, [3, 4, 6]),
        ("dos.txt", DOS, [1, 2, 3]),
        ("bom.txt", MARKED, [1, 3, 4]),
        ("one.tex", ONE_LINE, [1, 1, 1]),
    ],
)
def test_three_right_answers(name, text, lines, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    found = check(COUNTING, tmp_path / name)
    assert [one.question for one in found] == ["autoregressive", "strided", "windowed"]
    assert all(one.right for one in found), [str(one) for one in found]
    assert [one.where for one in found] == [f"{name}, line {line}" for line in lines]


def test_matrices_and_symbols(tmp_path):
    file = tmp_path / "a.tex"
    file.write_text(
        "\\[ average = \\begin{pmatrix}\n 3 & 4 \\\\\n 6 & 7\n\\end{pmatrix} \\]\n"
        "y_7 = k_1 x_7 + k_2 x_8 + k_3 x_9 \\\\\n"
        "output-shape = 32 \\times 126 \\times 126\n",
        encoding="utf-8",
    )
    found = check("weight-sharing", file)
    assert [(one.question, one.right) for one in found] == [
        ("average", True),
        ("last", True),
        ("output-shape", True),
    ]
    assert [one.where for one in found] == ["a.tex, line 1", "a.tex, line 5", "a.tex, line 6"]


def test_faults_name_their_line_and_the_rest_is_judged(tmp_path):
    file = tmp_path / "a.md"
    file.write_text(
        "Here are my answers.\nstrided = n(t+1)\nfoo = 3\nwindowed = \\foo\nautoregressive = n(n+1)/2\n"
        "n(n+1)/2\n",
        encoding="utf-8",
    )
    report = check_file(COUNTING, file)
    assert [one.right for one in report.verdicts] == [False, True]
    assert report.faults == (
        "a.md, line 3: no question is called 'foo'; the questions are: autoregressive, strided, windowed",
        r"a.md, line 4: '\foo' is no LaTeX that is read here: 'windowed = \foo'",
    )
    assert report.notes == (
        "a.md, line 1: passed over, no question is named: 'Here are my answers.'",
        "a.md, line 6: passed over, no question is named: 'n(n+1)/2'",
    )
    with pytest.raises(ValueError, match=r"a\.md, line 3: no question is called 'foo'"):
        check(COUNTING, file)


ITEMS = r"""\begin{itemize}
\item strided:
\begin{align*}
 \frac{(2n-t)(t+1)}{2}
\end{align*}
\item windowed: \begin{equation*}
\frac{n(w+1)}{2}
\end{equation*}
\item \textbf{Autoregressive:} $\frac{n(n+1)}{2}$
\end{itemize}"""
HEADINGS = """### strided
$$\\frac{(2n-t)(t+1)}{2}$$

**windowed**

$$
n(w+1)/2
$$
# Autoregressive attention
n(n+1)/2
"""
TABULAR = r"""\begin{tabular}{ll}
question & answer \\ \hline
strided & $\frac{(2n-t)(t+1)}{2}$ \\
windowed & $n(w+1)/2$ \\
\textbf{autoregressive} & $\frac{n(n+1)}{2}$
\end{tabular}"""
COLUMNS = """| nr | question | answer | why |
|---|---|---|---|
| 1 | strided | (2n-t)(t+1)/2 | border |
| 2 | windowed | n(w+1)/2 | blocks |
| 3 | autoregressive | n(n+1)/2 | sum |
"""
LABELS = """**Team:** A. B.
Here are our answers, all right we hope.
- (a) strided: (2n-t)(t+1)/2
- b) windowed = n(w+1)/2
1c. autoregressive → n(n+1)/2
"""
UNNAMED = "(2n-t)(t+1)/2\nn(w+1)/2\nn(n+1)/2\n"
SECTIONS = r"""\subsection*{Strided}
\[ \begin{cases} \frac{(2n-t)(t+1)}{2} & n \ge t \\
 \frac{n(n+1)}{2} & n < t \end{cases} \]
\paragraph{windowed} $n(w+1)/2$
\paragraph{autoregressive} $n(n+1)/2$"""


@pytest.mark.parametrize(
    ("kind", "text"),
    [("tex", ITEMS), ("md", HEADINGS), ("tex", TABULAR), ("md", COLUMNS), ("md", LABELS), ("txt", UNNAMED),
     ("tex", SECTIONS)],
    ids=["items", "headings", "tabular", "columns", "labels", "unnamed", "sections"],
)  # fmt: skip
def test_files_as_students_write_them(kind, text, tmp_path):
    file = tmp_path / f"a.{kind}"
    file.write_text(text, encoding="utf-8")
    report = check_file(COUNTING, file)
    assert [(one.question, one.right) for one in report.verdicts] == [
        ("strided", True), ("windowed", True), ("autoregressive", True)
    ]  # fmt: skip
    assert report.faults == ()
    assert not any(one.answer.startswith("}") for one in report.verdicts)


def test_steps_on_the_way_are_put_in(tmp_path):
    file = tmp_path / "a.tex"
    steps = r"h_1 &= x_1 \\ h_2 &= x_2 - h_1 \\ &\vdots \\ h_3 &= x_3 - h_2 \\ h_4 &= x_4 - h_3"
    file.write_text(rf"\begin{{align*}} {steps} \end{{align*}}", encoding="utf-8")
    report = check_file("rnn-recurrences", file)
    assert [(one.question, one.right) for one in report.verdicts] == [("state", True)]
    assert report.faults == ()
    assert report.notes == (r"a.tex, line 1: passed over, no question is named: '\vdots'",)


def test_a_file_of_prose_has_no_answer(tmp_path):
    file = tmp_path / "a.md"
    file.write_text("I could not do it.\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no answer in it"):
        check_file(COUNTING, file)


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "folder.tex").mkdir()
    (tmp_path / "bytes.tex").write_bytes(b"\xff\xfe\x00n")
    (tmp_path / "empty.md").write_text("# nothing\n\n", encoding="utf-8")
    (tmp_path / "large.txt").write_text("x" * 200_001, encoding="utf-8")
    (tmp_path / "long.txt").write_text("\n" + "x" * 20_001, encoding="utf-8")
    (tmp_path / "many.txt").write_text("strided = n\n" * 201, encoding="utf-8")
    for name, message in [
        ("none.tex", "there is no such file"),
        ("folder.tex", "that is no file"),
        ("bytes.tex", "is no text in UTF-8"),
        ("empty.md", "no answer in it"),
        ("large.txt", "at most 200,000 bytes, this has 200,001"),
        ("long.txt", "line 2: more than 20,000 characters in a line"),
        ("many.txt", "more than 200 answers"),
        ("a.pdf", "answers are read from .tex, .md, .txt files"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            check(COUNTING, tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["<!--" * 50_000, " " * 19_000 + "x", "*" * 19_000, "|" * 19_000, r"\begin{a}[" * 1_900,
     "$" * 19_000, "strided = " + "(\n" * 90_000, "a:\n" * 60_000, "#" * 19_000, r"\\ " * 6_000,
     "&=\n" * 60_000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_hostile_files_are_refused_at_once(text, tmp_path):
    for kind in ("tex", "md"):
        file = tmp_path / f"a.{kind}"
        file.write_text(text, encoding="utf-8")
        start = time.monotonic()
        with suppress(ValueError):
            check_file(COUNTING, file)
        assert time.monotonic() - start < 5


def test_what_is_taken_for_a_file():
    assert is_file_name("my answers.tex")
    assert is_file_name("../sheet/A.TXT")
    for answer in ("n/t", "strided = n.tex", "n.t", "0.5", "O(n)"):
        assert not is_file_name(answer)


def test_a_text_never_opens_a_file(tmp_path):
    (tmp_path / "a.txt").write_text("strided = n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.txt looks like a file: give it as a pathlib\.Path"):
        check(COUNTING, str(tmp_path / "a.txt"))


def test_a_path_and_answers_together(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("strided = n(t+1)", encoding="utf-8")
    assert [one.question for one in check(COUNTING, "n(n+1)/2", file)] == ["autoregressive", "strided"]


LINES = st.sampled_from([
    "strided = n(t+1)", "windowed", "=", r"\\", "&=", "n(w+1)/2", r"\begin{align}", r"\end{align}", "- ",
    "**", "|", "|---|", r"\begin{pmatrix}", "3 & 4", r"\end{pmatrix}", "$$", r"\[", "<!--", "-->", "#",
    "%", "```", "(", "{", "}", "\n", "\n\n", " ", ":", r"\item", "autoregressive: n", r"\text{strided}",
    "1.", "\t", "é", "\x00",
])  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(LINES, max_size=30).map("".join) | st.text(max_size=200), st.sampled_from(["tex", "md", "txt"])
)
def test_any_file_is_read_or_refused_at_once(tmp_path_factory, text, kind):
    file = tmp_path_factory.getbasetemp() / f"any.{kind}"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    start = time.monotonic()
    with suppress(ValueError):
        report = check_file(COUNTING, file)
        assert all(fault.startswith(f"any.{kind}, line ") and "\n" not in fault for fault in report.faults)
    assert time.monotonic() - start < 8


def test_many_answers_in_one_line(tmp_path):
    file = tmp_path / "a.tex"
    answer = r"\text{strided} &= \frac{(2n-t)(t+1)}{2} \quad\quad\quad \\ "
    file.write_text(r"\begin{align*} " + answer * 150 + r"\end{align*}", encoding="utf-8")
    found = check(COUNTING, file)
    assert len(found) == 150
    assert all(one.right and one.where == "a.tex, line 1" for one in found)


def test_lines_are_those_of_the_file(tmp_path):
    file = tmp_path / "a.md"
    file.write_text("\n\nstrided = n\n\n<!-- a\nb -->\nwindowed = w\n", encoding="utf-8")
    assert [(one.line, one.text) for one in answers(file)] == [(3, "strided = n"), (7, "windowed = w")]


def test_every_lesson_can_be_answered_from_one_file(tmp_path):
    file = tmp_path / "all.txt"
    for name in ("weight-sharing", "grid-rnn"):
        rows = [
            f"{e.name} = {f'O({e.formula})' if getattr(e, 'growth', False) else e.formula}"
            for e in get(name).exercises
        ]
        file.write_text("\n".join(rows), encoding="utf-8")
        found = check(name, file)
        assert [one.question for one in found] == [e.name for e in get(name).exercises]
        assert all(one.right for one in found)
