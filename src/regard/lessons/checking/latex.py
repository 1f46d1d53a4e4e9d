"""LaTeX as the plain language of answers: `\\frac{n}{2}` becomes `((n)/(2))`.

Only what a formula needs is known, and what is not known is named. The reader walks over the text once;
groups inside groups are bounded.
"""

from __future__ import annotations

import re

from regard.lessons.checking.brackets import cut
from regard.lessons.checking.spelling import respelled

DEEPEST = 60  # groups inside each other
LARGEST = 8_000  # characters of the translation

FRACTIONS = {"frac", "dfrac", "tfrac", "cfrac", "nicefrac", "sfrac"}
WRAPPERS = {  # what stands in them is shown in another font
    "mathrm", "text", "textrm", "textit", "textbf", "textsf", "texttt", "textup", "textnormal",
    "operatorname", "mathbf", "mathit", "mathsf", "mathtt", "mathcal", "mathbb", "mathscr", "mathfrak",
    "boldsymbol", "bm",
    "pmb", "vec", "mbox", "emph", "ensuremath", "mathop", "mathbin", "mathord", "mathrel", "mathnormal",
}  # fmt: skip
BOXES = {"boxed", "underline", "fbox", "overbrace", "underbrace", "mathstrut"}
SILENT = {
    "left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl", "Bigl", "biggl", "Biggl", "bigr", "Bigr",
    "biggr", "Biggr", "bigm", "Bigm", "displaystyle", "textstyle", "scriptstyle", "limits", "nolimits",
    "nonumber", "notag", "hfill", "noindent", "rm", "bf", "it", "cal", "mathopen", "mathclose", "hline",
    "item", "par", "centering", "allowbreak",
}  # fmt: skip
SPACES = {"quad", "qquad", "thinspace", "enspace", "space", ",", ";", ":", "!", " ", ">", "/", "\n", "\t"}
WITH_DROPPED = {
    "label", "tag", "hspace", "vspace", "phantom", "hphantom", "vphantom", "color", "eqref", "ref",
}  # fmt: skip
GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    "Gamma", "Delta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Psi", "Omega", "ell",
}  # fmt: skip
FUNCTIONS = {"min", "max", "log", "ln", "lg", "exp", "sin", "cos", "gcd", "lim", "tanh", "tan", "det", "dim"}
SIGNS = {
    "cdot": "*", "times": "*", "ast": "*", "star": "*", "div": "/", "bullet": "*", "lfloor": " floor(",
    "rfloor": ")", "lceil": " ceil(", "rceil": ")", "lbrace": "(", "rbrace": ")", "{": "(", "}": ")",
    "lbrack": "[", "rbrack": "]", "lvert": "|", "rvert": "|", "vert": "|", "mid": "∣", "partial": "d ",
    "lVert": "‖",
    "rVert": "‖", "Vert": "‖", "|": "‖", "%": "%", "&": "&", "#": "#", "_": "_", "$": "", "-": "", "(": "",
    ")": "", "[": "", "]": "", "bmod": " mod ", "mod": " mod ", "infty": "∞", "dots": "…", "ldots": "…",
    "cdots": "…", "dotsc": "…", "dotsb": "…", "vdots": "…", "ddots": "…", "le": "≤", "leq": "≤",
    "leqslant": "≤", "ge": "≥", "geq": "≥", "geqslant": "≥", "lt": "<", "gt": ">", "approx": "≈",
    "simeq": "≈", "sim": "≈", "ne": "≠", "neq": "≠", "equiv": "=", "coloneqq": "=", "triangleq": "=",
    "in": "∈", "implies": "⇒",
    "Rightarrow": "⇒", "Longrightarrow": "⇒", "iff": "⇒", "Leftrightarrow": "⇒", "to": "⇒", "rightarrow": "⇒",
    "longrightarrow": "⇒", "therefore": "⇒", "pm": "±", "propto": "∝", "Theta": " Theta", "Phi": " phi",
    "varphi": " phi", "top": "⊤", "intercal": "⊤", "mapsto": "⇒", "backslash": "\\", "nmid": "∤",
    "colon": ":", "langle": "(", "rangle": ")", "*": "*", "^": "^", "+": "+", "=": "=", "<": "<",
    ">": ">", ".": ".",
    "lambda": " lambda", "bigO": " O", "BigO": " O", "Oh": " O", "R": "R", "land": ",", "lor": ",",
}  # fmt: skip
MATRICES = {"matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array", "vmatrix"}
DISPLAYS = {
    "equation", "align", "aligned", "gather", "gathered", "split", "math", "displaymath", "document",
    "multline", "eqnarray", "flalign", "alignat", "itemize", "enumerate", "center", "description",
}  # fmt: skip


