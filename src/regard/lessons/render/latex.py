"""A lesson as a LaTeX document that needs nothing but the standard packages."""

from __future__ import annotations

import re
from collections.abc import Callable

from regard.lessons.lesson import Answer
from regard.lessons.parts import Block, Check, Formula, Part, Picture, Prose, Table

HEAD = r"""\documentclass[11pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=25mm]{geometry}
\usepackage{amsmath,amssymb,booktabs,graphicx,textcomp}
\setlength{\parindent}{0pt}\setlength{\parskip}{6pt}
\setcounter{MaxMatrixCols}{20}
"""
# What pdflatex cannot read directly, and what it reads otherwise.
SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip
MATHS = {
    "−": "-", "×": r"\times ", "·": r"\cdot ", "≤": r"\le ", "≥": r"\ge ", "≈": r"\approx ", "≠": r"\ne ",
    "→": r"\to ", "∞": r"\infty ", "Σ": r"\Sigma ", "√": r"\surd ", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
    "⌈": r"\lceil ", "⌉": r"\rceil ", "φ": r"\varphi ", "β": r"\beta ", "σ": r"\sigma ", "α": r"\alpha ",
    "ω": r"\omega ", "‖": r"\Vert ", "⟨": r"\langle ", "⟩": r"\rangle ", "½": r"\tfrac12 ", "∈": r"\in ",
}  # fmt: skip
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹ᵀᵖ⁻", [*"0123456789", "T", "p", "-"], strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ᵢⱼₜ", [*"0123456789", "i", "j", "t"], strict=True))
PLAIN = {"…": r"\dots{}", "—": "---", "–": "--", "“": "``", "”": "''", "’": "'", "\N{NO-BREAK SPACE}": "~"}


def latex(answer: Answer, picture: Callable[[Picture], str | None]) -> str:
    """The whole lesson; `picture` gives the file of each picture, or None where there is none."""
    lesson = answer.lesson
    body = [f"\\emph{{{to_tex(lesson.question)}}}", *(_shown(part, picture) for part in answer.parts)]
    if lesson.exercises:
        items = "\n".join(
            f"\\item \\textbf{{{to_tex(e.name)}}} --- {to_tex(e.asks)} ({to_tex(e.domain.says)})"
            for e in lesson.exercises
        )
        body.append(f"\\section*{{Your turn}}\n\\begin{{enumerate}}\n{items}\n\\end{{enumerate}}")
    title = f"\\title{{{to_tex(lesson.title)}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle"
    return "\n\n".join([HEAD + title, *body, "\\end{document}"]) + "\n"


def _shown(part: Part, picture: Callable[[Picture], str | None]) -> str:  # noqa: PLR0911
    if isinstance(part, Prose):
        return _prose(part.text)
    if isinstance(part, Formula):
        return f"{to_tex(part.says)}\n\\[\n{part.latex()}\n\\]"
    if isinstance(part, Check):
        sign = "$\\checkmark$" if part.holds else "\\textbf{fails:}"
        return f"{sign} {_prose(part.claim)} --- {_prose(part.seen)}."
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Block):
        says = f"{to_tex(part.says)}\n" if part.says else ""
        return f"{says}\\begin{{quote}}\\ttfamily\\small\n{_lines(part.text)}\n\\end{{quote}}"
    link = picture(part)
    if link is None:
        return f"\\emph{{{to_tex(part.alt)}.}}"
    image = f"\\includegraphics[width=.7\\linewidth]{{{link}}}"
    return f"\\begin{{center}}\n{image}\n\n\\small {to_tex(part.alt)}\n\\end{{center}}"


def _lines(text: str) -> str:
    """Lines whose spaces count; a centred dot is as wide as other signs only as a full stop."""
    fixed = text.replace("·", ".").replace(" ", "\N{NO-BREAK SPACE}")
    return "\\\\\\relax\n".join(to_tex(line) or "~" for line in fixed.split("\n"))


def _prose(text: str) -> str:
    """`code`, **bold** and *emphasis*; everything between is escaped."""
    out = []
    for piece in re.split(r"(`[^`]+`|\*\*[^*]+\*\*|(?<![\w*])\*[^*\n]+\*(?![\w*]))", text):
        if piece.startswith("`"):
            out.append(f"\\texttt{{{to_tex(piece[1:-1])}}}")
        elif piece.startswith("**"):
            out.append(f"\\textbf{{{to_tex(piece[2:-2])}}}")
        elif piece.startswith("*") and len(piece) > 2:
            out.append(f"\\emph{{{to_tex(piece[1:-1])}}}")
        else:
            out.append(to_tex(piece))
    return "".join(out)


def _table(part: Table) -> str:
    sides = "".join("l" if part.left(i) else "r" for i in range(len(part.head)))
    lines = [" & ".join(map(to_tex, row)) + r" \\" for row in (part.head, *part.rows)]
    rows = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
    says = f"{to_tex(part.says)}\n\n" if part.says else ""
    body = f"\\begin{{tabular}}{{{sides}}}\n{rows}\n\\end{{tabular}}"
    fit = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}"
    return f"{says}\\begin{{center}}\\small\n{fit}{{{body}}}\n\\end{{center}}"


def to_tex(text: str) -> str:
    r"""Plain text with its mathematical signs as LaTeX.

    >>> to_tex("n² ≥ t_1 & 5 %")
    'n\\(^{2}\\) \\(\\ge \\) t\\_1 \\& 5 \\%'
    """
    out = []
    for sign in text:
        if sign in SPECIAL or sign in PLAIN:
            out.append(SPECIAL.get(sign) or PLAIN[sign])
        elif sign in MATHS:
            out.append(f"\\({MATHS[sign]}\\)")
        elif sign in RAISED:
            out.append(f"\\(^{{{RAISED[sign]}}}\\)")
        elif sign in LOWERED:
            out.append(f"\\(_{{{LOWERED[sign]}}}\\)")
        else:
            out.append(sign)
    return "".join(out)
