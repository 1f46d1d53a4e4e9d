"""Work that ends: a process that is stopped when its time is up, and models that look at the clock."""

import asyncio
import builtins
import operator
import os
import time

import pytest
import torch

from regard.studio import limits
from regard.studio.budget import Budget
from regard.studio.models import Models, gather
from regard.studio.rooms import costs, dialogue, lessons, patterns, sentiment, vision
from regard.studio.work import WORKERS, within
from regard.train import load_run
from regard.train.runs.texts import TextRun
from tests.studio.conftest import built

# The first takes minutes, the second would.
SLOW_CURVE = "randomblocks(16, 97, 7) | randomblocks(17, 101, 7) | randomblocks(18, 103, 7)"
SLOW_PICTURE = "randomblocks(1, 1024, 7) | randomblocks(1, 1024, 8)"


@pytest.fixture(scope="module", autouse=True)
def _end_workers():
    yield
    WORKERS.close()


@pytest.fixture(scope="module")
def models(runs):
    return Models(gather(runs).runs)


def run(*asked, seconds=60):
    return asyncio.run(within(*asked, seconds=seconds))


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_one_process_answers_one_question_after_another():
    first = run(os.getpid)
    assert run(operator.add, 2, 3) == 5
    with pytest.raises(ValueError, match="invalid literal for int"):
        run(int, "x")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(operator.floordiv, 1, 0)
    assert run(print, "no answer, but a line of its own") is None
    assert run(builtins.eval, "'gradio' in __import__('sys').modules") is False  # it would load for seconds
    assert run(torch.get_num_threads) == 1
    with pytest.raises(ValueError, match="this takes more than 2,000,000,000 bytes, all that one"):
        run(torch.ones, 10**9)
    with pytest.raises(ValueError, match="this takes more than"):
        run(operator.mul, b"x", 10**10)
    again = run(os.getpid)
    assert (again, again == os.getpid()) == (run(os.getpid), False)
    assert gone(first) or again == first


def handlers(build, models):
    """The functions behind a room's controls, by name."""
    return {fn.fn.__name__: fn.fn for fn in built(build, models).fns.values() if fn.fn is not None}


def test_rooms_have_their_slow_work_ended(models, monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 1)
    pid = run(os.getpid)
    curve = handlers(costs.build, models)["draw"]
    assert "this was stopped after 1 seconds" in asyncio.run(curve("gpt2", "", 1 << 20, SLOW_CURVE))
    assert gone(pid)
    typed = handlers(patterns.build, models)["typed_in"]
    kind, out = asyncio.run(typed(patterns.TYPED, 1, 1, 24, "64k", SLOW_PICTURE))
    assert kind == patterns.TYPED
    assert "takes too long to count" in out  # a pattern knows before it begins


def test_a_model_looks_at_the_clock(runs):
    run = load_run(runs[2])
    spent = Budget(0).of(run)
    with pytest.raises(ValueError, match="this was stopped after 0 seconds"):
        sentiment.answer(spent, "the acting is dull")
    assert "acting" in sentiment.answer(Budget(60).of(run), "the acting is dull")
    assert all(not part._forward_pre_hooks for part in run.model.modules())
    run = load_run(runs[0])
    with pytest.raises(ValueError, match="stopped"):
        vision.from_sample("m", Budget(0).of(run), 1)
    asked = vision.from_sample("m", run, 1)
    with pytest.raises(ValueError, match="stopped"):
        list(vision.hidden(asked, Budget(0).of(run)))


def test_a_text_that_is_long_to_the_model_is_refused_at_once(models):
    begin = time.monotonic()
    judge = handlers(sentiment.build, models)["judge"]
    texts = [name for name in models.names(TextRun) if name.startswith("zoo:")]
    for name in texts:
        out, past, _ = judge(name, "🦁" * 4000, ())
        assert "fault" in out
        assert past == ()
    assert time.monotonic() - begin < 20


def test_writing_ends_and_says_so(runs, monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 0)
    how = dialogue.Decoding(cached=False)
    *_, (told, notice) = dialogue.continued(load_run(runs[1]), "m", "PORTIA:", 50, how)
    assert notice == "stopped after 0 seconds, which is all that one question gets here"
    assert len(told.ids) - told.given == 1


def test_lessons_are_computed_elsewhere_and_can_be_stopped(models):
    room = handlers(lessons.build, models)

    async def stopped():
        steps = room["work"]("why-generation-is-slow")
        first, _ = await anext(steps)
        computing = asyncio.create_task(anext(steps))
        await asyncio.sleep(1)
        (worker,) = WORKERS.busy
        computing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await computing
        return first, worker.process.pid

    first, pid = asyncio.run(stopped())
    assert "some seconds" in first
    assert gone(pid)
    judged = room["turn"]("counting-attention", "autoregressive", "n(n+1)/2")
    assert "right on the domain" in asyncio.run(judged)


def test_a_process_that_died_is_replaced():
    pid = run(os.getpid)
    os.kill(pid, 9)
    WORKERS.idle[-1].process.wait()
    with pytest.raises(RuntimeError, match="the process ended"):  # which is another, or it would not answer
        run(os._exit, 3)
