"""What all tests share: one thread per worker, and no deadline on random examples."""

import sys

import pytest
import torch
from hypothesis import HealthCheck, settings

# The workers share two cores; torch's own threads would only wait for each other.
torch.set_num_threads(1)

settings.register_profile("regard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("regard")


@pytest.fixture
def own_place(tmp_path, monkeypatch):
    """A folder to write code of one's own into, which this process then forgets, as does the user's state."""
    from regard import importing, trust
    from regard.pattern import Atom

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(trust, "_VOUCHED", set())
    monkeypatch.setattr(importing, "_FROM_FILES", set())
    before, known = set(sys.modules), dict(Atom.registry)
    yield tmp_path
    for name in [
        name for name in set(sys.modules) - before if str(tmp_path) in importing.file_of(sys.modules[name])
    ]:
        del sys.modules[name]
    Atom.registry.clear()
    Atom.registry.update(known)
