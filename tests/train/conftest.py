import pytest

from regard.train import loop


@pytest.fixture(autouse=True)
def _without_pictures(monkeypatch):
    """No curves are drawn: they take longer than a small run, and one test looks at them."""
    monkeypatch.setattr(loop, "draw_curves", lambda folder: None)
