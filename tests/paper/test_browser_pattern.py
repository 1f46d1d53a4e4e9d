"""The browser's patterns are ours: thousands of random expressions, read and counted by both."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

import regard
from regard.pattern import parse

MODULE = Path(regard.__file__).parent / "paper" / "browser" / "pattern.js"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="the browser's modules are tested with node: install it")
MANY = 3_000


def value(draw, total):
    """The text of one random value that fits so many positions."""

    def up_to(most, least=0):
        return draw.randint(least, most)

    stride, cols = up_to(6, 1), draw.choice([c for c in range(1, total + 1) if total % c == 0])
    grid = f"{total // cols}, {cols}"
    cuts = sorted(draw.sample(range(1, total), up_to(min(3, total - 1)))) if total > 1 else []
    lengths = [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]
    return draw.choice(
        [
            "full", "causal", f"strided({up_to(9)})", f"local(reach={up_to(9)})", f"windowed({up_to(9, 1)})",
            f"blocks({up_to(9, 1)})", f"dilated({up_to(4)}, step={up_to(5, 1)})", f"sparsestrided({stride})",
            f"sparsefixed({stride}, {up_to(stride)})", f"global({up_to(5)})", f"Prefix({up_to(9)})",
            f"randomblocks({up_to(6, 1)}, {up_to(3)}, {up_to(2**32 - 1)})", f"axial({grid})",
            f"neighbourhood({grid}, {up_to(4)})", f"documents(({', '.join(map(str, lengths))}))",
            f"sliding({up_to(9)})", "autoregressive", f"strided({up_to(2**31 - 1)})",
            f"dilated({up_to(2**31 - 1)}, {up_to(2**31 - 1, 1)})",
        ]
    )  # fmt: skip


def expression(draw, total, depth=3):
    shape = draw.random()
    if depth == 0 or shape < 0.3:
        return value(draw, total)
    if shape < 0.5:
        return (
            f"~{expression(draw, total, 0)}"
            if draw.random() < 0.5
            else f"~({expression(draw, total, depth - 1)})"
        )
    sign, parts = draw.choice("&|"), [expression(draw, total, depth - 1) for _ in range(draw.randint(2, 3))]
    return f" {sign} ".join(f"({part})" if draw.random() < 0.5 else part for part in parts)


def ask(questions):
    """What the module says to each (text, n, m, size of tiles): one process for all."""
    lines = "\n".join(map(json.dumps, questions)) + "\n"
    command = [NODE, str(Path(__file__).with_name("pattern_node.mjs")), MODULE.as_uri()]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, encoding="utf-8")
    return list(map(json.loads, done.stdout.splitlines()))


def ours(text, n, m, size):
    try:
        pattern = parse(text)
        pattern.resolve(n, m)
    except ValueError:
        return {"misfit": True}
    mask, kept = pattern.dense(n, m), pattern.keys_kept()
    tiles = pattern.tiles(n, size=size).dense().flatten().tolist() if n == m else None
    rows = pattern.row_pairs(n, m).tolist()
    return {
        "text": str(pattern), "mask": "".join(map(str, mask.int().flatten().tolist())), "rows": rows,
        "pairs": str(sum(rows)), "kept": "null" if kept is None else str(kept),
        "corner": bool(pattern.allows(m - 1, 0)),
        "tiles": None if tiles is None else "".join(map(str, tiles)),
    }  # fmt: skip


def test_random_expressions_are_read_and_counted_alike():
    draw = random.Random(20261119)
    questions = []
    for _ in range(MANY):
        m = draw.randint(1, 24)
        n = m if draw.random() < 0.5 else draw.randint(1, m)
        total = m if draw.random() < 0.97 else m + 1  # some do not fit
        questions.append((expression(draw, total), n, m, draw.randint(1, 9)))
    said = ask(questions)
    wrong = [
        (question, theirs)
        for question, theirs in zip(questions, said, strict=True)
        if theirs != ours(*question)
    ]
    assert wrong[:1] == []
    assert sum("mask" in one for one in said) > 0.9 * MANY


@pytest.mark.parametrize(
    "text",
    [
        "", "strided", "strided(", "strided(1", "strided(1,2)", "strided(1.5)", "strided(-1)",
        "windowed(0)", "nonsense(3)", "causal causal", "causal &", "& causal", "(causal", "causal)", "~",
        "strided(x=1)", "strided(1, back=2)", "strided(back 1)", "strided(99999999999999999999)",
        "sparsefixed(2, 3)", "documents(())", "documents(3)", "documents((0, 1))",
        "randomblocks(1, 1025, 7)", "global(4294967296)", "linear", "strided((1))", "causal $",
        "strided(t)", "~" * 101 + "causal",
    ],
)  # fmt: skip
def test_what_python_refuses_the_browser_refuses(text):
    with pytest.raises(ValueError, match=r".") as refused:
        parse(text)
    (said,) = ask([(text, 4, 4, 2)])
    assert "fault" in said, said
    head = str(refused.value).splitlines()[0].partition(";")[0]
    if "documents" not in text and "99999" not in text and "(1))" not in text:  # said in other words
        assert said["fault"].partition(";")[0].replace("'", "") == head.replace("'", "").replace('"', "")
