"""LaTeX and unicode as the plain language: what is read, what is refused, and that nothing can hang it."""

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.lessons import get
from regard.lessons.checking.checker import judge
from regard.lessons.checking.evaluate import exact
from regard.lessons.checking.expression import parse
from regard.lessons.checking.latex import plain

AT = {"n": 7, "t": 3, "w": 4}


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (r"\frac{n(n+1)}{2}", "n(n+1)/2"),
        (r"\frac12 n", "n/2"),
        (r"\frac n2", "n/2"),
        (r"\frac{n}2", "n/2"),
        (r"\dfrac{n}{t}\tfrac{1}{2}", "n/t/2"),
        (r"\cfrac{1}{1+\cfrac{1}{n}}", "1/(1+1/n)"),
        (r"{n \over 2} + {n+1 \choose 2}", "n/2 + n(n+1)/2"),
        (r"\binom{n}{2}", "n(n-1)/2"),
        (r"n^{2}t", "n^2 t"),
        (r"n^{t-1}", "n^(t-1)"),
        (r"n^\frac{4}{2}", "n^2"),
        (r"n^{-1}", "1/n"),
        (r"\left( n + 1 \right) \left[ t \right]", "(n+1)t"),
        (r"\bigl(n+1\bigr)\Big(t\Big)", "(n+1)t"),
        (r"\left\lfloor\frac{n}{w}\right\rfloor", "floor(n/w)"),
        (r"\lceil n/w \rceil", "ceil(n/w)"),
        (r"\left|t-n\right|", "n-t"),
        (r"\lvert t-n \rvert", "n-t"),
        (r"n \cdot t \times w", "n t w"),
        (r"n \bmod w + n \mod w", "2 mod(n,w)"),
        (r"n \pmod{w}", "mod(n,w)"),
        (r"\min(n,t)+\max\{n,t\}", "n + t"),
        (r"\operatorname{min}(n, t)", "t"),
        (r"\mathrm{floor}(n/w)", "floor(n/w)"),
        (r"\text{min}(n,t)\,\cdot\;n\!\quad\qquad", "n t"),
        (r"$n$", "n"),
        (r"$$n$$", "n"),
        (r"\(n\)", "n"),
        (r"\[n\]", "n"),
        (r"\displaystyle \frac{n}{2}", "n/2"),
        (r"\boxed{n+1}\,t", "(n+1)t"),
        (r"\underline{n}", "n"),
        (r"\textcolor{red}{n}+t", "n+t"),
        (r"n~t", "n t"),
        (r"1{,}000 n", "1000n"),
        (r"1\,000 n", "1000n"),
        (r"\mathbf{n} \boldsymbol{t}", "n t"),
        (r"\begin{equation} n + t \label{eq:a} \end{equation}", "n + t"),
        (r"n\div t", "n/t"),
        (r"\sum_{i=1}^{n} i", "n(n+1)/2"),
        (r"\sum\limits_{i=1}^{n} i", "n(n+1)/2"),
        (r"\sum^{n}_{i=1} i", "n(n+1)/2"),
        (r"n\%w", "mod(n,w)"),
        (r"{n}^{2}{t}", "n^2 t"),
        ("n²t⁻¹", "n^2/t"),
        ("½n + ¼n", "3n/4"),
        ("⌊n/w⌋⌈n/w⌉", "2"),
        ("n·t×w", "n t w"),
        ("n−t–w", "n-t-w"),
        ("n÷t", "n/t"),
        ("∑_{i=1}^{n} i", "n(n+1)/2"),
        ("𝑛(𝑛+1)", "n(n+1)"),
        ("n<sup>2</sup>", "n^2"),
        ("nᵗ", "n^t"),
        ("n\u2062t", "n t"),
        ("`n`", "n"),
    ],
)
def test_the_same_in_plain_letters(text, same):
    assert exact(parse(text, "ntw").node, AT) == exact(parse(same, "ntw").node, AT)


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        (r"x_{1}", ["x1"]),
        ("x₁", ["x1"]),
        (r"x_{\text{in}}", ["x_in"]),
        (r"\mathbf{x}_1", ["x1"]),
        ("β", ["beta"]),
    ],
)
def test_subscripts_and_greek(text, letters):
    assert parse(text, letters).node.name == letters[0]


