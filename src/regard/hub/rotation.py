"""Positions counted in the cache, as StreamingLLM counts them: the first keys move along with the window.

A bounded cache holds F first keys and a window of R. Counted in the cache, a query stands at most at
F + R − 1, so that the first keys are never further away than in a text of F + R tokens. The distances in the
window stay what they are; those to the first keys shrink by how far the window has moved on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

Rotate = Callable[[Tensor, Tensor], Tensor]  # x (B,H,N,D) turned on by (N,) positions
LASTING = ("default", "linear", "llama3", "yarn")  # kinds of rotation that do not change with the length


@dataclass(frozen=True, eq=False)
class Shift:
    """How the first keys move along: `first` of them, in a cache of `size` keys."""

    first: int
    size: int
    rotate: Rotate

    def by(self, q: Tensor) -> Tensor:
        """How far the queries at positions q stand beyond the cache's last place."""
        return (q - (self.size - 1)).clamp(min=0)


def rotation_of(model: nn.Module, layer: int) -> Rotate:
    """The model's own rotation of a layer; ValueError where it has none that can be added up."""
    name = type(model).__name__
    config = model.config.get_text_config()  # type: ignore[union-attr, operator]
    rotary = next((x for path, x in model.named_modules() if path.endswith("rotary_emb")), None)
    own = next((x for x in model.modules() if x is not model and getattr(x, "config", None) is config), model)
    apply = getattr(sys.modules[type(own).__module__], "apply_rotary_pos_emb", None)
    if rotary is None or apply is None:
        raise ValueError(f'positions="cache" needs rotary positions, which {name} does not have')
    kinds = getattr(config, "layer_types", None)
    parameters = getattr(config, "rope_parameters", None) or {}
    parts = [one for one in parameters.values() if isinstance(one, dict)] or [parameters]
    strange = {part.get("rope_type", "default") for part in parts} - set(LASTING)
    if strange:
        raise ValueError(
            f'positions="cache" needs a rotation that does not change with the length, '
            f"{name} has {', '.join(sorted(strange))}"
        )
    if any(not used for used in getattr(config, "no_rope_layers", None) or []):
        raise ValueError(f'positions="cache" needs rotary positions in every layer, {name} leaves some out')
    kind = (kinds[layer],) if kinds and len(parts) > 1 else ()

    def rotate(x: Tensor, by: Tensor) -> Tensor:
        cos, sin = rotary(x, by[None], *kind)
        turned = apply(x.float(), x.float(), cos.float() / cos_scale, sin.float() / cos_scale)[0]
        return turned.to(x.dtype)

    cos_scale = float(getattr(rotary, "attention_scaling", 1.0))
    check_adds_up(
        rotate, getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads, name
    )
    return rotate


def check_adds_up(rotate: Rotate, width: int, name: str) -> None:
    """Raise unless turning on by 3 and back by 8 is turning back by 5, and keeps lengths."""
    device = getattr(rotate, "device", None)
    x = torch.randn(1, 1, 2, width, generator=torch.Generator().manual_seed(0), device=device)
    three, eight, five = (torch.full((2,), float(n)) for n in (3, -8, -5))
    try:
        twice, once = rotate(rotate(x, three), eight), rotate(x, five)
    except (RuntimeError, TypeError, IndexError) as error:
        raise ValueError(
            f'positions="cache": the rotation of {name} cannot be applied here: {error}'
        ) from error
    if not torch.allclose(twice, once, atol=1e-4) or not torch.allclose(x.norm(), once.norm(), rtol=1e-4):
        raise ValueError(f'positions="cache": the rotation of {name} does not add up')
