"""Every lesson runs, holds, and can be shown in every form."""

import json
import math
import re
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
import sympy
from matplotlib.text import Text
from rich.console import Console

from regard.lessons import (
    NAMES,
    Answer,
    diagrams,
    figures,
    get,
    grid_rnn,
    linear_attention,
    masks_and_losses,
    positions,
)
from regard.lessons.parts import Block, Check, Formula, Picture, Prose, Table, table
from regard.lessons.render.latex import latex, to_tex
from regard.lessons.render.markdown import markdown
from regard.lessons.render.notebook import executed, notebook, setup
from regard.lessons.render.terminal import terminal
from regard.lessons.writing import written

RUNS = Path(__file__).parents[2] / "benchmarks" / "results" / "runs"


@cache
def answer(name: str) -> Answer:
    return get(name).run()


def test_there_are_twelve():
    assert len(NAMES) == 12


def test_a_near_miss_is_suggested():
    with pytest.raises(ValueError, match=r"no lesson is called 'grid-rn'; did you mean 'grid-rnn'\?"):
        get("grid-rn")


@pytest.mark.parametrize("name", NAMES)
def test_every_check_holds_and_every_kind_of_part_is_there(name, tmp_path):
    found = answer(name)
    assert [check.claim for check in found.checks if not check.holds] == []
    kinds = {type(part) for part in found.parts}
    assert {Prose, Check, Picture} <= kinds
    assert kinds & {Formula, Table, Block}
    assert found.lesson.exercises
    assert found.as_dict()["holds"] is True

    text = markdown(found, lambda picture: f"{picture.name}.svg")
    assert text.startswith(f"# {found.lesson.title}\n")
    assert text.count("![") == sum(isinstance(part, Picture) for part in found.parts)

    page = markdown(found, lambda picture: None, mathml=True)
    assert page.count("<math") == sum(isinstance(part, Formula) for part in found.parts)
    assert "$$" not in page

    paper = latex(found, lambda picture: f"{picture.name}.pdf")
    assert paper.count("\\begin{") == paper.count("\\end{")
    outside = {sign for sign in paper if ord(sign) > 127 and sign not in "äöüéèŠ"}
    assert outside == set(), f"LaTeX has no words for {outside}"


@pytest.mark.parametrize("name", NAMES)
def test_pictures_can_be_drawn_and_say_what_they_show(name):
    for part in answer(name).parts:
        if isinstance(part, Picture):
            assert part.draw().axes
            assert len(part.alt) > 20


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_has_the_code_of_every_step(name):
    lesson = get(name)
    cells = notebook(lesson).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    for step in lesson.steps:
        if callable(step):
            assert f"def {step.__name__}(" in code
            assert f"show({step.__name__}())" in code
    for cell in cells:
        if cell.cell_type == "code":
            compile(cell.source, name, "exec")


