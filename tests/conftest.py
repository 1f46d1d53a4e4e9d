"""What all tests share: one thread per worker, and no deadline on random examples."""

import os
import sys

import pytest
import torch
from hypothesis import HealthCheck, settings

# The workers share two cores; torch's own threads would only wait for each other.
torch.set_num_threads(1)

settings.register_profile("regard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("regard")

if os.environ.get("TRITON_INTERPRET") == "1":
    from tests import interpreting

    interpreting.patch_once()

STUDIO = "tests/studio/"  # whose tests share a studio and a browser


def pytest_collection_modifyitems(items):
    """The longest piece of work comes first."""
    items.sort(key=lambda item: not item.nodeid.startswith(STUDIO))


@pytest.hookimpl(optionalhook=True)  # there is no such hook without xdist
def pytest_xdist_make_scheduler(config, log):
    """A worker takes whole files, and one of them the studio, so that what their tests share is made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return STUDIO if nodeid.startswith(STUDIO) else nodeid.partition("::")[0]

    if config.getoption("dist") != "load":  # another one was asked for
        return None
    config.option.loadscopereorder = False
    return ByFile(config, log)


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
