"""Signs that keyboards and word processors write, as the signs that the reader of answers knows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿᵀᵗⁱʲᵏᵈʰᵐᵇʷᴴᴸᴺᵝ", [*"0123456789+-=()nTtijkdhmbwHLN", "β"], strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵧ", "0123456789aehijklmnoprstuvxy", strict=True))
SIGNS = str.maketrans({
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "·": "*", "⋅": "*", "∙": "*", "•": "*", "×": "*",
    "✕": "*", "∗": "*", "÷": "/", "∕": "/", "⁄": "/", "⌊": "\\lfloor ", "⌋": "\\rfloor ", "⌈": "\\lceil ",
    "⌉": "\\rceil ", "∏": "\\prod ", "∂": "\\partial ", "π": "\\pi ",
    "½": "(1/2)", "¼": "(1/4)", "¾": "(3/4)", "⅓": "(1/3)", "⅔": "(2/3)", "⅛": "(1/8)", "√": " sqrt ",
    "∑": "\\sum ", "Σ": "\\sum ", "Θ": "\\Theta ", "Ω": "\\Omega ", "ℝ": "R", "∥": "‖", "‖": "‖", "∣": "∣",
    "β": "\\beta ", "φ": "\\phi ", "ϕ": "\\phi ", "Φ": "\\phi ", "ω": "\\omega ", "σ": "\\sigma ",
    "λ": "\\lambda ", "θ": "\\theta ", "α": "\\alpha ", "→": "⇒", "⟶": "⇒", "⟹": "⇒", "⟺": "⇒", "⇔": "⇒",
    "≔": "=", "≡": "=", "…": "…", "⋯": "…", "∞": "∞", "\u200b": "", "\ufeff": "", "\u2060": "", "\u2062": " ",
    "\u2061": "", "\u2064": "", "“": "", "”": "", "„": "", "`": "", "\u2032": "'", "\u2019": "'",
})  # fmt: skip
COMPREHENSION = re.compile(
    r"\bsum\(\s*\[?([^\[\]]{1,200}?)\s+for\s+([a-z])\s+in\s+range\((?:([^,()]+),\s*)?([^,]{1,80}?)\)\s*\]?\)"
)
TAGS = re.compile(r"<(sup|sub)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)


def respelled(text: str) -> str:
    """The text in ASCII and LaTeX, where those have a spelling of it.

    >>> respelled("n² − x₁₂")
    'n^{2} - x_{12}'
    >>> respelled("½n(n + 1)")
    '(1/2)n(n + 1)'
    """
    text = TAGS.sub(lambda m: f"{'^' if m[1].lower() == 'sup' else '_'}{{{m[2]}}}", text)
    text = re.sub(r"\.{3,}", "…", text)
    text = _runs(_runs(text, RAISED, "^"), LOWERED, "_").translate(SIGNS)
    # Mathematical italics and full-width letters become plain ones; dots that fold apart stay one sign.
    return "".join(sign if sign == "…" else unicodedata.normalize("NFKC", sign) for sign in text)


def from_code(text: str, families: Collection[str]) -> str:
    """A plain text without the writing of programs: sum(i for i in range(n)), math.floor, and x[4] for x_4.

    >>> from_code("x[4] + sum(i for i in range(1, n+1))", ["x"])
    'x_4  + ∑(i,1,(n+1)-1) (i)'
    """
    text = re.sub(r"\b(?:math|np|numpy|torch|sympy)\.(?=[a-z])", "", text)
    text = COMPREHENSION.sub(lambda m: f"∑({m[2]},{m[3] or 0},({m[4]})-1) ({m[1]})", text)
    for family in families:
        text = re.sub(rf"\b{family}(?:\[|\^\({{1,2}})(\d+)(?:\]|\){{1,2}})", rf"{family}_\1 ", text)
    return text


def _runs(text: str, table: dict[str, str], mark: str) -> str:
    signs = "".join(map(re.escape, table))
    return re.sub(f"[{signs}]+", lambda m: f"{mark}{{{''.join(table[c] for c in m[0])}}}", text)