def test_a_notebook_runs_top_to_bottom():
    found = executed(notebook(get("rnn-recurrences")))
    assert all(cell.execution_count for cell in found.cells if cell.cell_type == "code")
    shown = [output for cell in found.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("text/markdown" in output.get("data", {}) for output in shown)
    assert any("image/png" in output.get("data", {}) for output in shown)


def test_setup_keeps_helpers_and_leaves_steps_out():
    head = '"""Doc."""\nfrom __future__ import annotations\nimport math\nX = 1\n'
    source = head + "def helper(): ...\ndef step(): ...\nLESSON = 3\n"
    kept = setup(source, ["step"])
    assert "import math" in kept
    assert "def helper" in kept
    assert "def step" not in kept
    assert "LESSON" not in kept


@pytest.mark.parametrize("kind", ["md", "tex"])
def test_files_with_pictures_beside_them(kind, tmp_path):
    text = written(get("rnn-recurrences"), kind, tmp_path)
    (file,) = tmp_path.iterdir()
    assert file.name in text
    assert file.stat().st_size > 1000


def test_an_unknown_format():
    with pytest.raises(ValueError, match="format must be one of md, tex, ipynb, got 'pdf'"):
        written(get("heads"), "pdf")


def test_numbers_in_tables():
    found = table(["a", "b"], [[65536, 0.000123456], [-2, "words"]])
    assert found.rows == (("65,536", "0.000123"), ("−2", "words"))
    assert [found.left(i) for i in range(2)] == [False, True]


def test_the_laws_of_the_counting_lesson():
    said = [str(part.value) for part in answer("counting-attention").parts if isinstance(part, Formula)]
    assert said[0] == "n*(n + 1)/2"
    assert "(2*n - t)*(t + 1)/2" in said[1]
    assert "n*(w + 1)/2" in said[2]


def test_the_printed_slip_of_the_weight_sharing_lesson():
    text = markdown(answer("weight-sharing"), lambda picture: None)
    assert "508302" in text
    assert "196,608 × 508,032" in text
    assert "2,400" in text
    assert "9.988e+10" in text


def test_the_exact_rows_of_the_copying_lesson():
    said = [str(part.value) for part in answer("attention-copies").parts if isinstance(part, Formula)]
    assert any("exp(2*beta**2)/(exp(2*beta**2) + exp(beta**2) + 1)" in one for one in said)
    assert any("exp(beta**2)/(exp(beta**2) + 2)" in one for one in said)


def said(name: str, kind: type) -> list:
    return [part for part in answer(name).parts if isinstance(part, kind)]


def test_the_output_activation_of_the_rnn_lesson_is_kept():
    found = {part.says: part for part in said("rnn-or-transformer", Formula)}
    second, last = found["Output 2:"], found["and its output:"]
    assert second.plain() == "y₂ = φ_y(W_y⋅Wₕ⋅Wₓ⋅x₁ + W_y⋅Wₓ⋅x₂)"
    assert second.latex() == r"y_{2} = \varphi_{y}{\left(W_{y} W_{h} W_{x} x_{1} + W_{y} W_{x} x_{2} \right)}"
    assert "phi_y" not in second.mathml()
    assert "<msub><mi>&#966;</mi><mi>y</mi></msub>" in second.mathml()
    assert last.value.rhs.func.__name__ == "phi_y"
    third = found["Output 3:"].latex()
    assert third.index("x_{1}") < third.index("x_{2}") < third.index("x_{3}")  # as time goes, not by name
    assert "φ_y" in get("rnn-or-transformer").question


def test_terms_are_sorted_unless_kept_as_written():
    a, b = sympy.symbols("a b")
    value = sympy.Add(b, -a, evaluate=False)
    assert Formula("", value).plain() == "-a + b"
    kept = Formula("", value, as_written=True)
    assert (kept.plain(), kept.latex()) == ("b - a", "b - a")
    assert kept.mathml().index("<mi>b</mi>") < kept.mathml().index("<mi>a</mi>")


def test_every_position_was_learned_before_it_is_compared():
    (learned,) = [check for check in said("positions", Check) if "was learned at length 16" in check.claim]
    assert float(re.search(r"lowest share is (0\.\d+)", learned.seen)[1]) > 0.95
    (shares,) = [
        part for part in said("positions", Table) if part.head[0] == "position" and len(part.head) == 5
    ]
    assert len(shares.rows) == 7  # six ways, and one of them once more with a window


def test_the_verdict_on_positions_follows_the_numbers():
    text = positions._verdict({"A": [0.95, 0.99, 0.91], "B": [0.5, 0.74, 0.6], "C": [0.4, 0.99, 0.9]})
    assert "more than 90 % of cases: A." in text
    assert "(guessing gives 50 %): B." in text
    assert "from start to start: C." in text
    assert "of cases: none." in positions._verdict({"A": [0.8, 0.8, 0.8]})


def test_the_grid_lesson_shows_what_the_records_say():
    for recipe, accuracy, seconds, speed in grid_rnn.TRAINED.values():
        record = json.loads((RUNS / f"{recipe}.json").read_text(encoding="utf-8"))
        (run,) = record["runs"]
        assert round(run["test"]["accuracy"], 4) == accuracy
        assert round(run["seconds"]["training"], 1) == seconds
        assert round(run["images_per_second"]) == speed
        (row,) = [row for row in said("grid-rnn", Table)[1].rows if row[1] == f"{accuracy:.2%}"]
        assert row[2] == f"{record['parameters']:,}"
    assert "The convnet is ahead by 1.09 points" in markdown(answer("grid-rnn"), lambda picture: None)


def test_linear_attention_wins_where_the_lesson_says():
    (times,) = said("linear-attention", Table)
    soft, linear = (float(times.rows[-1][i].replace(",", "")) for i in (1, 2))
    assert linear < soft
    count = len(linear_attention.LENGTHS)
    early = linear_attention._verdict([1.0] * count, [2.0] * count, None)
    assert "do not cross between these lengths: the softmax is faster" in early
    found = linear_attention._verdict([1.0] * count, [0.5] * count, 300.4)
    assert "cross at T ≈ 300" in found
    assert "takes 2.0 times as long" in found


def test_what_the_sheets_ask_of_weight_sharing():
    formulas = {part.says: part.value for part in said("weight-sharing", Formula)}
    k1, k2, k3, *x = sympy.symbols("k1 k2 k3 x_1:10")
    assert formulas["Together, the first output:"].rhs == k2 * x[0] + k3 * x[1]
    assert formulas["the second:"].rhs == k1 * x[1] + k2 * x[2] + k3 * x[3]
    (means,) = [value for says, value in formulas.items() if "it takes means" in says]
    assert means == sympy.Matrix([[3, 4], [6, 7]])
    (letters,) = [block for block in said("weight-sharing", Block) if "21 different" in block.says]
    assert "".join(letters.text.split()).replace("·", "") == "abcdefghijklmnopqrstu"
    (shapes,) = said("weight-sharing", Table)
    assert [row[1] for row in shapes.rows] == ["32×3×5×5", "15,876×75×32", "508,032×196,608"]
    assert "3×256×256 (channels, rows, columns), becomes 32×126×126" in shapes.says


def test_three_projections_and_four():
    formulas = [part.value for part in said("attention-complexity", Formula)]
    n, d = sympy.symbols("n d", positive=True, integer=True)
    by_name = [
        value.subs({s: {"n": n, "d": d}[s.name] for s in value.free_symbols}) for value in formulas[-5:]
    ]
    assert by_name[:3] == [4 * n * d**2 + 2 * n**2 * d, 3 * n * d**2 + 2 * n**2 * d, n**2]
    assert by_name[3:] == [sympy.Eq(n, 2 * d), sympy.Eq(n, 3 * d / 2)]


def test_the_heads_of_the_sentence_look_where_it_says():
    rows = said("heads", Table)[0].rows
    assert [row[1] for row in rows] == ["chased → dog", "chased → cats", "it → dog"]


DRAWN = {
    "recurrent grid": diagrams.recurrent_grid,
    "self-attention": diagrams.self_attention,
    "vision transformer": lambda: diagrams.vision_transformer([[0.5] * 6] * 6),
    "targets": lambda: diagrams.shifted_targets(["<START>", "how", "are", "you", "<PAD>", "<PAD>"]),
    "reading order": lambda: diagrams.reading_order(5, 7, (2, 3)),
    "arcs": lambda: diagrams.arcs(["a", "longer", "sentence"], {"One": [("who?", 1, [0.9, 0.0, 0.1])]}),
    "close marks": lambda: figures.curves(
        {"a": ([1, 2, 4], [1, 2, 3])}, x="x", y="y", title="t", log="x", marks={"here": 2.0, "there": 2.1}
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_no_words_in_a_picture_are_cut_or_lie_on_others(name):
    figure = DRAWN[name]()
    figure.draw_without_rendering()
    (axes,) = figure.axes
    titles = axes.findobj(lambda one: isinstance(one, Text) and one.get_text() == axes.get_title(loc="left"))
    texts = [text for text in [*axes.texts, *titles] if text.get_text()]
    assert texts
    boxes = [text.get_window_extent() for text in texts]
    frame = figure.bbox
    for text, extent in zip(texts, boxes, strict=True):
        inside = (
            frame.x0 <= extent.x0 and extent.x1 <= frame.x1 and frame.y0 <= extent.y0 <= extent.y1 <= frame.y1
        )
        assert inside, text.get_text()
    for (one, a), (other, b) in combinations(zip(texts, boxes, strict=True), 2):
        assert not a.padded(-1).overlaps(b.padded(-1)), (one.get_text(), other.get_text())


def test_patches_that_do_not_fit_are_refused():
    with pytest.raises(AssertionError, match="3 patches do not divide 7 pixels"):
        diagrams.vision_transformer([[0.0] * 7] * 7)


def test_the_terminal_shows_no_backticks():
    console = Console(width=100, file=None, record=True)
    with console.capture() as shown:
        console.print(terminal(answer("weight-sharing")))
    assert "LocallyConnected1d has 21 weights" in shown.get()
    assert "`" not in shown.get()


def test_tex_escapes_everything():
    assert to_tex("50 % of x_1 & {y} ≤ ∞") == r"50 \% of x\_1 \& \{y\} \(\le \) \(\infty \)"
    assert re.search(r"[^\x00-\x7f]", to_tex("→ × · − ≈ ½ √ Σ φ β ᵀ ₁ ² — … “x”")) is None


def test_the_samples_of_the_dialogue_are_those_of_the_run():
    record = json.loads((RUNS / "dialogue-course.json").read_text(encoding="utf-8"))
    (run,) = [run for run in record["runs"] if run["seed"] == 0]
    for epoch, (perplexity, words) in masks_and_losses.SAMPLES.items():
        row = run["validation_trace"][epoch - 1]
        assert round(math.exp(row["loss"]), 1) == perplexity
        assert row["sample"].startswith(f"First Citizen : {words} ")
    assert round(run["seconds"]["training"]) == 34