def plain(text: str) -> str:
    """The same formula without LaTeX; a ValueError names what is not known.

    >>> plain(r"\\frac{n(n+1)}{2}")
    '((n(n+1))/(2))'
    >>> plain(r"$\\left\\lfloor n/w \\right\\rfloor \\cdot x_{1}^{2}$")
    'floor( n/w ) * x_1 ^(2)'
    """
    text = _spaced(respelled(text))
    _check_rounding(text)
    out = _spaced(_Reader(text).row(""))
    if len(out) > LARGEST:
        raise ValueError(f"an answer of more than {LARGEST:,} characters")
    return out


def _spaced(text: str) -> str:
    """With single spaces: a pattern that looks for spaces twice is slow on many of them."""
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[^\S\n]+", " ", text)).strip()


def _check_rounding(text: str) -> None:
    """Refuse ⌊…⌉, which is neither down nor up."""
    opened: list[str] = []
    for side, kind in re.findall(r"\\([lr])(floor|ceil)\b", text):
        if side == "l":
            opened.append(kind)
        elif opened and opened.pop() != kind:
            raise ValueError("⌊ and ⌉ do not belong together: ⌊…⌋ rounds down, ⌈…⌉ up")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def row(self, end: str) -> str:
        """Everything up to the closing sign, which is taken too, or to the end of the text."""
        self._deeper()
        out: list[str] = []
        over = -1
        while self.at < len(self.text):
            if end and self.text.startswith(end, self.at):
                self.at += len(end)
                break
            found = self._step(out)
            if found in ("\\over", "\\choose"):
                over, between = len(out), found
            else:
                out.append(found)
        else:
            if end:
                raise ValueError(f"a {'brace' if end == '}' else 'bracket'} is not closed")
        self.depth -= 1
        if over >= 0:
            head, equals, top = "".join(out[:over]).rpartition("=")  # in y = 1 \\over 2, the y is not above
            bottom = "".join(out[over:])
            joined = f"(({top})/({bottom}))" if between == "\\over" else f" binom({top},{bottom})"
            return head + equals + joined
        return "".join(out)

    def _step(self, out: list[str]) -> str:  # noqa: PLR0911  one line for each sign
        sign = self.text[self.at]
        if sign == "\\":
            return self.command()
        if re.compile(r"sum\s*_").match(self.text, self.at) and not (out and out[-1][-1:].isalpha()):
            self.at += 3
            return self._sum("∑")
        self.at += 1
        if sign == "{":
            return self._group(out)
        if sign == "}":
            raise ValueError("a brace is closed that was not opened")
        if sign in "$~":
            return " "
        if sign == "^":
            self._blank()
            return f"^({self.piece()})" if self.text.startswith("{", self.at) else "^"
        if sign == "_":
            while out and not out[-1].strip():
                out.pop()
            out[-1:] = [one.rstrip() for one in out[-1:]]
            self._blank()
            return f"_{self._subscript()} " if self.text[self.at : self.at + 1] in ("{", "\\") else "_"
        if sign == "|" and self.text.startswith("|", self.at):
            self.at += 1
            return "‖"
        return sign

    def command(self) -> str:  # noqa: PLR0911, PLR0912  one line for each kind
        """The command that stands here."""
        match = re.compile(r"\\([A-Za-z]+\*?|.)", re.DOTALL).match(self.text, self.at)
        if match is None:
            raise ValueError("a \\ stands at the end")
        name = match[1].rstrip("*") or "*"
        self.at = match.end()
        if name in ("\\", "cr"):
            self._optional()
            return ";"
        if name in SPACES:
            before, after = self.text[match.start() - 1 : match.start()], self.text[self.at : self.at + 1]
            return "" if before.isdigit() and after.isdigit() else " "  # 508\,032
        if name in SILENT:
            if name in ("left", "right") and self.text.startswith(".", self.at):
                self.at += 1
            return " " if name == "item" else ""
        if name in SIGNS:
            return SIGNS[name]
        if name in GREEK or name in FUNCTIONS:
            return f" {name}" + (" " if self.text[self.at : self.at + 1].isalnum() else "")
        if name in FRACTIONS:
            return f"(({self.piece()})/({self.piece()}))"
        if name in ("binom", "dbinom", "tbinom"):
            return f" binom({self.piece()},{self.piece()})"
        if name == "sqrt":
            return self._root()
        if name in ("sum", "prod"):
            return self._sum("∑" if name == "sum" else "∏")
        if name in WRAPPERS:
            return " " + self.piece()
        if name in BOXES:
            inner = self.piece()
            self._blank()
            if name.endswith("brace") and self.text[self.at : self.at + 1] in ("_", "^"):
                self.at += 1
                self.piece()  # what is written below or above it
            return inner if "=" in inner else f"({inner})"
        if name == "textcolor":
            self.piece()
            return self.piece()
        if name in ("pmod", "pod"):
            return f" mod ({self.piece()})"
        if name in WITH_DROPPED:
            self.piece()
            return ""
        if name in ("over", "choose"):
            return f"\\{name}"
        if name in ("begin", "end"):
            return self._environment(name)
        raise ValueError(f"'\\{name}' is no LaTeX that is read here")

    def piece(self) -> str:
        """The argument of a command: a group, a command, or one sign."""
        self._blank()
        if self.at >= len(self.text):
            raise ValueError("something is missing at the end")
        sign = self.text[self.at]
        if sign == "\\":
            self._deeper()
            found = self.command()
            self.depth -= 1
            return found
        self.at += 1
        if sign == "}":
            raise ValueError("a brace is closed that was not opened")
        return self.row("}") if sign == "{" else sign

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} groups inside each other")

    def _group(self, out: list[str]) -> str:
        inner = self.row("}")
        if inner.strip() == ",":
            return "" if "".join(out[-1:])[-1:].isdigit() else ","  # 508{,}032
        if re.fullmatch(r"[A-Za-z0-9_.\s]*|[-+*/=]", inner.strip()):
            return f" {inner} "
        return f"({inner})"

    def _subscript(self) -> str:
        """A subscript in braces or in another font: a word, or in [ ] what is to be worked out."""
        inner = re.sub(r"\s", "", self.piece())
        return inner if re.fullmatch(r"[A-Za-z0-9]{1,20}", inner) else f"[{inner}]"

    def _root(self) -> str:
        self._blank()
        root = ""
        if self.text.startswith("[", self.at):
            self.at += 1
            root = self.row("]")
            self._blank()
        if self.text.startswith("(", self.at):
            if root:
                raise ValueError("a root of that kind needs braces: \\sqrt[3]{n}")
            return " sqrt"
        inner = self.piece()
        return f"(({inner})^(1/({root})))" if root else f" sqrt({inner})"

    def _sum(self, sign: str) -> str:
        """∑ with its letter and its two ends: ∑(i,1,n), before what is summed."""
        found = {}
        for _ in range(2):
            self._blank()
            if self.text.startswith("\\limits", self.at):
                self.at += len("\\limits")
                self._blank()
            mark = self.text[self.at : self.at + 1]
            if mark not in ("_", "^") or mark in found:
                break
            self.at += 1
            if self.text.startswith("(", self.at):
                self.at += 1
                found[mark] = self.row(")")
            else:
                found[mark] = self.piece()
        match = re.fullmatch(r"\s*([A-Za-z])\s*=(.+)", found.get("_", ""), re.DOTALL)
        if match is None or "^" not in found:
            raise ValueError("a sum needs its letter and both ends, as in \\sum_{i=1}^{n} i")
        return f"{sign}({match[1]},{match[2]},{found['^']})"

    def _environment(self, name: str) -> str:
        kind = self.piece().strip().removesuffix("*")
        if kind in MATRICES:
            if name == "begin" and kind == "array":
                self.piece()
            return "[" if name == "begin" else "]"
        if kind in DISPLAYS:
            return " "
        if kind in ("cases", "dcases", "rcases") and name == "begin":
            return self._cases(self.row(f"\\end{{{kind}}}"))
        raise ValueError(f"'\\{name}{{{kind[:20]}}}' is no LaTeX that is read here")

    def _cases(self, body: str) -> str:
        """Rows of a value and its condition as cases(condition, value, …, value otherwise)."""
        out: list[str] = []
        for row in (row for row in cut(body, ";") if row.strip()):
            if len(out) % 2:
                raise ValueError("a case needs its condition")
            value, *conditions = cut(row, r"&|,(?=[^,]*[<>≤≥=])|\b(?:if|for|otherwise|else|sonst)\b")
            said = re.sub(r"\b(?:if|for|when|where|falls|wenn)\b", "", " ".join(conditions))
            condition = said.strip(" ,.:\n")
            plainly = re.fullmatch(r"(?:otherwise|else|sonst|andernfalls|)", condition)
            out += [value.strip(" ,")] if plainly else [condition, value.strip(" ,")]
        return f" cases({', '.join(out)})"

    def _optional(self) -> None:
        match = re.compile(r"\[[^\]\n]{0,12}\]").match(self.text, self.at)  # \\[2pt]
        if match is not None and re.search(r"(pt|em|ex|mm|cm)\]$", match[0]):
            self.at = match.end()

    def _blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
