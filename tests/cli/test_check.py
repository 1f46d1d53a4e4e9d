import json

import pytest

from regard.cli.main import main


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
    assert len(json.loads(capsys.readouterr().out)["questions"]) == 3


@pytest.mark.parametrize("answer", ["n+", "__import__('os').system('true')", "9^99999999"])
def test_what_cannot_be_read_is_an_error(answer, capsys):
    assert main(["check", "counting-attention", answer]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
