"""Verdicts: right on the domain and what holds outside, or a counter-example."""

import time
from contextlib import suppress

import pytest

from regard.lessons import NAMES, check, get
from regard.lessons.checking import checker, exact
from regard.lessons.checking.checker import judge
from regard.lessons.checking.evaluate import same
from regard.lessons.checking.exercise import Domain, Exercise
from regard.lessons.checking.expression import parse
from regard.lessons.checking.matrices import ProductExercise
from regard.pattern import Windowed

EXERCISES = [(name, exercise) for name in NAMES for exercise in get(name).exercises]


@pytest.mark.parametrize(("name", "exercise"), EXERCISES, ids=lambda value: getattr(value, "name", value))
def test_the_formula_of_every_exercise_is_right(name, exercise):
    text = f"O({exercise.formula})" if getattr(exercise, "growth", False) else exercise.formula
    assert judge(exercise, text).right
    if isinstance(exercise, Exercise):
        for at, true in exercise.inside:
            assert same(exercise.truth(), true, at), at


@pytest.mark.parametrize(("name", "exercise"), EXERCISES, ids=lambda value: getattr(value, "name", value))
def test_a_formula_that_is_off_by_one_is_wrong(name, exercise):
    if isinstance(exercise, Exercise):
        grown = f"O(({exercise.formula})*{exercise.letters[0]})" if exercise.growth else ""
        assert not judge(exercise, grown or f"{exercise.formula} + 1").right
    elif isinstance(exercise, ProductExercise):
        assert not judge(exercise, f"2{exercise.formula}").right
    else:
        assert not judge(exercise, exercise.formula.replace("3", "4")).right


@pytest.mark.parametrize(
    "answer",
    ["(2*n-t)*(t+1)/2", "-t^2/2 - t/2 + nt + n", "n(t+1) - t(t+1)/2", "n + nt - (t²+t)/2", "(n - t/2)·(t+1)"],
)
def test_every_form_of_a_right_answer(answer):
    (found,) = check("counting-attention", f"strided={answer}")
    assert found.right
    assert found.says.startswith("right on the domain (n ≥ t): equal at ")
    assert found.says.endswith("and the same function")
    assert found.details[0] == "outside: for n < t every token sees all before it: n(n+1)/2"
    assert found.details[1] == "yours does not hold there: at n = 1, t = 2 it gives 0, the truth is 1"


def test_an_answer_that_holds_outside_too():
    (found,) = check("counting-attention", "min(n,t+1)*(2n-min(n,t+1)+1)/2")
    assert found.right
    assert found.details[-1] == "yours holds there too"


def test_windows_that_do_not_divide():
    (found,) = check("counting-attention", "n*(w+1)/2")
    assert found.question == "windowed"
    assert found.right
    assert "at n = 1, w = 2 it gives 3/2, the truth is 1" in found.details[-2]
    (found,) = check("counting-attention", "floor(n/w)*w*(w+1)/2 + mod(n,w)*(mod(n,w)+1)/2")
    assert found.details[-1] == "yours holds there too"


def test_a_wrong_answer_gets_a_counter_example():
    (found,) = check("counting-attention", "n^2/2")
    assert not found.right
    assert found.says == "wrong: at n = 1 it gives 1/2, the truth is 1"


def test_answers_go_to_the_questions_they_fit():
    found = check("counting-attention", "n*(w+1)/2", "n*(n+1)/2", "n*(t+1)")
    assert [one.question for one in found] == ["windowed", "autoregressive", "strided"]
    assert [one.right for one in found] == [True, True, False]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            ["nonsense=n"],
            "no question is called 'nonsense'; the questions are: autoregressive, strided, windowed",
        ),
        (["q"], "'q' is no letter"),
        (["n", "n", "n", "n"], "more answers than questions, got 'n' too many"),
        (["stride = n"], "no question is called 'stride'; did you mean 'strided'"),
        (["strided"], "strided is a question: write strided = and a formula"),
        (["n ≥ 2"], "'≥' makes it an inequality"),
        (["strided = n ≥ 2"], "'≥' makes it an inequality"),
        (["I think it is n(n+1)/2"], "write the formula alone, without words"),
        (["autoregressive = ?"], r"'\?' has no meaning here"),
        (["autoregressive ="], "write autoregressive = and a formula"),
        (["n ≈ 2"], "≈ says about: give it exactly"),
        (["1 + 2 + ... + n"], "dots leave something out"),
        (["the answer is n"], "'the' is no letter .* write the formula alone, without words"),
        (["strided = N n"], "'n' and 'N' would both be n"),
        (["n" * 2000], "at most 1,500 characters, got 2,000"),
    ],
)
def test_errors_name_the_fault(answers, message):
    with pytest.raises(ValueError, match=message):
        check("counting-attention", *answers)


