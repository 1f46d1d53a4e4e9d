"""The shapes that generating is timed with, each as ours and as transformers': GPT-2's and Llama's."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import torch
from torch import nn

from regard.layers import Gelu, PreNorm, Projections, RMSNorm, Rotary, SwiGLU
from regard.models import GPT, GPTConfig, Untied

UNENDING = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


@dataclass(frozen=True)
class GPT2Size:
    """A GPT-2 of this size."""

    name: str
    depth: int
    width: int
    heads: int
    vocab: int
    context: int = 1024

    def __str__(self) -> str:
        return f"{self.name} {self.depth}×{self.width}"

    def config(self) -> GPTConfig:
        """Ours of this size."""
        return GPTConfig(
            vocab=self.vocab,
            context=self.context,
            depth=self.depth,
            width=self.width,
            heads=self.heads,
            block=PreNorm(feedforward=Gelu(tanh=True)),
        )

    def unweighted(self) -> nn.Module:
        """Transformers' of this size, as it is born."""
        transformers = import_module("transformers")
        config = transformers.GPT2Config(
            vocab_size=self.vocab,
            n_positions=self.context,
            n_layer=self.depth,
            n_embd=self.width,
            n_head=self.heads,
            **UNENDING,
        )
        model: nn.Module = transformers.GPT2LMHeadModel(config)
        return model


@dataclass(frozen=True)
class LlamaSize:
    """A Llama 3 of this size: RMSNorm, SwiGLU, grouped heads, rotary positions, no biases."""

    name: str
    depth: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocab: int
    context: int = 8192
    base: float = 500_000.0

    def __str__(self) -> str:
        return f"{self.name} {self.depth}×{self.width}"

    def config(self) -> GPTConfig:
        """Ours of this size."""
        return GPTConfig(
            vocab=self.vocab,
            context=self.context,
            depth=self.depth,
            width=self.width,
            heads=self.heads,
            kv_heads=self.kv_heads,
            position=Rotary(self.base),
            block=PreNorm(
                norm=RMSNorm(eps=1e-5),
                feedforward=SwiGLU(hidden=self.hidden),
                projections=Projections(qkv_bias=False, out_bias=False),
            ),
            head=Untied(bias=False),
        )

    def unweighted(self) -> nn.Module:
        """Transformers' of this size, as it is born."""
        transformers = import_module("transformers")
        config = transformers.LlamaConfig(
            vocab_size=self.vocab,
            max_position_embeddings=self.context,
            num_hidden_layers=self.depth,
            hidden_size=self.width,
            intermediate_size=self.hidden,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            rms_norm_eps=1e-5,
            rope_parameters={"rope_type": "default", "rope_theta": self.base},
            tie_word_embeddings=False,
            **UNENDING,
        )
        model: nn.Module = transformers.LlamaForCausalLM(config)
        return model


Size = GPT2Size | LlamaSize
SMALL = GPT2Size("GPT-2 shape", 6, 256, 4, 12_000)
LARGE = (GPT2Size("GPT-2 124M", 12, 768, 12, 50_257), GPT2Size("GPT-2 XL", 48, 1600, 25, 50_257))
LLAMA = LlamaSize("Llama 3 8B shape", 32, 4096, 32, 8, 14_336, 128_256)
TINY = GPT2Size("tiny", 2, 32, 2, 100, 64)
TINY_LLAMA = LlamaSize("tiny Llama", 2, 32, 4, 2, 48, 100, 64)


def ours(size: Size, device: str, dtype: torch.dtype) -> GPT:
    """Ours with weights drawn where it will run."""
    generator = torch.Generator(device).manual_seed(0)
    with torch.device(device):
        return GPT(size.config(), generator=generator).to(dtype).eval()


def peer(size: Size, device: str = "cpu", dtype: torch.dtype = torch.float32) -> nn.Module:
    """Transformers', with weights so drawn that tokens differ: many are born zero or one."""
    transformers = import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with torch.device(device):
        model = size.unweighted().eval().to(dtype)
    generator = torch.Generator(device).manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            spread = 0.3 if weight.ndim == 1 else 2 * weight.shape[0] ** -0.5
            weight.normal_(0.5 if weight.ndim == 1 else 0.0, spread, generator=generator)
    return model


def absent() -> str | None:
    """Why transformers cannot be compared with, or None."""
    try:
        import_module("transformers.models.gpt2.modeling_gpt2")
        import_module("transformers.models.llama.modeling_llama")
    except ImportError as error:
        return f"cannot be imported: {str(error).splitlines()[0]}"
    return None