GROWTHS = [
    "O(n^2)", r"\mathcal{O}(n^2)", r"\mathcal O(n^2)", r"O\left(n^2\right)", r"\Theta(n^2)", "Θ(n²)",
    "Theta(n^2)", r"O\bigl(n^2\bigr)", r"{\cal O}(n^2)", r"\operatorname{O}(n^2)", r"O\!\left[n^{2}\right]",
]  # fmt: skip


@pytest.mark.parametrize("text", GROWTHS)
def test_every_big_o(text):
    found = parse(text, "n")
    assert found.growth == "O"
    assert found.node == parse("n^2", "n").node


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"\foo{n}", r"'\\foo' is no LaTeX that is read here"),
        (r"\frac{n}", "something is missing at the end"),
        (r"\frac{n}{2", "a brace is not closed"),
        (r"n}", "a brace is closed that was not opened"),
        (r"\frac}{2}", "a brace is closed that was not opened"),
        ("n\\", r"a \\ stands at the end"),
        (r"\begin{cases} n \\ t \end{cases}", "a case needs its condition"),
        (r"\begin{tikzpicture}", r"'\\begin\{tikzpicture\}' is no LaTeX"),
        (r"\sum n", "a sum needs its letter and both ends"),
        (r"\sum_{i=1} i", "a sum needs its letter and both ends"),
        (r"n_{t-1}", "a subscript is a number or a word"),
        ("{" * 80 + "n" + "}" * 80, "more than 60 groups inside each other"),
        (r"\sqrt " * 200 + "n", "more than 60 groups inside each other"),
        (r"\frac" * 280 + " n", "more than 60 groups inside each other"),
        (r"\text" * 280 + " n", "more than 60 groups inside each other"),
        (r"1 + \dots + n", "dots leave something out"),
        (r"n \\ t", "';' has no meaning here"),
        (r"n & t", "'&' has no meaning here"),
        ("\\begin{pmat\nrix}", r"'\\begin\{pmat rix\}' is no LaTeX"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse(text, "nt")
    assert "\n" not in str(caught.value)


PIECES = st.sampled_from([
    r"\frac", "{", "}", "n", "t", "2", "^", "_", r"\left(", r"\right)", "(", ")", r"\sqrt", "[", "]", "+",
    "-", " ", r"\cdot", r"\lfloor", r"\rfloor", "$", r"\mathcal{O}", r"\text{", r"\sum_{i=1}^{n}", "i",
    "=", ",", "|", r"\\", r"\begin{pmatrix}", r"\end{pmatrix}", "&", "β", "²", "₁", r"\binom", r"\over",
    "mod", "//", "%", "x_1", "k_1", r"\phi_y", "W_h", "\n", ".", ":", "for", "≥", "⇒", "e", "log",
])  # fmt: skip
ONE_OF_EACH = [
    get("counting-attention").exercises[1],
    get("weight-sharing").exercises[3],
    *(e for name in ("weight-sharing", "rnn-or-transformer", "grid-rnn") for e in get(name).exercises[-4:]),
]


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_latex_is_read_or_refused_at_once(text):
    start = time.monotonic()
    for exercise in ONE_OF_EACH:
        with suppress(ValueError):
            judge(exercise, text)
    assert time.monotonic() - start < 8


@settings(max_examples=200)
@given(st.text(max_size=120))
def test_any_text_is_translated_or_refused(text):
    with suppress(ValueError):
        assert "\\frac" not in plain(text) or "\\backslash" in text


def test_a_translation_that_grows_too_long_is_refused():
    with pytest.raises(ValueError, match="an answer of more than 8,000 characters"):
        plain("\ufdfa" * 1500)  # one sign that stands for eighteen
