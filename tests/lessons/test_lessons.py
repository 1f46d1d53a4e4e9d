"""Every lesson runs, holds, and can be shown in every form."""

import re
from functools import cache

import pytest

from regard.lessons import NAMES, Answer, get
from regard.lessons.parts import Block, Check, Formula, Picture, Prose, Table, table
from regard.lessons.render.latex import latex
from regard.lessons.render.markdown import markdown
from regard.lessons.render.notebook import executed, notebook, setup
from regard.lessons.render.unicode_tex import to_tex
from regard.lessons.writing import written


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


def test_tex_escapes_everything():
    assert to_tex("50 % of x_1 & {y} ≤ ∞") == r"50 \% of x\_1 \& \{y\} \(\le \) \(\infty \)"
    assert re.search(r"[^\x00-\x7f]", to_tex("→ × · − ≈ ½ √ Σ φ β ᵀ ₁ ² — … “x”")) is None
