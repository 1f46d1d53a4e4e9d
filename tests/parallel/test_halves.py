"""What only the definition takes on a GPU comes some rows at a time: tried here, by all ranks in turn."""

import random

import pytest
import torch

from regard.attention import DistanceBias
from regard.parallel import halves
from regard.pattern import parse
from tests.hunt.sharding import mesh_fault
from tests.parallel.trying import drawn


@pytest.mark.parametrize("text", ["causal", "strided(9) | global(2) & causal", "~causal", "dilated(3, 4)"])
@pytest.mark.parametrize("largest", [1, 100, 1 << 20])
def test_some_rows_at_a_time(text, largest, monkeypatch):
    monkeypatch.setattr(halves, "WHOLE", ())
    monkeypatch.setattr(halves, "LARGEST", largest)
    torch.manual_seed(0)
    for dropout in (0.0, 0.3):
        case = drawn(random.Random(text), 3, parse(text), 37)
        slopes = tuple(1 / (1 + h) for h in range(case.query.shape[1]))
        case.options = {"bias": DistanceBias(slopes), "dropout": dropout}
        assert mesh_fault(case) is None, str(case)
