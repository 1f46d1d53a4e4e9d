import pytest

from regard.cost import price
from regard.models.huggingface.config import read_config
from regard.models.presets import preset
from regard.pattern import Causal, Strided

GPT2 = {"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_layer": 12, "n_embd": 768,
        "n_head": 12, "n_inner": None}  # fmt: skip
BERT = {"model_type": "bert", "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
        "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
        "intermediate_size": 3072}  # fmt: skip
VIT = {"model_type": "vit", "image_size": 224, "patch_size": 16, "num_channels": 3, "num_hidden_layers": 12,
       "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
       "architectures": ["ViTForImageClassification"],
       "id2label": {str(i): str(i) for i in range(1000)}}  # fmt: skip
LLAMA = {"model_type": "llama", "vocab_size": 128256, "num_hidden_layers": 32, "hidden_size": 4096,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336}  # fmt: skip
MISTRAL = LLAMA | {"model_type": "mistral", "vocab_size": 32000, "sliding_window": 4096}
QWEN2 = {"model_type": "qwen2", "vocab_size": 151936, "num_hidden_layers": 24, "hidden_size": 896,
         "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864,
         "tie_word_embeddings": True, "sliding_window": 32768, "use_sliding_window": False}  # fmt: skip
QWEN3 = {"model_type": "qwen3", "vocab_size": 151936, "num_hidden_layers": 28, "hidden_size": 1024,
         "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072,
         "tie_word_embeddings": True}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "parameters", "words"),
    [
        (GPT2, 124_439_808, "language-model head tied"),
        (BERT | {"architectures": ["BertModel"]}, 109_482_240, "backbone with its pooler"),
        (BERT | {"architectures": ["BertForMaskedLM"]}, 109_514_298, "masked-LM head"),
        (BERT | {"architectures": ["BertForSequenceClassification"]}, 109_483_778, "classifier of 2"),
        (VIT, 86_567_656, "classifier of 1000"),
        (VIT | {"architectures": ["ViTModel"]}, 86_389_248, "pooler"),
        (LLAMA, 8_030_261_248, "of its own"),
        (MISTRAL, 7_241_732_096, "mistral-style"),
        (QWEN2, 494_032_768, "tied"),
        (QWEN3, 596_049_920, "tied"),
    ],
)
def test_published_parameter_counts(config, parameters, words):
    what, said = read_config(config)
    assert (
        price(what, tokens=16 if config is not VIT and config.get("model_type") != "vit" else None).parameters
        == parameters
    )
    assert words in said


def test_windows_of_mistral():
    assert read_config(MISTRAL)[0].pattern == Strided(back=4095)
    assert read_config(QWEN2)[0].pattern == Causal()


def test_transformers_itself_agrees():
    transformers = pytest.importorskip("transformers")
    import torch

    makers = {
        "gpt2": ("GPT2Config", "GPT2LMHeadModel", GPT2 | {"n_layer": 2, "n_embd": 24, "n_head": 4}),
        "llama": ("LlamaConfig", "LlamaForCausalLM",
                  LLAMA | {"num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 4,
                           "num_key_value_heads": 2, "vocab_size": 50, "intermediate_size": 40}),
    }  # fmt: skip
    for config, model, data in makers.values():
        fields = {key: value for key, value in data.items() if key != "model_type"}
        with torch.device("meta"):
            built = getattr(transformers, model)(getattr(transformers, config)(**fields))
        count = sum(weight.numel() for weight in built.parameters())
        assert price(read_config(data)[0], tokens=8).parameters == count


def test_presets_agree_with_the_configs():
    assert price(read_config(GPT2)[0], tokens=9).flops == price(preset("gpt2"), tokens=9).flops
    assert price(preset("bert-base"), tokens=9) == price(read_config(BERT)[0], tokens=9)
    assert price(preset("vit-b16")) == price(read_config(VIT)[0])
    assert price(preset("llama-3-8b"), tokens=9) == price(read_config(LLAMA)[0], tokens=9)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "model_type must be one of gpt2, bert, vit, llama"),
        ({"model_type": "t5"}, "x.json: a t5 has no price here: what its encoder reads"),
        ({"model_type": "gpt2"}, "x.json: the key vocab_size is missing"),
        (GPT2 | {"n_layer": -1}, "x.json: n_layer must be a positive integer, got n_layer=-1"),
        (GPT2 | {"n_embd": 7}, "heads must divide width"),
        (BERT | {"hidden_size": "768"}, "hidden_size must be a positive integer"),
        ({"model_type": "vit"}, "the key image_size is missing"),
        ({key: LLAMA[key] for key in LLAMA if key != "intermediate_size"}, "intermediate_size is missing"),
    ],
)
def test_what_is_refused(data, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_config(data, "x.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["Dinov2Model", "Dinov2ForImageClassification"])
def test_a_dinov2_is_priced_as_transformers_writes_its_config(name):
    """Its config always says what a backbone would give, which these classes do not read."""
    transformers = pytest.importorskip("transformers")
    config = transformers.Dinov2Config(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=4
    )
    model = getattr(transformers, name)(config)
    what, _ = read_config(config.to_dict() | {"architectures": [name]})
    assert price(what).parameters == sum(x.numel() for x in model.parameters())
