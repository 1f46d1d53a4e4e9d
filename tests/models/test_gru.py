"""GRUs over texts: torch's own packed GRU is the reference; padding, frozen weights and files."""

import json

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from regard.layers import PreNorm, Rotary, Trace
from regard.models import (
    BERTGRUConfig,
    BERTGRUSentiment,
    Encoder,
    EncoderConfig,
    GRUClassifier,
    GRUConfig,
    load,
    save,
)
from regard.models.gru_reader import GRUReader
from regard.probe import input_gradient

BERT = EncoderConfig(vocab=31, context=12, types=2, depth=2, width=12, heads=3, dropout=0.5)
GRU = GRUConfig(vocab=31, context=12, classes=3, width=5, hidden=4, layers=2)


def rows(*lengths):
    """Texts of these lengths, cut to the longest, with −1 where there is none."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(31, (len(lengths), max(lengths)), generator=generator)
    return tokens, torch.tensor([[0] * n + [-1] * (max(lengths) - n) for n in lengths])


def reference(reader, inputs):
    """torch's GRU of the same weights."""
    sides = len(reader.layers[0])
    gru = nn.GRU(inputs, reader.hidden, len(reader.layers), batch_first=True, bidirectional=sides == 2)
    for i, scans in enumerate(reader.layers):
        for scan, end in zip(scans, ("", "_reverse"), strict=False):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                setattr(gru, f"{name}_l{i}{end}", getattr(scan, f"{name}_l0"))
    return gru


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("lengths", [(7, 4, 1), (1,), (5, 5)])
def test_the_reader_is_torchs_packed_gru_in_value_and_gradient(lengths, layers, bidirectional):
    reader = GRUReader(3, 5, layers=layers, bidirectional=bidirectional)
    gru = reference(reader, 3)
    segments = rows(*lengths)[1]
    x = torch.randn(*segments.shape, 3, requires_grad=True)
    packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True)
    final = gru(packed)[1]  # layers·sides B hidden
    want = torch.cat(list(final[-2:] if bidirectional else final[-1:]), 1)
    out = reader(x, segments=segments)
    torch.testing.assert_close(out, want)
    weights = [x, *reader.parameters()]
    direction = torch.randn_like(out)
    for mine, theirs in zip(
        torch.autograd.grad(out, weights, direction),
        torch.autograd.grad(want, weights, direction),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs)
    if len(set(lengths)) == 1:
        torch.testing.assert_close(reader(x), want)


def test_padding_anywhere_is_passed_over_and_a_text_of_it_alone_is_zero():
    reader = GRUReader(3, 5, layers=2, bidirectional=True)
    x = torch.randn(2, 6, 3)
    segments = torch.tensor([[-1, 0, -1, 0, 0, -1], [-1] * 6])
    found = reader(x, segments=segments)
    torch.testing.assert_close(found[:1], reader(x[:1, [1, 3, 4]]))
    assert not found[1].any()


def models():
    bert = Encoder(BERT, generator=torch.Generator().manual_seed(1))
    return [GRUClassifier(GRU), BERTGRUSentiment(bert, 6, 3, 2, True, 0.5)]


