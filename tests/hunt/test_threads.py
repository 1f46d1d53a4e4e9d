"""A few rounds of the hunt through threads, faults put in to see that they would be found, and its reach."""

import inspect
import re
import warnings

import pytest

from regard import probe, zoo
from regard.probe import attribution
from tests.hunt import shared, threads

CHEAP = ("probe:see", "probe:in", "probe:read_image", "zoo:predict", "zoo:put", "generate:")


def test_a_few_rounds():
    assert threads.hunt(3, seed=0, only=CHEAP).faults == []


def test_a_hook_on_a_shared_model_is_found(monkeypatch):
    def entered(model, tokens):
        embed = attribution.embedding_of(model)

        def run(x, **extra):
            hook = embed.register_forward_hook(lambda *_: x)
            out = model(tokens, **extra)
            hook.remove()
            return out

        return embed(tokens).detach(), run

    monkeypatch.setattr(attribution, "_entered", entered)
    found = threads.hunt(2, seed=0, only=("probe:integrated_gradients",))
    assert any(fault.startswith("probe: ") for fault in found.faults)


def test_what_is_left_behind_is_found(monkeypatch):
    monkeypatch.setattr(warnings, "filters", list(warnings.filters))

    def jobs(world, only):
        return {"probe:bad": lambda i: warnings.filters.append(("error", None, Warning, None, i))}

    monkeypatch.setattr(threads, "jobs_of", jobs)
    (fault, *_) = threads.hunt(1, seed=0).faults
    assert fault.startswith("state: seed 0, round 0")
    assert "warnings" in fault


@pytest.mark.parametrize("package", [probe, zoo])
def test_every_public_function_is_asked(package):
    """By its name in the jobs; `look_text` and the like are asked through the zoo's `look`."""
    source = inspect.getsource(shared)
    functions = [name for name in package.__all__ if inspect.isfunction(getattr(package, name))]
    there = {name for name in functions if re.search(rf"\b{name}\b", source)}
    assert set(functions) - there == set()
