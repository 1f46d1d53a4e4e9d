import pytest
import torch


@pytest.fixture(autouse=True)
def _seeded_weights():
    """Layers draw their weights from torch's own generator, which is put back after each test."""
    with torch.random.fork_rng():
        torch.manual_seed(4)
        yield
