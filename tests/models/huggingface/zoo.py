"""Tiny models of transformers with random weights: every family, several configs of each."""

import torch
import transformers

SIZES = {"vocab_size": 31, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
         "intermediate_size": 20, "max_position_embeddings": 40}  # fmt: skip
ENDS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
GROUPED = {"num_key_value_heads": 2}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}  # fmt: skip
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 10}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.5}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
MIXED = ["sliding_attention", "full_attention", "sliding_attention"]
IMAGE = {"hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 5, "image_size": 12,
         "patch_size": 4}  # fmt: skip
BERT = {**SIZES, "hidden_size": 15, "num_attention_heads": 5, "max_position_embeddings": 14}

# (family, class, config class, variants)
DECODERS = [
    ("llama", "LlamaForCausalLM", "LlamaConfig", [
        {}, GROUPED, {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True},
        {"rope_parameters": LLAMA3, **GROUPED}, {"rope_parameters": LINEAR}, {"rope_parameters": YARN},
        {"rope_parameters": DYNAMIC, "max_position_embeddings": 6},
        {"rope_parameters": {**YARN, "mscale": 0.8, "mscale_all_dim": 0.3, "beta_fast": 8,
                             "truncate": False}},
        {"head_dim": 10, "rms_norm_eps": 1e-2, "num_key_value_heads": 1, "hidden_act": "gelu"}]),
    ("mistral", "MistralForCausalLM", "MistralConfig", [
        GROUPED, {"sliding_window": 5, **GROUPED}, {"sliding_window": None, "head_dim": 8, **GROUPED}]),
    ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", [
        GROUPED, {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1, **GROUPED},
        {"tie_word_embeddings": True, "num_key_value_heads": 4, "rope_parameters": YARN}]),
    ("qwen3", "Qwen3ForCausalLM", "Qwen3Config", [
        {"head_dim": 6, **GROUPED}, {"head_dim": 8, "attention_bias": True, **GROUPED},
        {"head_dim": 6, "use_sliding_window": True, "sliding_window": 3, "layer_types": MIXED, **GROUPED},
        {"head_dim": 4, "tie_word_embeddings": True, "num_key_value_heads": 1, "rope_parameters": LLAMA3}]),
    ("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", [
        {"hidden_size": 32}, {"use_parallel_residual": False, "hidden_size": 32, "tie_word_embeddings": True},
        {"attention_bias": False, "rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 1.0}},
        {"hidden_act": "gelu_new", "rope_parameters": {**LINEAR, "partial_rotary_factor": 0.7}}]),
    ("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", [
        GROUPED, {"use_bias": False, "tie_word_embeddings": False, **GROUPED},
        {"sliding_window": 6, "hidden_act": "gelu", "norm_epsilon": 1e-2, "num_key_value_heads": 4}]),
    ("gemma", "GemmaForCausalLM", "GemmaConfig", [
        {"head_dim": 8, "num_key_value_heads": 1}, {"head_dim": 6, "attention_bias": True, **GROUPED},
        {"head_dim": 6, "tie_word_embeddings": False, "rope_parameters": LINEAR, **GROUPED}]),
    ("gemma2", "Gemma2ForCausalLM", "Gemma2Config", [
        {"head_dim": 8, "sliding_window": 5, "query_pre_attn_scalar": 7, **GROUPED},
        {"head_dim": 6, "attn_logit_softcapping": 0.5, "final_logit_softcapping": 1.5, **GROUPED},
        {"head_dim": 6, "attn_logit_softcapping": None, "final_logit_softcapping": None, **GROUPED}]),
    ("gemma3_text", "Gemma3ForCausalLM", "Gemma3TextConfig", [
        {"head_dim": 8, "sliding_window": 4, "layer_types": MIXED, **GROUPED},
        {"head_dim": 6, "sliding_window": 3, "query_pre_attn_scalar": 9, "layer_types": MIXED, **GROUPED,
         "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
                             "full_attention": LINEAR}},
        {"head_dim": 6, "final_logit_softcapping": 2.0, "attention_bias": True, **GROUPED}]),
    ("gpt2", "GPT2LMHeadModel", "GPT2Config", [
        {}, {"n_inner": 22, "activation_function": "gelu"},
        {"tie_word_embeddings": False, "layer_norm_epsilon": 1e-3}]),
]  # fmt: skip
ENCODERS = [
    ("bert", "BertForSequenceClassification", "BertConfig", [{}, {"hidden_act": "gelu_new"}]),
    ("bert", "BertModel", "BertConfig", [{"type_vocab_size": 3}]),
    ("roberta", "RobertaForSequenceClassification", "RobertaConfig", [
        {}, {"type_vocab_size": 1, "layer_norm_eps": 1e-3, "hidden_act": "gelu_new"}]),
    ("roberta", "RobertaModel", "RobertaConfig", [{"num_attention_heads": 3}]),
    ("distilbert", "DistilBertForSequenceClassification", "DistilBertConfig", [
        {}, {"activation": "gelu_new"}]),
]  # fmt: skip
IMAGES = [
    ("vit", "ViTForImageClassification", "ViTConfig", [
        {}, {"qkv_bias": False, "num_channels": 1},
        {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-3}]),
    ("deit", "DeiTForImageClassification", "DeiTConfig", [{}, {"qkv_bias": False}]),
    ("deit", "DeiTForImageClassificationWithTeacher", "DeiTConfig", [{}, {"num_channels": 1}]),
    ("dinov2", "Dinov2ForImageClassification", "Dinov2Config", [
        {}, {"use_swiglu_ffn": True}, {"qkv_bias": False, "mlp_ratio": 2, "layerscale_value": 0.5}]),
]  # fmt: skip


