"""A few tries of the hunt through `attend`, and faults put in to see that they would be found."""

import pytest
import torch

from regard.attention import engine, reference
from regard.attention.problem import Attended
from regard.pattern import Causal, Strided
from tests.hunt import attending
from tests.hunt.found import Found


def test_a_few_tries():
    assert attending.tries(6, 5, ("reference", "sdpa", "folded", "chunked", "gathered", "slots")).faults == []
    found = Found()
    attending.patterns(20, 5, found)
    assert found.faults == []
    assert found.tried == {"patterns": 20}


def test_a_wrong_backend_is_found(monkeypatch):
    def wrong(problem):
        out, lse, weights = reference.attend(problem)
        return Attended(out + 1e-3, lse, weights)

    monkeypatch.setattr(engine.backend("sdpa"), "attend", wrong)
    assert attending.tries(6, 5, ("sdpa",)).faults != []


@pytest.mark.parametrize("method", ["pairs", "row_pairs", "tiles", "dense", "keys_kept"])
def test_a_wrong_pattern_is_found(method, monkeypatch):
    wrong = {
        "pairs": lambda self, n, m: 1,
        "row_pairs": lambda self, n, m: torch.ones(n, dtype=torch.long),
        "tiles": lambda self, n, m, size: Causal().tiles(n, m, size),
        "dense": lambda self, n, m: torch.eye(m, dtype=torch.bool)[m - n :],
        "keys_kept": lambda self: 1,
    }
    monkeypatch.setattr(Strided, method, wrong[method], raising=False)
    assert attending.pattern_fault(Strided(back=3), 20, 20, 4) is not None
