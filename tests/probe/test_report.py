import json
from dataclasses import replace

import pytest
import torch

from regard.data.embedded.pairs import PairScore
from regard.probe import judge, page, report_markdown, report_sections
from regard.probe.report import calibration

LABELS = torch.tensor([0, 1, 2, 1, 0, 2, 2])
ANSWERS = torch.tensor([0, 1, 1, 0, 0, 2, 1])
SURE = torch.tensor([3.0, 1.0, 5.0, 2.0, 4.0, 1.0, 0.5])
TEXTS = ["fine", "so <b>so</b>", "a | b *c*", "no", "yes", "1", "long " * 200]


def logits():
    return torch.nn.functional.one_hot(ANSWERS, 3) * SURE[:, None]


def test_figures_against_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    found = judge(logits(), LABELS, ["x", "y", "z"], shown=TEXTS)
    chances = logits().double().softmax(1)
    assert found.count == 7
    assert found.accuracy == pytest.approx(metrics.accuracy_score(LABELS, ANSWERS))
    assert found.loss == pytest.approx(metrics.log_loss(LABELS, chances), rel=1e-5)
    assert [list(row) for row in found.confusion] == metrics.confusion_matrix(LABELS, ANSWERS).tolist()
    assert sum(one.count for one in found.bins) == 7
    json.dumps(found.as_dict())


def test_mistakes_come_surest_first():
    found = judge(logits(), LABELS, ["x", "y", "z"], shown=TEXTS, worst=2)
    assert [(one.index, one.shown, one.label, one.answer) for one in found.mistakes] == [
        (2, "a | b *c*", "z", "y"),
        (3, "no", "y", "x"),
    ]
    assert found.mistakes[0].probability == pytest.approx(float(logits().softmax(1)[2, 1]))


def test_calibration_by_hand():
    sure, right = torch.tensor([0.55, 0.58, 0.95, 1.0]), torch.tensor([True, False, True, True])
    low, high = calibration(sure, right, least=0.5)
    assert (low.count, low.accuracy, high.count, high.accuracy) == (2, 0.5, 2, 1.0)
    assert (low.confidence, high.confidence) == (pytest.approx(0.565), pytest.approx(0.975))
    two = torch.stack([sure.log(), (1 - sure).clamp(min=1e-9).log()], 1)
    found = judge(two, (~right).long(), ["a", "b"], shown=["1", "2", "3", "4"])
    assert found.calibration_error == pytest.approx((2 * 0.065 + 2 * 0.025) / 4, abs=1e-6)


def test_markdown_and_page():
    found = judge(logits(), LABELS, ["x", "y", "z"], shown=TEXTS)
    pairs = {"negation": PairScore(0.5, 0.25, 8), "all": PairScore(0.75, 0.5, 9)}
    found = replace(found, pairs=pairs, name="mine", data="films", part="validation")
    text = report_markdown(found)
    assert text.startswith("# mine on the validation part of films\n\nAccuracy 57.14 % of 7 examples")
    assert "| z | y 99 % | a \\| b \\*c\\* |" in text
    assert "| all | 9 | 75.0 % | 50.0 % |" in text
    assert "3 of 3 wrong answers" in text
    assert " … " in text, "a long text is trimmed"
    assert max(map(len, text.split("\n"))) < 400
    whole = page("x", report_sections(replace(found, mistakes=found.mistakes[:1])))
    assert "Negation and contrast" in whole
    assert "a | b *c*" in whole
    pictures = torch.zeros(3, 1, 4, 6, dtype=torch.uint8)
    shown = report_sections(replace(found, pictures=pictures))[-1]
    assert shown.html.count("data:image/png") == 3
    assert "z, taken for y (99 %)" in shown.html


def test_nothing_wrong_and_many_classes():
    right = judge(torch.eye(20) * 9, torch.arange(20), [f"c{i}" for i in range(20)], shown=["x"] * 20)
    assert "No answer was wrong." in report_markdown(right)
    wrong = judge(torch.eye(20).roll(1, 0), torch.arange(20), [f"c{i}" for i in range(20)], shown=["x"] * 20)
    assert "| c1 | c0 | 1 |" in report_markdown(wrong)


def test_errors():
    with pytest.raises(ValueError, match=r"logits must be \(7, 2\) and shown 7 .* got \(7, 3\) and 7"):
        judge(logits(), LABELS, ["x", "y"], shown=TEXTS)
    with pytest.raises(ValueError, match="at least one"):
        judge(torch.zeros(0, 2), torch.zeros(0, dtype=torch.long), ["x", "y"], shown=[])
