import pytest
import torch


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(20)


@pytest.fixture(autouse=True)
def _seeded_weights():
    """Modules draw their weights from torch's own generator, which is put back after each test."""
    with torch.random.fork_rng():
        torch.manual_seed(4)
        yield
