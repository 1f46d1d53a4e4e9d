"""Models on disk: what goes out comes back, and whatever is wrong is one ValueError that touches nothing."""

import json
import pickle
import struct

import pytest
import torch

from regard.files import seal
from regard.layers import (
    Alibi,
    CourseBlock,
    LayerNorm,
    LinearAttention,
    PostNorm,
    PreNorm,
    RMSNorm,
    Rotary,
    Scaled,
    Softmax,
    SwiGLU,
)
from regard.models import (
    GPT,
    MLP,
    ConvNet,
    ConvNetConfig,
    Encoder,
    EncoderConfig,
    GPTConfig,
    GridCompletion,
    GridCompletionConfig,
    GridRNN,
    GridRNNConfig,
    MLPConfig,
    Untied,
    ViT,
    ViTConfig,
    load,
    save,
)
from regard.models.files import build_config, read_tensors
from regard.pattern import Causal, Full, Global, Neighbourhood, Strided

SMALL = {"depth": 2, "width": 12, "heads": 3}
TEXT = {"vocab": 9, "context": 8, **SMALL}
GRID = Neighbourhood(rows=2, cols=3, reach=1)
LLAMA = PreNorm(norm=RMSNorm(eps=1e-7), feedforward=SwiGLU(hidden=9))
PATTERN = (Strided(back=3), ~Strided(back=1) & Causal() | Global(first=2))
MODELS = [
    (GPT, GPTConfig(**TEXT)),
    (GPT, GPTConfig(**TEXT, pattern=PATTERN, block=LLAMA, position=Alibi(), head=Untied())),
    (GPT, GPTConfig(**TEXT, block=CourseBlock(), position=Scaled(longest=3), dropout=0.25)),
    (ViT, ViTConfig(image=(4, 6), patch=2, pool="mean", **SMALL, pattern=GRID)),
    (Encoder, EncoderConfig(**TEXT, classes=2, block=PostNorm(norm=LayerNorm(eps=1e-12)))),
    (GridRNN, GridRNNConfig(image=(4, 6), classes=3, hidden=5, patch=2)),
    (GridCompletion, GridCompletionConfig(hidden=5)),
    (ConvNet, ConvNetConfig(image=(8, 12), classes=3, widths=(4, 5))),
    (MLP, MLPConfig(image=(4, 6), classes=3, widths=(7,))),
    (GPT, GPTConfig(**TEXT, mixer=(Softmax(), LinearAttention()))),
    (GPT, GPTConfig(**TEXT, mixer=(LinearAttention("alibi"), Softmax()))),
]


@pytest.mark.parametrize(("kind", "config"), MODELS)
def test_round_trip(kind, config, tmp_path):
    model = kind(config)
    save(model, tmp_path / "m.safetensors")
    back = load(tmp_path / "m.safetensors")
    assert type(back) is kind
    assert back.config == config
    for (name, a), b in zip(model.named_parameters(), back.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert b.requires_grad
    assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]


def test_a_model_that_was_read_is_ready_for_use(tmp_path):
    model = GPT(GPTConfig(vocab=9, context=8, depth=1, width=8, heads=2, dropout=0.5))
    save(model, tmp_path / "m.safetensors")
    found = load(tmp_path / "m.safetensors")
    assert not any(part.training for part in found.modules())
    assert load(tmp_path / "m.safetensors", into=model).training  # one that is there keeps its mode


def test_load_into_a_model_keeps_its_dtype(tmp_path):
    kind, config = MODELS[0]
    model, other = kind(config), kind(config).to(torch.bfloat16)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m", into=other) is other
    assert torch.equal(other.embed.weight, model.embed.weight.bfloat16())
    load(tmp_path / "m", into=(third := kind(config)))
    assert torch.equal(third.embed.weight, model.embed.weight)


def _break_truncate(data):
    return data[: len(data) * 2 // 3]


def _break_header(data):
    return data[:40]


def _break_pickle(data):
    return pickle.dumps({"embed.weight": [1.0]}, protocol=4)


def _break_nothing(data):
    return b""


def _break_text(data):
    return b"this is no model at all, but some words"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_break_truncate, "no whole safetensors"),
        (_break_header, "no whole safetensors"),
        (_break_nothing, "no whole safetensors"),
        (_break_text, "no whole safetensors"),
        (_break_pickle, "looks like a pickle"),
    ],
)
def test_damaged_files(damage, message, tmp_path):
    kind, config = MODELS[0]
    save(kind(config), tmp_path / "m")
    (tmp_path / "m").write_bytes(damage((tmp_path / "m").read_bytes()))
    model = kind(config)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    for into in (None, model):
        with pytest.raises(ValueError, match=message) as caught:
            load(tmp_path / "m", into=into)
        assert "\n" not in str(caught.value)
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


def test_torch_save_is_refused(tmp_path):
    kind, config = MODELS[0]
    torch.save(kind(config).state_dict(), tmp_path / "m.pt")
    with pytest.raises(ValueError, match="looks like a pickle"):
        load(tmp_path / "m.pt")


@pytest.mark.parametrize("size", [0x0280, 0x0480, 0x0580, 0x4B50])
def test_a_header_as_long_as_a_pickle_begins_is_read(size, tmp_path):
    header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode().ljust(size)
    (tmp_path / "m").write_bytes(struct.pack("<Q", size) + header + struct.pack("<f", 0.5))
    assert read_tensors(tmp_path / "m")[0]["a"].item() == 0.5


