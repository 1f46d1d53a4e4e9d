import json

import pytest

from regard.cli.main import main
from regard.lessons import NAMES


def test_a_right_answer(capsys):
    assert main(["check", "counting-attention", "n*(n+1)/2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("✓ autoregressive: n*(n+1)/2\n  right on the domain (n ≥ 1)")


def test_a_wrong_answer_has_exit_code_1(capsys):
    assert main(["check", "grid-rnn", "O(n^2*h^2)"]) == 1
    assert "only if c = O(h)" in capsys.readouterr().out


def test_a_minus_in_front(capsys):
    assert main(["check", "counting-attention", "--", "-t^2/2 - t/2 + nt + n"]) == 0
    assert main(["check", "counting-attention", "strided=-t^2/2 - t/2 + nt + n"]) == 0


def test_for_machines(capsys):
    assert main(["check", "counting-attention", "n^2", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert (found["question"], found["right"]) == ("autoregressive", False)


def test_without_answers_the_questions_are_listed(capsys):
    assert main(["check", "grid-rnn"]) == 0
    out = capsys.readouterr().out
    assert "parameters" in out
    assert "h, c ≥ 1" in out
    assert main(["check", "grid-rnn", "--json"]) == 0
    questions = json.loads(capsys.readouterr().out)["questions"]
    assert len(questions) == 6
    assert {"name", "asks", "letters", "also", "domain", "kind"} <= set(questions[0])


def test_every_lesson_lists_its_questions_in_a_narrow_window(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in NAMES:
        assert main(["check", name]) == 0
        out = capsys.readouterr().out
        assert all(len(line) <= 80 for line in out.splitlines())
        assert f"regard check {name} '" in out
        assert "\\frac{" in out


def test_latex(capsys):
    assert main(["check", "counting-attention", r"$\text{strided} = \frac{(2n-t)(t+1)}{2}$"]) == 0
    assert capsys.readouterr().out.startswith("✓ strided: \\frac{(2n-t)(t+1)}{2}\n  right on the domain")


def test_a_mistake_is_named(capsys):
    assert main(["check", "counting-attention", "windowed=n w", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert found["mistake"].startswith("counting full squares of w×w")
    assert found["details"] == [f"you have what one gets by {found['mistake']}"]


def test_a_file(capsys, tmp_path):
    file = tmp_path / "answers.tex"
    file.write_text("autoregressive = n(n+1)/2\nstrided = n(t+1)\n", encoding="utf-8")
    assert main(["check", "counting-attention", str(file)]) == 1
    out = capsys.readouterr().out
    assert "✓ autoregressive: n(n+1)/2  answers.tex, line 1" in out
    assert "✗ strided: n(t+1)  answers.tex, line 2" in out


def test_faults_of_a_file_are_named_one_a_line_and_the_rest_is_judged(capsys, tmp_path):
    file = tmp_path / "answers.md"
    file.write_text("- strided = n+\n- windowed = n(w+1)/2\n- foo = 1\n", encoding="utf-8")
    assert main(["check", "counting-attention", str(file)]) == 2
    seen = capsys.readouterr()
    assert "✓ windowed" in seen.out
    first, second = seen.err.splitlines()
    assert first == "error: answers.md, line 1: something is missing at the end: 'strided = n+'"
    assert second.startswith("error: answers.md, line 3: no question is called 'foo'")
    assert main(["check", "counting-attention", str(file), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert len(found["faults"]) == 2
    assert found["verdicts"][0]["where"] == "answers.md, line 2"


def test_one_answer_that_cannot_be_read_does_not_hide_the_others(capsys):
    assert main(["check", "weight-sharing", "outputs = 508302", "y_9 = k_1x_7"]) == 2
    seen = capsys.readouterr()
    assert seen.out.startswith("✗ outputs: 508302")
    assert seen.err == "error: no question asks for y_9; one asks for y_1, one for y_2, one for y_7\n"
    assert main(["check", "weight-sharing", "shared = 2400", "y_9 = k_1x_7", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (len(found["verdicts"]), len(found["faults"])) == (1, 1)


def test_lines_that_were_passed_over_are_noted(capsys, tmp_path):
    file = tmp_path / "a.md"
    file.write_text("**Team:** A. B.\nstrided = (2n-t)(t+1)/2\n", encoding="utf-8")
    assert main(["check", "counting-attention", str(file)]) == 0
    assert (
        capsys.readouterr().err == "note: a.md, line 1: passed over, no question is named: 'Team : A. B.'\n"
    )


@pytest.mark.parametrize("name", ["none.tex", "NONE.MD", "answers.pdf"])
def test_a_file_that_cannot_be_read(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["check", "counting-attention", name]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {name}: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "answer", ["n+", "__import__('os').system('true')", "9^99999999", "n\n\n;q", "\\foo"]
)
def test_what_cannot_be_read_is_an_error(answer, capsys):
    assert main(["check", "counting-attention", answer]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
