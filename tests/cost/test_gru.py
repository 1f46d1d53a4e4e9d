"""GRUs: the price is what a GRU written out step by step does, and what the models run."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from regard.cost import executed, price
from regard.layers import PreNorm, Rotary
from regard.models import BERTGRUConfig, BERTGRUSentiment, EncoderConfig, GRUClassifier, GRUConfig
from regard.models.presets import preset
from tests.cost.agreeing import FORWARD, agree, counts, tokens

SEGMENTS = torch.tensor([[0, 0, 0, 0, 0, -1, -1], [0] * 7, [-1, -1, 0, 0, -1, 0, 0]])


def written_out(gru: nn.GRU, x: Tensor) -> Tensor:
    """One layer and direction, from no state: what is not there is not computed."""
    W, U = gru.weight_ih_l0, gru.weight_hh_l0
    b, c = (gru.bias_ih_l0, gru.bias_hh_l0) if gru.bias else (None, None)
    states: list[Tensor] = []
    for t in range(x.shape[1]):
        from_input = nn.functional.linear(x[:, t], W, b).chunk(3, 1)
        if states:
            r, z, n = nn.functional.linear(states[-1], U, c).chunk(3, 1)
            r, z = torch.sigmoid(from_input[0] + r), torch.sigmoid(from_input[1] + z)
            n = torch.tanh(from_input[2] + r * n)
            states.append(n + z * (states[-1] - n))
            continue
        r, z, n = from_input
        if c is not None:
            start = c.chunk(3)
            r, z = r + start[0], z + start[1]
            n = n + torch.sigmoid(r) * start[2]
        states.append((1 - torch.sigmoid(z)) * torch.tanh(n))
    return torch.stack(states, 1)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("batch", "length"), [(3, 7), (1, 1), (5, 2)])
def test_a_gru_costs_what_it_costs_written_out(bias, batch, length):
    gru = nn.GRU(4, 6, batch_first=True, bias=bias)
    x = torch.randn(batch, length, 4, requires_grad=True)
    torch.testing.assert_close(written_out(gru, x), gru(x)[0])
    whole, apart = executed(gru, x), executed(written_out, gru, x)
    assert counts(whole, FORWARD) == counts(apart, FORWARD)
    # a gate that nothing passes, r of a first state without biases, is computed by torch all the same
    named = {name: whole.other[name] for name in ("sigmoid", "tanh")}
    assert named["tanh"] == apart.other["tanh"] == batch * length * 6
    assert named["sigmoid"] == apart.other["sigmoid"] + (0 if bias else batch * 6)

    def step(run: Any) -> None:
        run(x).sum().backward()

    whole, apart = executed(step, lambda x: gru(x)[0]), executed(step, lambda x: written_out(gru, x))
    assert whole.uncounted == apart.uncounted == {}
    assert whole.macs == apart.macs


def test_layers_directions_and_packed_texts():
    gru = nn.GRU(4, 6, num_layers=2, bidirectional=True)
    one, two = nn.GRU(4, 6), nn.GRU(12, 6)
    x, y = torch.randn(7, 3, 4), torch.randn(7, 3, 12)
    want = (executed(one, x) + executed(two, y)) * 2
    assert counts(executed(gru, x), FORWARD) == counts(want, FORWARD)
    lengths = [7, 4, 1]
    packed = pack_padded_sequence(x, torch.tensor(lengths))
    apart = [executed(one, x[:length, :1]) for length in lengths]
    assert executed(one, packed).multiplies == sum(part.multiplies for part in apart)
    with_state = executed(one, x, torch.zeros(1, 3, 6))
    assert with_state.macs - executed(one, x).macs == 3 * 6 * 18


@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["whole", "segments"])
@pytest.mark.parametrize(("layers", "bidirectional"), [(1, True), (3, True), (2, False)])
def test_gru_classifier(layers, bidirectional, segments):
    config = GRUConfig(vocab=50, context=16, width=5, hidden=6, layers=layers, bidirectional=bidirectional)
    agree(GRUClassifier(config), tokens(3, 7), segments=segments, tokens=7, batch=3)


@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["whole", "segments"])
@pytest.mark.parametrize(("pool", "classes", "layers"), [("class", None, 2), ("mean", 3, 1)])
def test_bert_gru(pool, classes, layers, segments):
    bert = EncoderConfig(
        vocab=50, context=16, width=24, heads=4, depth=2, pool=pool, classes=classes, block=PreNorm()
    )
    config = BERTGRUConfig(bert=bert, hidden=6, layers=layers, classes=3, dropout=0.0)
    agree(BERTGRUSentiment(config), tokens(3, 7), segments=segments, tokens=7, batch=3)


def test_the_frozen_part_has_no_gradients_to_pay_for():
    bert = EncoderConfig(vocab=50, context=16, width=24, heads=4, depth=2, position=Rotary())
    config = BERTGRUConfig(bert=bert, hidden=6)
    learning, reading = price(config, tokens=7, training=True), price(config, tokens=7)
    assert dict(learning.parts)["bert"] == dict(reading.parts)["bert"]
    assert learning.macs < 3 * reading.macs
    letters = price(config, tokens=7).formula("n", "B", "layers", "hidden")
    values = {"n": 7, "B": 1, "layers": 2, "h": 6}
    assert letters.macs.subs(values) == reading.macs
    assert letters.parameters.subs(values) == reading.parameters
    assert letters.depth.subs(values) == reading.depth == 2 + 2 * 7


def test_the_parameters_of_the_course():
    assert price(preset("bert-gru"), tokens=128).parameters == 112_241_409
