"""Tasks about functions and dialogue: the definitions are the library's own, and nothing is given away."""

import json

import pytest
import torch

from regard.attention import linear_attend, pooled_attend
from regard.course import DialogueDataset, DialogueLoss
from regard.grade import TASKS, exercise, grade
from regard.grade.grading import grade_all
from regard.grade.tasks import convolutions, dialogues, losses, sinusoids, sums, tokens
from regard.grade.wire import Foreign
from regard.layers.position import Sinusoidal
from regard.sharing import LocallyConnected2d, conv_matrix
from tests.grade.right_functions import RIGHT
from tests.grade.wrong_dialogue import edited

SEED = torch.Generator().manual_seed(3)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=SEED)


def test_positions_are_those_of_the_models():
    mine = sinusoids.sinusoidal_positions(9, 6)
    torch.testing.assert_close(mine.float(), Sinusoidal().encode(9, width=6))


@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_is_that_of_the_library(causal):
    q, k, v = random(2, 3, 7, 4), random(2, 3, 7, 4), random(2, 3, 7, 5)
    torch.testing.assert_close(
        sums.linear_attend(q, k, v, causal), linear_attend(q, k, v, causal=causal, feature="elu1")
    )


def test_pooled_attention_is_that_of_the_library():
    given = random(2, 5, 3), random(4, 3), random(4, 3), random(6, 3)
    torch.testing.assert_close(sums.pooled_attend(*given), pooled_attend(*given))


@pytest.mark.parametrize("case", list(convolutions._lines(SEED)), ids=str)
def test_convolution_is_that_of_the_library(case):
    _, _, kernel, n, *rest = (*case[:2], *case[2])
    named = rest[0] if rest else {}
    torch.testing.assert_close(convolutions.conv_matrix(kernel, n, **named), conv_matrix(kernel, n, **named))


def test_the_loss_is_that_of_the_course():
    for _, _, (logits, ids, real) in losses._cases(SEED):
        mine = losses.dialogue_loss(logits, ids, real)
        torch.testing.assert_close(mine.float(), DialogueLoss()(logits, ids, real))


def test_the_tokenizer_is_that_of_the_course():
    pytest.importorskip("nltk")
    from regard.data.tokenizers import WordRules  # sentences end at every full stop, installed or not

    theirs, mine = WordRules(tokens.RAW), tokens.vocabulary(tokens.RAW)
    assert (tuple(theirs.id_to_tok), dict(mine.ids)) == (mine.tokens, theirs.tok_to_id)
    for text in (tokens.NO_SIGNS, tokens.KNOWN, tokens.STRANGE):
        assert tokens.encoded(text, mine, "words", "added", "unk") == theirs.encode(text).tolist()
    assert tokens.decoded(tokens.IDS, mine, "all") == theirs.decode(tokens.IDS)
    assert tokens.padded(tokens.BATCH, 1, "behind", "pad", "") == theirs.pad_examples(tokens.BATCH).tolist()


def test_the_data_set_is_that_of_the_course():
    kit: dict[str, object] = {}
    exec(dialogues.KIT, kit)
    theirs = DialogueDataset(kit["tokenizer"], dialogues.LINES, dialogues.MAX_N)
    mine = dialogues.examples_of(dialogues.LINES, start="given", cut="max_N", stored="")
    assert [one.tolist() for one in theirs.examples] == mine
    case = dialogues.Case("input_mask", "", (dialogues.Asked("mask", 3),))
    found = theirs.collate_fn([torch.tensor(one) for one in dialogues.BATCH])
    want = dialogues.predict(dialogues.Candidate(), case, {})["input_mask"]
    assert found["input_mask"].tolist() == want.long().tolist()


def test_the_library_s_own_layer_is_right(sandbox):
    """Its source, as a student would hand it in."""
    from pathlib import Path

    import regard.sharing.local
    import regard.sharing.sizes

    files = [Path(module.__file__).read_text() for module in (regard.sharing.sizes, regard.sharing.local)]
    cut = "\n".join(
        line for text in files for line in text.splitlines() if not line.startswith("from regard")
    )
    report = grade("locally-connected", "def check_int(*args): pass\n" + cut, sandbox=sandbox)
    assert report.right, str(report)
    assert LocallyConnected2d.__name__ in cut


@pytest.mark.parametrize("task", TASKS)
def test_a_skeleton_is_no_solution(task, sandbox):
    report = grade(task, exercise(task), sandbox=sandbox)
    assert (report.points, [one.name for one in report.mistakes]) == (0, ["not-done"])
    assert "not filled in" in report.says


def test_right_values_at_too_high_a_price_cost_one_part(sandbox):
    slow = "import torch\ndef pooled_attend(x, W_q, W_k, W_v):\n    T = x.shape[1]\n"
    slow += "    a = (x @ W_q.T @ (x @ W_k.T).mT).sum(-1) / T ** 0.5\n"
    slow += "    return (a.softmax(-1)[:, None] @ (x @ W_v.T)).expand(-1, T, -1)\n"
    for source in (slow, "import torch\ntorch.Tensor.numel = lambda self: 1\n" + slow):
        report = grade("pooled-attention", source, sandbox=sandbox)
        assert [one.name for one in report.mistakes] == ["quadratic"]
        assert [part.points for part in report.parts] == [2, 0]
        assert "times the work" in str(report)


def test_one_mistake_costs_its_own_part_alone(sandbox):
    unsorted = edited(RIGHT["tokenizer"]["plain"], ("sorted(set(", "list(dict.fromkeys("))
    report = grade("tokenizer", unsorted, sandbox=sandbox)
    assert [one.name for one in report.mistakes] == ["not-sorted"]
    assert [part.points for part in report.parts] == [0, 2, 1, 2]


def test_a_layer_that_cannot_be_made_has_no_points(sandbox):
    source = "from torch import nn\nclass LocallyConnected2d(nn.Module):\n    def __init__(self, a): pass\n"
    report = grade("locally-connected", source, sandbox=sandbox)
    assert report.points == 0
    assert "TypeError" in report.says


def test_the_given_tokenizer_cannot_be_called_by_others(sandbox):
    with sandbox.guest(["x = 1"]) as guest, pytest.raises(Exception, match="tokenizer"):
        guest.call(Foreign("tokenizer"))


def test_cells_of_a_notebook_run_in_order(sandbox, tmp_path):
    first = "def scalar_rnn(x, w_x, w_h): return x  # a first try"
    last = RIGHT["sinusoidal-positions"]["loops and lists"].replace(
        "import math", "%matplotlib inline\nimport math"
    )
    better = "def scalar_rnn(x, w_x, w_h):\n    h, out = 0, []\n    for v in x:\n        h = w_x * v + w_h * h\n        out.append(h)\n    return out"
    cells = [first, "1 / 0", "def broken(:", better, last]
    sheet = tmp_path / "sheet.ipynb"
    sheet.write_text(
        json.dumps(
            {
                "cells": [
                    {"cell_type": "markdown", "source": ["def scalar_rnn: no code"]},
                    *(
                        {"cell_type": "code", "source": one, "outputs": [{"text": "scalar_rnn = None"}]}
                        for one in cells
                    ),
                ]
            }
        )
    )
    reports = grade_all(sheet, sandbox=sandbox)
    assert {one.task: one.right for one in reports} == {"scalar-rnn": True, "sinusoidal-positions": True}
    notes = " ".join(reports[0].notes)
    assert "ZeroDivisionError" in notes
    assert "SyntaxError" in notes
