"""The optimisers as values, and what they build: AdamW for everything, or Muon for the matrices inside.

Both run inside a CUDA graph: learning rates are numbers on the device, and nothing waits for the host.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.errors import check_rates, check_shares
from regard.train.muon import MuonMatrices

Named = dict[str, nn.Parameter]


@dataclass(frozen=True, kw_only=True)
class AdamW:
    """Adam with decoupled weight decay; vectors (biases, norms) never decay.

    >>> (part,) = AdamW(lr=1e-3, decay=0.1).build(nn.Linear(3, 2)).parts
    >>> [group["names"] for group in part.param_groups]
    [['weight'], ['bias']]
    """

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.99
    decay: float = 0.05
    eps: float = 1e-8

    def __post_init__(self) -> None:
        check_rates(lr=self.lr, decay=self.decay)

    def build(self, model: nn.Module) -> Optimizer:
        """The optimiser of these weights."""
        return Optimizer([_adam(self, trainable(model))])


@dataclass(frozen=True, kw_only=True)
class Muon:
    """Momentum made orthogonal for the matrices of the blocks (Jordan et al. 2024), AdamW for all else.

    `lr` is the learning rate of the matrices, whose step has the size of Adam's times 0.2·√max(side).

    >>> from regard.models import ViT, ViTConfig
    >>> model = ViT(ViTConfig(image=8, patch=4, classes=3, depth=2, width=16, heads=2))
    >>> optimizer = Muon(lr=2e-3).build(model)
    >>> list(optimizer.parts[0].alike)  # the shapes that are handled together
    [(48, 16), (16, 16), (64, 16), (16, 64)]
    """

    lr: float = 2e-3
    momentum: float = 0.95
    decay: float = 0.05
    adam: AdamW = AdamW()

    def __post_init__(self) -> None:
        check_rates(lr=self.lr, decay=self.decay)
        check_shares(momentum=self.momentum)

    def build(self, model: nn.Module) -> Optimizer:
        """The optimiser of these weights."""
        weights = trainable(model)
        hidden = {name: weight for name, weight in weights.items() if inside(name, weight)}
        if not hidden:
            raise ValueError(f"Muon needs matrices inside blocks, {type(model).__name__} has none; use AdamW")
        rest = {name: weight for name, weight in weights.items() if name not in hidden}
        matrices = MuonMatrices(hidden, lr=self.lr, momentum=self.momentum, decay=self.decay)
        return Optimizer([matrices, _adam(self.adam, rest)])


Choice = AdamW | Muon


def trainable(model: nn.Module) -> Named:
    """The parameters that learn, by name."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def inside(name: str, weight: Tensor) -> bool:
    """Whether this is a matrix between hidden states: no embedding, no position, no head."""
    outside = ("embed", "position", "pos_E", "tok_E", "types", "patches", "head", "class_token", "cls_token")
    return weight.ndim == 2 and min(weight.shape) > 1 and not any(part in outside for part in name.split("."))


class Optimizer:
    """One or two optimisers that step together, their learning rates all multiplied by one number."""

    def __init__(self, parts: Iterable[torch.optim.Optimizer]) -> None:
        self.parts = list(parts)

    @torch.no_grad()
    def step(self, multiplier: Tensor) -> None:
        """Change the weights by their gradients; `multiplier` is a number on their device."""
        for part in self.parts:
            for group in part.param_groups:
                group["lr"].copy_(group["base"] * multiplier)
            part.step()

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        """Everything the optimiser remembers, by the parameter's name: what a checkpoint keeps."""
        found = {}
        for part in self.parts:
            for group in part.param_groups:
                for name, weight in zip(group["names"], group["params"], strict=True):
                    for key, value in part.state.get(weight, {}).items():
                        found[f"{name}/{key}"] = value
        return found

    def empty_state(self) -> dict[str, Tensor]:
        """What Adam remembers before its first step: zeros, in the places where a checkpoint has numbers."""
        found = self.state()
        for part in self.parts:
            for group in part.param_groups:
                for name, weight in zip(group["names"], group["params"], strict=True):
                    if weight not in part.state:
                        found[f"{name}/step"] = torch.zeros((), device=weight.device)
                        found[f"{name}/exp_avg"] = torch.zeros_like(weight)
                        found[f"{name}/exp_avg_sq"] = torch.zeros_like(weight)
        return found

    @torch.no_grad()
    def load(self, state: dict[str, Tensor]) -> None:
        """Set what the optimiser remembers: in place where it does already, else by taking tensors over."""
        entries: dict[str, dict[str, Tensor]] = defaultdict(dict)
        for name, value in state.items():
            weight_name, _, key = name.rpartition("/")
            entries[weight_name][key] = value
        for part in self.parts:
            for group in part.param_groups:
                for name, weight in zip(group["names"], group["params"], strict=True):
                    for key, value in entries.get(name, {}).items():
                        held = part.state[weight].get(key)
                        if held is not None:
                            held.copy_(value)
                        else:
                            # Adam counts steps on the weight's device, where a CUDA graph can count on.
                            part.state[weight][key] = value.to(weight.device)


def _adam(value: AdamW, weights: Named) -> torch.optim.AdamW:
    decays = {name: weight for name, weight in weights.items() if weight.ndim > 1}
    rest = {name: weight for name, weight in weights.items() if weight.ndim <= 1}
    device = next(iter(weights.values())).device
    groups = [
        {
            "params": list(chosen.values()),
            "names": list(chosen),
            "weight_decay": decay,
            "lr": torch.tensor(value.lr, device=device),
            "base": value.lr,
        }
        for chosen, decay in ((decays, value.decay), (rest, 0.0))
        if chosen
    ]
    return torch.optim.AdamW(
        groups,
        betas=(value.beta1, value.beta2),
        eps=value.eps,
        fused=True,
        capturable=device.type == "cuda",
    )