@pytest.mark.parametrize("model", models(), ids=lambda one: type(one).__name__)
def test_padding_does_not_change_the_logits(model):
    model.eval()
    tokens, segments = rows(7, 4, 1)
    together = model(tokens, segments=segments)
    assert together.shape == (3, 3)
    assert (together[0] - together[1]).abs().max() > 1e-4
    for i, length in enumerate((7, 4, 1)):
        torch.testing.assert_close(
            together[i : i + 1], model(tokens[i : i + 1, :length]), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("model", models(), ids=lambda one: type(one).__name__)
def test_dropout_draws_from_the_generator_and_only_in_training(model):
    tokens, segments = rows(7, 4)

    def run(seed):
        return model(tokens, segments=segments, generator=torch.Generator().manual_seed(seed))

    model.train()
    if isinstance(model, GRUClassifier):
        model.dropout = model.reader.dropout = 0.5
    assert torch.equal(run(0), run(0))
    assert not torch.equal(run(0), run(1))
    model.eval()
    assert torch.equal(run(0), run(1))


def test_the_encoder_is_frozen_in_weights_and_in_mode():
    bert = Encoder(BERT)
    model = BERTGRUSentiment(bert, 6, 1, 2, True, 0.25)
    assert model.bert is bert
    model.train()
    assert model.training
    assert not any(part.training for part in bert.modules())
    tokens, segments = rows(7, 4)
    model(tokens, segments=segments).sum().backward()
    assert all(weight.grad is None and not weight.requires_grad for weight in bert.parameters())
    assert all(weight.grad is not None for name, weight in model.named_parameters() if "bert." not in name)


@pytest.mark.parametrize("model", models(), ids=lambda one: type(one).__name__)
def test_gradients_reach_the_embedding_in_evaluation_mode_too(model):
    model.eval()
    assert all(part.training for part in model.modules() if isinstance(part, nn.GRU))  # cuDNN asks for it
    reader = model.reader if isinstance(model, GRUClassifier) else model.rnn
    assert not reader.training
    found = input_gradient(model, rows(7, 7)[0])
    assert (found.scores.abs() > 0).all()


def test_the_parameters_of_the_course():
    with torch.device("meta"):
        bert = Encoder(EncoderConfig(vocab=30_522, context=512, types=2, depth=12, width=768, heads=12))
        model = BERTGRUSentiment(bert, 256, 1, 2, True, 0.25)
    assert sum(weight.numel() for weight in model.parameters()) == 112_241_409
    assert sum(weight.numel() for weight in model.parameters() if weight.requires_grad) == 2_759_169


def test_a_bert_of_transformers():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 7}
    theirs = transformers.BertModel(transformers.BertConfig(vocab_size=31, **sizes)).eval()
    model = BERTGRUSentiment(theirs, 6, 1, 1, False, 0.0).eval()
    tokens, segments = rows(7, 4)
    with torch.no_grad():
        hidden = theirs(tokens, attention_mask=segments + 1).last_hidden_state
        want = model.out(model.rnn(hidden, segments=segments))
        torch.testing.assert_close(model(text=tokens, segments=segments), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_weights_of_torchs_own_gru_load(layers, bidirectional):
    """The public notebook that the sheet builds on has an `nn.GRU` as rnn and an `nn.Linear` as out."""
    model = BERTGRUSentiment(Encoder(BERT), 6, 1, layers, bidirectional, 0.0).eval()
    rnn = nn.GRU(BERT.width, 6, num_layers=layers, bidirectional=bidirectional, batch_first=True)
    model.rnn.load_state_dict(rnn.state_dict())
    text = rows(7, 7)[0]
    with torch.no_grad():
        _, hidden = rnn(model.bert.features(text))
        last = torch.cat([hidden[-2], hidden[-1]], dim=1) if bidirectional else hidden[-1]
        torch.testing.assert_close(model(text), model.out(last), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", models(), ids=lambda one: type(one).__name__)
def test_round_trip(model, tmp_path):
    save(model, tmp_path / "m.safetensors")
    back = load(tmp_path / "m.safetensors")
    assert type(back) is type(model)
    assert back.config == model.config
    for (name, a), b in zip(model.named_parameters(), back.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert a.requires_grad == b.requires_grad, name
    tokens, segments = rows(7, 4)
    assert torch.equal(back.eval()(tokens, segments=segments), model.eval()(tokens, segments=segments))
    assert load(tmp_path / "m.safetensors", into=back) is back


def test_a_config_with_all_its_parts_comes_back(tmp_path):
    bert = EncoderConfig(vocab=9, context=8, depth=1, width=12, heads=3, position=Rotary(), block=PreNorm())
    model = BERTGRUSentiment(BERTGRUConfig(bert=bert, hidden=3, layers=1, bidirectional=False))
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").config.bert == bert


def test_the_encoder_can_be_watched():
    seen = Trace()
    models()[1](rows(7)[0], trace=seen)
    assert seen["bert.blocks.1.attention.weights"].shape == (1, 3, 7, 7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GRUConfig(vocab=0, context=8), "vocab"),
        (lambda: GRUConfig(vocab=9, context=8, layers=0), "layers"),
        (lambda: GRUConfig(vocab=9, context=8, dropout=1.0), "dropout"),
        (lambda: GRUConfig(vocab=9, context=8, bidirectional=2), "bidirectional must be True or False"),
        (lambda: BERTGRUConfig(bert=GRU), "bert must be"),
        (lambda: BERTGRUSentiment(BERTGRUConfig(bert=BERT), 6), "says everything, got {'hidden': 6}"),
        (lambda: BERTGRUSentiment(nn.Linear(2, 2), 6, 1, 2, True, 0.0), "transformers model, got Linear"),
        (lambda: GRUClassifier(GRU)(torch.zeros(2, 3)), "tokens must be integers"),
        (lambda: GRUClassifier(GRU)(rows(3)[0], segments=rows(4)[1]), "segments must have shape"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_config_in_the_file_is_plain(tmp_path):
    save(models()[1], tmp_path / "m.safetensors")
    data = (tmp_path / "m.safetensors").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["regard"]
    found = json.loads(header)
    assert found["model"] == "BERTGRUSentiment"
    assert found["config"]["bert"]["part"] == "EncoderConfig"