def test_letters_that_were_translated_are_named():
    (found,) = check("weight-sharing", r"size = \lfloor (W-K+2P)/S \rfloor + 1")
    assert found.details[-1] == "W is read as n, K is read as k, P is read as p, S is read as s"
    assert found.as_dict()["read"] == {"W": "n", "K": "k", "P": "p", "S": "s"}
    (found,) = check("counting-attention", "strided = (2N-t)(t+1)/2")
    assert found.details[-1] == "N is read as n"


def test_a_letter_that_may_mean_two_is_the_one_that_is_free():
    for answer in ("2h^2 + h d", "2d^2 + d c"):
        assert check("grid-rnn", f"parameters = {answer}")[0].right


def test_a_chain_of_equations_must_hold_all_along():
    (found,) = check("counting-attention", "autoregressive = n^2/2 = n(n+1)/2")
    assert found.says == "wrong: two sides of = differ: at n = 1 they are 1/2 and 1"
    assert check("counting-attention", "autoregressive = n + n(n-1)/2 = n(n+1)/2")[0].right


def test_another_function_that_agrees_at_all_points_tried_is_wrong():
    exercise = Exercise(name="f", asks="?", formula="n", domain=Domain("n ≥ 1", {"n": range(1, 4)}))
    assert "still another function" in judge(exercise, "n + (n-1)(n-2)(n-3)").says


def test_points_where_an_answer_divides_by_zero_are_named():
    (found,) = check("rnn-recurrences", "first = b a^T/a")
    assert found.right
    assert found.details[-1] == "at a = 0, b = −2, T = 1 yours divides by zero and has no value"
    assert "has no value" in check("counting-attention", "autoregressive = n/(n-n)")[0].says


def test_an_unnamed_answer_goes_where_it_is_right():
    found = check("grid-rnn", "n^2 h (c-1) + (2n^2-2n) h^2", "2n-1", "h(2h+c)", "O(n^2 h^2 + n^2 h c)")
    assert [one.question for one in found] == ["adds", "depth", "parameters", "growth"]
    assert all(one.right for one in found)


@pytest.mark.parametrize(
    "name", ["scores-first", "Scores_First", "SCORES FIRST", r"\text{scores first}", "**scores-first**"]
)
def test_names_of_questions_in_any_writing(name):
    for sign in ("=", ":", ":=", "&="):
        (found,) = check("linear-attention", f"{name} {sign} 2T^2d")
        assert (found.question, found.right, found.answer) == ("scores-first", True, "2T^2d")


def test_conditions_behind_an_answer_are_not_judged():
    for condition in (", n ≥ t", r", \quad n \geq t", " for n >= t", r" \text{ if } n \ge t"):
        (found,) = check("counting-attention", f"strided = (2n-t)(t+1)/2{condition}")
        assert found.right
        assert found.details[-1] == "the condition is not judged: n ≥ t"


def test_units_behind_an_answer_are_left_out():
    for answer in ("n(n+1)/2 dot products", r"\frac{n(n+1)}{2}\text{ pairs}", r"\#\text{pairs} = n(n+1)/2"):
        (found,) = check("counting-attention", answer)
        assert (found.question, found.right) == ("autoregressive", True)


