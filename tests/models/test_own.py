import pytest
import torch
from torch import nn

from regard.importing import import_file, imported
from regard.models import GPT, GPTConfig, load, save
from regard.models.own import Own, build_own, is_own
from regard.trust import Untrusted
from tests.owning import wrote


@pytest.fixture
def nets(own_place):
    wrote(own_place)
    return import_file(own_place / "own_nets.py")


def test_what_is_ones_own(nets):
    assert all(map(is_own, (nets.small, nets.Wide(), nn.Flatten)))
    assert not any(map(is_own, (GPT, GPTConfig(vocab=9, context=4), 3, None, "own_nets:small")))


@pytest.mark.parametrize("name", ["small", "other"])
def test_the_seed_decides_the_first_weights(nets, name):
    def made(seed):
        return torch.cat([w.flatten() for w in build_own(getattr(nets, name), seeded(seed)).parameters()])

    def seeded(seed):
        return torch.Generator().manual_seed(seed)

    before = torch.get_rng_state()
    assert torch.equal(made(3), made(3))
    assert not torch.equal(made(3), made(4))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("needy", "own_nets:needy must need no arguments but generator, it needs width, depth"),
        ("number", "own_nets:number must give an nn.Module, it gave int"),
        ("raising", "own_nets:raising made no model: KeyError: 'no such thing'"),
        ("weightless", "own_nets:weightless gave a Flatten without weights that can be trained"),
    ],
)
def test_factories_that_make_none(nets, name, says):
    with pytest.raises(ValueError, match=says):
        build_own(getattr(nets, name))


def test_facts_are_given_where_they_are_named(nets, own_place):
    own = Own(nets.asking, {"image": (8, 8), "classes": 3, "channels": 1})
    model = build_own(own)
    assert model(torch.zeros(2, 1, 8, 8)).shape == (2, 3)
    save(model, own_place / "m.safetensors")
    back = load(own_place / "m.safetensors", trust=True)
    assert back.made_by == own
    assert back.made_by.facts["image"] == (8, 8)
    with pytest.raises(ValueError, match=r"no arguments but generator and classes, it needs image"):
        build_own(Own(nets.asking, {"classes": 3}))
    with pytest.raises(ValueError, match="reads must be language or texts, or nothing, got reads='music'"):
        Own(nets.small, reads="music")


def test_a_model_is_saved_and_loaded(nets, own_place):
    for spec in (nets.small, nets.Wide(width=5)):
        model = build_own(spec).eval()
        save(model, own_place / "m.safetensors")
        with pytest.raises(Untrusted, match="own_nets:"):
            load(own_place / "m.safetensors")
        back = load(own_place / "m.safetensors", trust=True)
        x = torch.randn(3, 1, 8, 8)
        assert torch.equal(back(x), model(x))
        assert back.made_by == Own(spec)
        assert load(own_place / "m.safetensors", into=build_own(spec).eval())(x).equal(model(x))
    with pytest.raises(ValueError, match="holds another architecture"):
        load(own_place / "m.safetensors", into=build_own(nets.small))


def test_a_pattern_of_ones_own_is_saved_with_a_model(nets, own_place):
    pattern = nets.Around(2)
    model = GPT(GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2, pattern=pattern))
    save(model, own_place / "m.safetensors")
    assert load(own_place / "m.safetensors").config.pattern == pattern  # its class is known


def test_an_unmarked_module_is_not_saved(own_place):
    with pytest.raises(ValueError, match="model must be one of"):
        save(nn.Linear(2, 2), own_place / "m.safetensors")
    assert imported("torch.nn:Linear") is nn.Linear
