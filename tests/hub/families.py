"""Tiny models of transformers with random weights, one or more of each family, and what they are asked."""

import copy

import torch
import transformers

from tests.models.huggingface.zoo import ENDS, GROUPED, IMAGE, MIXED, SIZES, lively

LONG = {**SIZES, **ENDS, "max_position_embeddings": 96}
GPT2 = {"vocab_size": 31, "n_positions": 96, "n_embd": 24, "n_layer": 3, "n_head": 4, **ENDS}
MODERN = {**LONG, "hidden_size": 24, "local_attention": 8, "global_attn_every_n_layers": 2,
          "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2}  # fmt: skip
BERT = {**SIZES, "hidden_size": 20, "max_position_embeddings": 60, "pad_token_id": 0}
OSS = {**LONG, "head_dim": 6, "sliding_window": 5, "layer_types": MIXED, "num_local_experts": 2,
       "num_experts_per_tok": 1, "intermediate_size": 24, **GROUPED}  # fmt: skip

# name: (class, config class, config)
DECODERS = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**LONG, **GROUPED}),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**LONG, "sliding_window": 5, **GROUPED}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", {**LONG, "use_sliding_window": True, "sliding_window": 4,
                                                  "max_window_layers": 1, **GROUPED}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**LONG, "head_dim": 6, **GROUPED}),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**LONG, "head_dim": 8, "sliding_window": 5,
                                                     "attn_logit_softcapping": 0.5, **GROUPED}),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", {**LONG, "head_dim": 8, "sliding_window": 4,
                                                         "layer_types": MIXED, **GROUPED}),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {**LONG, "sliding_window": 6, **GROUPED}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", {**LONG, "hidden_size": 32}),
    "opt": ("OPTForCausalLM", "OPTConfig", {**LONG, "ffn_dim": 20, "word_embed_proj_dim": 24}),
    "gpt_oss": ("GptOssForCausalLM", "GptOssConfig", OSS),
}  # fmt: skip
ENCODERS = {
    "bert": ("BertForMaskedLM", "BertConfig", BERT),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {**BERT, "pad_token_id": 1}),
    "modernbert": ("ModernBertForMaskedLM", "ModernBertConfig", MODERN),
}
IMAGES = {
    "vit": ("ViTForImageClassification", "ViTConfig", {**IMAGE, "intermediate_size": 22}),
    "dinov2": ("Dinov2ForImageClassification", "Dinov2Config", IMAGE),
}
FAMILIES = DECODERS | ENCODERS | IMAGES
EAGER = ("gemma2", "gpt_oss")  # soft caps and sinks are dropped by sdpa, or it is refused


def made(name, seed=0, **changes):
    """The model of a family, attending as its definition does."""
    kind, config, base = FAMILIES[name]
    sizes = getattr(transformers, config)(**{**base, **changes})
    sizes._attn_implementation = "eager" if name in EAGER else "sdpa"
    return lively(getattr(transformers, kind)(sizes), seed)


def ours(model):
    """The same model, attending by Regard."""
    out = copy.deepcopy(model)
    out.set_attn_implementation("regard")
    return out


def pair(name, seed=0, **changes):
    """The model by its definition, and ours."""
    model = made(name, seed, **changes)
    return model, ours(model)


def tokens(B, T, vocab=31, seed=0):
    """Any tokens but those that stand for padding."""
    return torch.randint(3, vocab, (B, T), generator=torch.Generator().manual_seed(T + seed))


def inputs(name, B=3, T=11):
    """What a model of this family takes."""
    if name in IMAGES:
        g = torch.Generator().manual_seed(B)
        return {"pixel_values": torch.randn(B, 3, 12, 12, generator=g)}
    return {"input_ids": tokens(B, T)}


def padded(lengths, T, side):
    """The attention mask of rows of these lengths."""
    at = torch.arange(T)
    n = torch.tensor(lengths)[:, None]
    return ((at < n) if side == "right" else (at >= T - n)).long()


@torch.no_grad()
def logits(model, **given):
    """What the model says."""
    return model(**given).logits


def close(found, want, most=1e-5):
    """Whether two sets of logits are the same to 1e-5 of their spread."""
    return float((found - want).abs().max()) <= most * max(1.0, float(want.abs().max()))
