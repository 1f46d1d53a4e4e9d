"""Looking at a model leaves it alone: its mode, its hooks, and everybody else who uses it."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from regard.models import GRUClassifier, GRUConfig
from regard.probe import check_by_hiding, input_gradient, integrated_gradients, look_images, see
from regard.probe.twin import evaluated, twin
from tests.probe.conftest import draw, encoder, gpt, pictures, strong, vit


@pytest.fixture
def impatient():
    """Threads take turns so often that none gets through a forward pass alone."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def state(model):
    return [
        (part.training, dict(part.__dict__["_forward_hooks"]), [w.grad for w in part.parameters()])
        for part in model.modules()
    ]


def looks(model):
    """Every way of looking at a text model or an image model, as numbers."""
    if hasattr(model, "patches"):
        shown = pictures(2)
        found = look_images(model, shown / 255, shown, ["cat", "dog", "emu"], steps=2)
        labels = torch.zeros(2, dtype=torch.long)
        hidden = check_by_hiding(
            model, shown / 255, labels, found.maps["attention"], generator=draw(), shares=(0.5,), repeats=1
        )
        return [*found.maps.values(), torch.tensor([curve.accuracy for curve in hidden.curves])]
    tokens = torch.tensor([[1, 5, 2], [3, 3, 9]])
    return [
        see(model, tokens).logits,
        input_gradient(model, tokens).scores,
        integrated_gradients(model, tokens, steps=3).scores,
    ]


@pytest.mark.parametrize("make", [vit, encoder, gpt])
def test_a_model_in_training_is_looked_at_in_evaluation_and_stays_in_training(make):
    model = strong(make(dropout=0.5)).train()
    model.output_norm.eval()  # a part in another mode
    before = state(model)
    found = looks(model)
    assert state(model) == before
    for a, b in zip(found, looks(strong(make())), strict=True):
        assert torch.equal(a, b)


def test_a_twin_has_modules_of_its_own_and_the_same_weights():
    model = gpt(dropout=0.5)
    other = evaluated(model)
    assert other is not model
    assert not {id(part) for part in other.modules()} & {id(part) for part in model.modules()}
    for a, b in zip(other.parameters(), model.parameters(), strict=True):
        assert a is b
    assert evaluated(model.eval()) is model


def test_a_part_that_is_used_twice_is_one_part_of_the_twin():
    layer = nn.Linear(3, 3)
    other = twin(nn.Sequential(layer, nn.ReLU(), layer))
    assert other[0] is other[2]
    assert other[0] is not layer


def test_compiled_models_are_looked_at_uncompiled():
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9))
    x, want = torch.ones(1, 3), model[0](torch.ones(1, 3))
    calls = []

    def backend(graph, inputs):
        calls.append(graph)
        return graph.forward

    for compiled in (torch.compile(model, backend=backend), model):
        assert torch.equal(evaluated(compiled)(x), want)
    model.compile(backend=backend)
    assert torch.equal(evaluated(model)(x), want)
    assert calls == []


def test_a_module_with_a_mode_of_its_own_keeps_it():
    """cuDNN gives gradients of a GRU in training mode alone, so its scans stay in it."""
    model = GRUClassifier(GRUConfig(vocab=11, context=9, classes=2, width=4, hidden=4, dropout=0.5)).train()
    other = evaluated(model)
    assert not other.training
    assert any(part.training for part in other.modules() if isinstance(part, nn.GRU))


@pytest.mark.parametrize("training", [False, True])
def test_threads_that_look_at_one_model_see_what_one_alone_sees(training, impatient):
    model = strong(encoder(dropout=0.5)).train(training)
    texts = [torch.randint(11, (1, 4 + i % 5), generator=draw(i)) for i in range(24)]

    def look(tokens):
        found = integrated_gradients(model, tokens, steps=4)
        return found.scores, found.gap, see(model, tokens).logits

    want = [look(tokens) for tokens in texts]
    with ThreadPoolExecutor(4) as pool:
        for found, alone in zip(pool.map(look, texts), want, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(found, alone, strict=True))
    assert all(part.training == training for part in model.modules())
