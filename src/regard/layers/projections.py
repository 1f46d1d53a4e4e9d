"""How attention makes queries, keys and values of tokens, as a value that a config can hold."""

from dataclasses import dataclass

from regard.layers.norms import Norm


@dataclass(frozen=True)
class Projections:
    """Which projections have biases, and a norm of each query and key by itself before positions turn them.

    GPT-2 has all biases, Llama none, Qwen2 those of queries, keys and values alone; Qwen3 has the norm.

    >>> Projections(qkv_bias=False, out_bias=False)
    Projections(qkv_bias=False, out_bias=False, head_norm=None)
    """

    qkv_bias: bool = True
    out_bias: bool = True
    head_norm: Norm | None = None
