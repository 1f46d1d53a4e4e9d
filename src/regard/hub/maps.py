"""Every layer's and head's attention weights of one run, from that run's own queries and keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from regard.hub.attention import Recording, recording
from regard.hub.models import NAME, attention_modules, check_model
from regard.layers.tracing import Trace


def maps(model: PreTrainedModel, inputs: Mapping[str, Tensor] | Tensor) -> Trace:
    """The weights (B,H,N,M) of every attention module as `NAME.weights`, in the order in which they ran.

    `inputs` are what the model takes: a tensor, or tensors by name as a tokenizer gives them. Nothing in the
    model is changed; a weight is 0 where pattern, padding or documents hide the key.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> config = LlamaConfig(
    ...     vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=2
    ... )
    >>> model = LlamaForCausalLM._from_config(config, attn_implementation="regard")
    >>> seen = maps(model, torch.tensor([[1, 2, 3]]))
    >>> seen["model.layers.0.self_attn.weights"].shape
    torch.Size([1, 2, 3, 3])
    """
    check_model(model)
    if model.config._attn_implementation != NAME:
        raise ValueError(
            f'maps needs attn_implementation="{NAME}", the model has '
            f'"{model.config._attn_implementation}": model.set_attn_implementation("{NAME}")'
        )
    trace = Trace()
    with torch.no_grad(), recorded(model, trace):
        model(**inputs) if isinstance(inputs, Mapping) else model(inputs)
    return trace


@contextmanager
def recorded(model: nn.Module, trace: Trace) -> Iterator[None]:
    """While it lasts, what attention modules of the model weigh goes into the trace; here, in this thread."""
    names = {id(module): name for name, module in attention_modules(model).items()}
    token = recording.set(Recording(trace, names))
    try:
        yield
    finally:
        recording.reset(token)