def test_symbols_name_the_question_that_asks_for_them():
    (found,) = check("attention-complexity", "n = 2d")
    assert (found.question, found.right) == ("crossing", True)
    (found,) = check("rnn-recurrences", "h_4 = x_4 - x_3 + x_2 - x_1")
    assert (found.question, found.right) == ("state", True)
    found = check("weight-sharing", "y_1 = k_2 x_1 + k_3 x_2", "y_1 = k_1 x_1 + k_2 x_2 + k_3 x_3")
    assert [(one.question, one.right) for one in found] == [("padded-first", True), ("first", True)]
    with pytest.raises(ValueError, match="no question asks for h_3; one asks for h_4"):
        check("rnn-recurrences", "h_3 = x_3 - x_2 + x_1")
    with pytest.raises(ValueError, match="the question asks for h_4, and this is h_3"):
        check("rnn-recurrences", "state = h_3 = x_3 - x_2 + x_1")


def test_an_equation_for_another_letter_is_solved():
    for right in ("d = n/2", "n/d = 2", "n - 2d = 0"):
        assert check("attention-complexity", f"crossing = {right}")[0].right
    for wrong in ("d = n", "n/d = 4"):
        assert not check("attention-complexity", f"crossing = {wrong}")[0].right
    assert check("attention-complexity", "crossing = d = n")[0].mistake.startswith("comparing n²d with nd²")
    with pytest.raises(ValueError, match="n stands on both sides or not by itself: solve the equation for n"):
        check("attention-complexity", "crossing = 4nd^2 = 2n^2d")


def test_no_answer_takes_long():
    for answer in (
        "0*(n+1)^64*(n+2)^64 + n(n+1)/2",
        "(((n+1)^9)^7)/(((n+1)^9)^7)*n(n+1)/2",
        "n(n+1)/2" + "+0*n^9" * 40,
        r"\sum_{i=1}^{n} \sum_{j=1}^{i} (1 + 0 i j^9)",
        r"\sum_{i=1}^{n^9} i",
        "+".join("n^9" for _ in range(140)),
        "0 exp(exp(9)) + n(n+1)/2",
    ):
        start = time.monotonic()
        check("counting-attention", f"autoregressive={answer}")
        assert time.monotonic() - start < 8


def test_no_answer_without_a_name_takes_long(monkeypatch):
    for module in (exact, checker):
        monkeypatch.setattr(module, "SECONDS", 0.2)  # of five, so that the test is quick
    for answer in (
        r"\sum_{i=1}^{66} \sum_{j=1}^{99} (i j + 1)^{60}",
        "exp(" * 30 + "1" + ")" * 30,
        "9" * 30 + "^64" * 20,
        "n" + " " * 1400 + "x",
        "{}" * 700 + "(",
        "n = " + "{ }" * 400 + "(",
        "first = n" + " " * 1400 + "q",
        "n" + "1" * 1400,
        "(" + "<" * 1400,
        "<sup>" * 290,
        "**" * 700,
        "mod" * 480,
    ):
        start = time.monotonic()
        with suppress(ValueError):
            check("weight-sharing", answer)
        assert time.monotonic() - start < 4