def cases(families):
    """(family, class, config class, changes) one by one."""
    return [(family, kind, config, change) for family, kind, config, some in families for change in some]


def name(value):
    """For a test's name."""
    return value if isinstance(value, str) else "-".join(value) if isinstance(value, dict) else None


def config_of(family, kind, config, changes):
    """A config of the size that tests have time for."""
    if family == "gpt2":
        base = {"vocab_size": 31, "n_positions": 40, "n_embd": 24, "n_layer": 3, "n_head": 4, **ENDS}
    elif family == "distilbert":
        base = {"vocab_size": 31, "dim": 15, "n_layers": 2, "n_heads": 5, "hidden_dim": 22,
                "max_position_embeddings": 12}  # fmt: skip
    elif family in ("bert", "roberta"):
        base = BERT
    elif family == "dinov2":
        base = IMAGE
    elif family in ("vit", "deit"):
        base = {**IMAGE, "intermediate_size": 22}
    else:
        base = {**SIZES, **ENDS}
    labels = {} if family in dict.fromkeys(one[0] for one in DECODERS) or kind.endswith("Model") else LABELS
    return getattr(transformers, config)(**{**base, **labels, **changes})


LABELS = {"id2label": {0: "cat", 1: "dog", 2: "émeu"}, "label2id": {"cat": 0, "dog": 1, "émeu": 2}}


def lively(model, seed=0):
    """Norms, biases and class tokens that would show if they were forgotten; no token is sure."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            spread = 0.3 if weight.ndim == 1 else 1.3 * weight.shape[-1] ** -0.5
            middle = 1.0 if weight.ndim == 1 and name.endswith("weight") else 0.0
            weight.copy_(torch.randn(weight.shape, generator=g) * spread + middle)
    return model.eval()


def made(case, seed=0):
    """The model of one case; soft caps are computed by their plain attention alone."""
    family, kind, _, _ = case
    config = config_of(*case)
    if family.startswith("gemma"):
        config._attn_implementation = "eager"
    return lively(getattr(transformers, kind)(config), seed)


def tokens(B, T, vocab=31):
    """Any tokens but RoBERTa's padding."""
    return torch.randint(2, vocab, (B, T), generator=torch.Generator().manual_seed(T))