def test_another_architecture_is_refused_and_touches_nothing(tmp_path):
    save(GPT(MODELS[0][1]), tmp_path / "gpt")
    encoder = Encoder(MODELS[4][1])
    wider = GPT(GPTConfig(vocab=9, context=8, depth=2, width=24, heads=3))
    for model in (encoder, wider):
        before = {name: weight.clone() for name, weight in model.state_dict().items()}
        with pytest.raises(ValueError, match="another architecture"):
            load(tmp_path / "gpt", into=model)
        assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


def _rewrite(path, change):
    """The same file with another header of ours."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    change(header)
    new = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(new)) + new + data[8 + size :])


def _config(change):
    return lambda header: _change_config(header, change)


def _change_config(header, change):
    ours = json.loads(header["__metadata__"]["regard"])
    change(ours)
    header["__metadata__"]["regard"] = json.dumps(ours)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.pop("__metadata__"), "no config of ours"),
        (lambda h: h["__metadata__"].update(regard="{"), "config that cannot be read"),
        (lambda h: h["__metadata__"].update(regard="[]"), "config that cannot be read"),
        (_config(lambda c: c.update(model="Oracle")), "Oracle"),
        (_config(lambda c: c["config"].update(colour=1)), "no field colour"),
        (_config(lambda c: c["config"].pop("vocab")), "vocab"),
        (_config(lambda c: c["config"].update(block={"part": "os"})), "got 'os'"),
        (_config(lambda c: c["config"].update(pattern={"pattern": "exec(1)"})), "cannot be read"),
        (_config(lambda c: c["config"].update(depth=3)), r"missing blocks\.2\.attention_norm\.weight"),
        (_config(lambda c: c["config"].update(depth=1)), r"left over blocks\.1\."),
        (_config(lambda c: c["config"].update(vocab=10)), r"\(9, 12\) instead of \(10, 12\)"),
    ],
)
def test_wrong_configs_are_one_clear_error(change, message, tmp_path):
    save(GPT(MODELS[0][1]), tmp_path / "m")
    _rewrite(tmp_path / "m", change)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "m")


# As a version that took linear attention for a pattern wrote it, and the logits that its model gave.
OLD = """{"model": "GPT", "config": {"vocab": 7, "context": 8, "depth": 2, "width": 8, "heads": 2,
 "kv_heads": null, "head_width": null, "pattern": PATTERN, "position": {"part": "Rotary", "base": 10000.0},
 "block": {"part": "PreNorm", "norm": {"part": "LayerNorm", "eps": 1e-05},
  "feedforward": {"part": "Gelu", "hidden": null, "tanh": false}}, "head": {"part": "Tied"},
 "dropout": 0.0}}"""
ALONE = '{"pattern": "linear"}'
CYCLED = '[{"pattern": "strided(2)"}, {"pattern": "linear"}]'
OLD_LOGITS = {
    ALONE: [0.531848, 0.014066, 0.559450, -0.174085, -0.252875, 0.263564, 1.081362],
    CYCLED: [0.509260, 0.020468, 0.561777, -0.068143, -0.286882, 0.242324, 1.087051],
}


@pytest.mark.parametrize(
    ("said", "pattern", "mixer"),
    [
        (ALONE, Causal(), LinearAttention()),
        (CYCLED, (Strided(back=2), Causal()), (Softmax(), LinearAttention())),
    ],
)
def test_a_file_that_says_linear_as_a_pattern_means_what_it_meant(said, pattern, mixer, tmp_path):
    config, _ = build_config(json.loads(OLD.replace("PATTERN", said)))
    new = GPTConfig(
        vocab=7, context=8, depth=2, width=8, heads=2, pattern=pattern, mixer=mixer, position=Rotary()
    )
    assert config == new
    model = GPT(config, generator=torch.Generator().manual_seed(3)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(8) if weight.ndim > 1 else weight.add_(0.1)
    save(model, tmp_path / "m")
    _rewrite(tmp_path / "m", lambda h: h["__metadata__"].update(regard=OLD.replace("PATTERN", said)))
    logits = load(tmp_path / "m")(torch.tensor([[1, 2, 3, 4, 5, 6]]))[0, -1]
    torch.testing.assert_close(logits, torch.tensor(OLD_LOGITS[said]), atol=1e-5, rtol=0)


def test_old_linear_configs_inside_others_and_those_of_today():
    old = {"image": 8, "patch": 4, "pattern": {"pattern": "linear"}}
    found, _ = build_config({"model": "ViT", "config": old})
    assert (found.pattern, found.mixer) == (Causal(), LinearAttention())
    inner = {"part": "EncoderConfig", "vocab": 9, "context": 8, "pattern": [{"pattern": "linear"}]}
    found, _ = build_config({"model": "BERTGRUSentiment", "config": {"bert": inner}})
    assert (found.bert.pattern, found.bert.mixer) == ((Causal(),), (LinearAttention(),))
    today = {"image": 8, "patch": 4, "pattern": {"pattern": "full"}, "mixer": {"part": "LinearAttention"}}
    found, _ = build_config({"model": "ViT", "config": today})
    assert (found.pattern, found.mixer) == (Full(), LinearAttention())
    with pytest.raises(ValueError, match="linear attention is no pattern"):
        build_config({"model": "ViT", "config": {**today, **old}})


def test_missing_files_and_foreign_models(tmp_path):
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        load(tmp_path / "absent")
    with pytest.raises(ValueError, match="got Linear"):
        save(torch.nn.Linear(2, 2), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_a_checksum_beside_it_must_be_that_file(tmp_path):
    model = GPT(GPTConfig(**TEXT))
    save(model, tmp_path / "m")
    seal(tmp_path)
    assert load(tmp_path / "m").config == model.config
    data = bytearray((tmp_path / "m").read_bytes())
    data[-2] ^= 1
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(ValueError, match=r"m is damaged: it is not what checksums\.json beside it says"):
        load(tmp_path / "m")