def test_the_parser_is_ours():
    assert parse("n", "n").node.name == "n"
    from pathlib import Path

    import regard.lessons.checking as package

    for path in Path(package.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "sympify" not in text
        assert "parse_expr" not in text
        assert "eval(" not in text


@pytest.mark.parametrize(
    ("lesson", "answer"),
    [
        ("rnn-recurrences", "state = x_4-x_3+x_2-x_1, h_0 = 0"),
        ("rnn-recurrences", "state = x_4-x_3+x_2-x_1; h_0=0"),
        ("rnn-recurrences", "h_1 = x_1, h_2 = x_2 - h_1, h_3 = x_3 - h_2, h_4 = x_4 - h_3"),
        ("rnn-or-transformer", r"y_2 = \phi_y(W_yW_hW_xx_1+W_yW_xx_2), h_0 = 0"),
        ("rnn-or-transformer", r"y2 = \phi_y(W_y (W_h h_1 + W_x x_2)), h_1 = W_x x_1"),
        (
            "counting-attention",
            r"windowed = \lfloor n/w\rfloor\frac{w(w+1)}{2}+\frac{r(r+1)}{2}, r = n \bmod w",
        ),
        ("counting-attention", "windowed = n(w+1)/2, n mod w = 0"),
        ("counting-attention", "windowed = n(w+1)/2; n = m w"),
        ("counting-attention", "windowed = m w (w+1)/2, n = m w"),
        ("counting-attention", "windowed = k*w(w+1)/2, k = n/w"),
        ("counting-attention", "windowed = m w (w+1)/2 with m = n/w"),
        ("counting-attention", "windowed = k w(w+1)/2 + r(r+1)/2 where k = n//w and r = n mod w"),
        ("counting-attention", "strided = k(2n-k+1)/2, k=t+1"),
        ("counting-attention", "strided = k(2n-k+1)/2 with k = t+1"),
        ("weight-sharing", "padded-first = k_1 x_0 + k_2 x_1 + k_3 x_2, x_0 = 0"),
    ],
)
def test_what_an_answer_says_of_its_letters_is_put_in(lesson, answer):
    assert check(lesson, answer)[0].right


def test_definitions_that_make_it_wrong_or_do_not_suffice():
    assert not check("counting-attention", "strided = k(2n-k+1)/2, k = t")[0].right
    for answer in ("windowed = k w(w+1)/2 + r(r+1)/2, n = k w + r", "windowed = k w, k = k + 1"):
        with pytest.raises(ValueError, match="it is not said what k is in n, w"):
            check("counting-attention", answer)


@pytest.mark.parametrize(
    ("lesson", "answer", "question"),
    [
        ("grid-rnn", "depth = T = 2n-1", "depth"),
        ("grid-rnn", "T = 2n-1", "depth"),
        ("grid-rnn", "depth = T(n) = 2n-1", "depth"),
        ("counting-attention", "autoregressive = N = n(n+1)/2", "autoregressive"),
        ("counting-attention", "N = n(n+1)/2", "autoregressive"),
        ("linear-attention", "S = d^2", "state"),
    ],
)
def test_a_name_of_the_students_own_for_the_result(lesson, answer, question):
    (found,) = check(lesson, answer)
    assert (found.question, found.right) == (question, True)


def test_an_unknown_left_side_does_not_fall_to_the_first_question():
    with pytest.raises(ValueError, match="no question asks for T: write parameters = …, or one of"):
        check("grid-rnn", "T = 2n")


@pytest.mark.parametrize(
    "answer",
    [
        r"\sin\omega t\sin\omega(t+k)+\cos\omega t\cos\omega(t+k) = \cos\omega k",
        "sin ωt sin ω(t+k) + cos ωt cos ω(t+k)",
        r"\cos\omega(t+k-t)",
        r"\cos\omega\cdot k",
        r"\cos\omega t(\cos\omega(t+k)) + \sin\omega t \cdot \sin\omega(t+k)",
    ],
)
def test_angles_without_brackets(answer):
    assert check("positions", f"sinusoid = {answer}")[0].right


@pytest.mark.parametrize(
    "answer",
    [
        "n(n+1)/2 if n<t else (2n-t)(t+1)/2",
        "(2n-t)(t+1)/2 if n>=t else n(n+1)/2",
        r"\begin{cases} \frac{(2n-t)(t+1)}{2} & \text{if } n \ge t \\ n(n+1)/2 & \text{otherwise}\end{cases}",
        r"\begin{cases} \frac{(2n-t)(t+1)}{2}, & n \geq t \\ \frac{n(n+1)}{2}, & n < t.\end{cases}",
        "(n<t)*n(n+1)/2 + (n>=t)*(2n-t)(t+1)/2",
    ],
)  # fmt: skip
def test_cases(answer):
    (found,) = check("counting-attention", f"strided = {answer}")
    assert found.right
    assert found.details[-1] == "yours holds there too"
    (found,) = check("counting-attention", f"strided = {answer.replace('2n', '3n')}")
    assert not found.right


def test_windows_are_counted_as_the_package_counts_them():
    exercise = get("counting-attention").exercises[2]
    for n, w in ((1, 2), (12, 4), (13, 4), (7, 12), (40, 9)):
        assert exercise.count(n=n, w=w) == Windowed(size=w).pairs(n)


def test_a_formula_for_where_it_is_not_asked():
    (found,) = check("counting-attention", "strided = (2n-t)(t+1)/2 for n < t")
    assert found.says == "wrong: it is given for n < t, and the question is asked for n ≥ t"
