"""The whole step as one CUDA graph: the same training as step by step, exact again after a stop."""

import pytest
import torch

from regard.train import train
from regard.train.steps import Step
from tests.train import small
from tests.train.same import assert_same_run, record

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("kind", ["plain", "language"])
@pytest.mark.parametrize("mode", ["compile", "graph"])
def test_the_same_losses_as_without(kind, mode, tmp_path):
    for folder, how in (("one", "none"), ("other", mode)):
        train(getattr(small, kind)(compile=how, precision="float32"), tmp_path / folder, quiet=True)
    one, other = ([row["loss"] for row in record(tmp_path / name)] for name in ("one", "other"))
    assert other == pytest.approx(one, abs=1e-3)


@pytest.mark.parametrize("kind", ["images", "language"])
def test_stopped_and_resumed_bit_by_bit(kind, tmp_path, monkeypatch):
    recipe = getattr(small, kind)(compile="graph", deterministic=True)
    train(recipe, tmp_path / "whole", quiet=True)
    call, calls = Step.__call__, []

    def failing(self, *parts, **more):
        calls.append(1)
        if len(calls) > 7:
            raise KeyboardInterrupt
        call(self, *parts, **more)

    monkeypatch.setattr(Step, "__call__", failing)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "stopped", quiet=True)
    monkeypatch.undo()
    train(recipe, tmp_path / "stopped", quiet=True, resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "stopped")
