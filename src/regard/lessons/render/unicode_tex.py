"""The signs that lessons write, in LaTeX: what pdflatex cannot read directly, and what it reads otherwise."""

from __future__ import annotations

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
