"""What is written is what the library writes, and each token's chances are those it was drawn by."""

import pytest
import torch

from regard.data import BytePairTokenizer
from regard.models.sampling import Sampling
from regard.pattern import Strided, parse
from regard.studio.writing import Detokenised, chances, patterned, prompt, written
from regard.train import load_run, open_run
from tests.train.runs.conftest import draw


@pytest.fixture(scope="module")
def run():
    return open_run("zoo:play-gpt")


def test_the_text_is_that_of_generate(run):
    how = {"temperature": 0.9, "top_k": 20, "top_p": 0.9}
    asked = run.prompt("ROMEO:", 60)
    steps = list(written(run, asked, run.sampling(**how), seed=3))
    text = Detokenised(run.reader)
    assert "".join(text.all([*asked.ids, *(step.token for step in steps)])) == run.generate(
        "ROMEO:", 60, seed=3, **how
    )


@torch.no_grad()
def test_chances_and_cache_are_told(run):
    how = run.sampling(temperature=0.7, top_k=5)
    asked = run.prompt("ROMEO:", 9)
    steps = list(written(run, asked, how, seed=1))
    ids = [*asked.ids, *(step.token for step in steps)]
    logits = run.gpt(torch.tensor([ids]))[0]
    sizes = run.gpt.config
    for i, step in enumerate(steps):
        at = len(asked.ids) + i - 1
        best = logits[at].index_fill(0, torch.tensor(how.ban), -torch.inf).topk(5)
        want = (best.values / 0.7).softmax(-1)
        assert [token for token, _ in step.others[:5]] == best.indices.tolist()
        assert [chance for _, chance in step.others[:5]] == pytest.approx(want.tolist(), rel=1e-4)
        assert step.chance == pytest.approx(dict(step.others)[step.token])
        assert step.plain == pytest.approx(float(logits[at].softmax(-1)[step.token]), rel=1e-4)
        assert step.cached == 2 * 4 * sizes.width * sizes.depth * (at + 1)


def test_a_pattern_bounds_the_cache_and_leaves_the_run_alone(run):
    bounded = patterned(run, Strided(back=7))
    steps = list(written(bounded, run.prompt("ROMEO:", 30), run.sampling(), seed=0))
    config = run.gpt.config
    assert steps[-1].cached == 2 * 4 * config.width * config.depth * 8
    assert [str(block.attention.pattern) for block in run.gpt.blocks] == ["causal"] * 3
    assert patterned(run, parse("full")).gpt.blocks[0].attention.pattern == parse("causal")
    linear = patterned(run, Strided(back=2)).gpt(torch.tensor([[5, 6, 7, 8, 9]]))
    assert not torch.allclose(linear, run.gpt(torch.tensor([[5, 6, 7, 8, 9]])))


@pytest.mark.parametrize("temperature", [0.0, 0.3, 2.0])
@pytest.mark.parametrize(("top_k", "top_p"), [(None, None), (3, None), (None, 0.5), (4, 0.8)])
def test_chances_are_those_of_many_draws(temperature, top_k, top_p):
    logits = torch.randn(9, generator=draw())
    how = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, ban=[2])
    found = chances(logits, how)
    drawn = how.pick(logits.expand(4000, 9), draw(1)).bincount(minlength=9) / 4000
    assert float(found.sum()) == pytest.approx(1)
    assert float((drawn - found).abs().max()) < 0.03
    assert found[2] == 0


def test_a_character_of_several_tokens_comes_whole():
    reader = BytePairTokenizer.train(["aa bb"], vocab=259)
    ids = reader.encode("a😀b")
    pieces = Detokenised(reader).all(ids)
    assert "".join(pieces) == "a😀b"
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(pieces)
    assert len(pieces) == len(ids) > 3


def test_a_prompt_is_cut_where_positions_end(runs):
    run = load_run(runs[1])
    asked = prompt(run, "ROMEO: " * 15, 256)
    assert (len(asked.ids), asked.tokens) == (105, 215)
    short = open_run("zoo:play-gpt")
    asked = prompt(short, "ROMEO: " * 15, 100)
    assert (len(asked.ids), asked.tokens) == (64, 64)
    assert "its positions end at 128" in asked.notice
    with pytest.raises(ValueError, match="at most 128 tokens here, got 140"):
        prompt(short, "ROMEO: " * 20, 10)
