"""The recurrence along a sequence: its definition, torch's fused kernels, and the readout."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor

from regard.recurrence.activation import Activation, activation_name, check_activation, identity
from regard.recurrence.checks import Sides, autocast_dtype, check_alike, check_axes

SEQUENCE_IMPLS = ("auto", "reference", "fused")
_KERNELS = {"tanh": torch.rnn_tanh, "relu": torch.rnn_relu}
SWITCHES = threading.Lock()  # of torch and of warnings: those of the whole process, so threads take turns


def rnn(
    x: Tensor,
    W_x: Tensor,
    W_h: Tensor,
    b: Tensor | None = None,
    h0: Tensor | None = None,
    activation: Activation = torch.tanh,
    *,
    impl: str = "auto",
) -> Tensor:
    """h_t = φ(W_h h_{t−1} + W_x x_t + b) for every t, from h0 (B, h) or from zero.

    x (B, T, c), W_x (h, c) and W_h (h, h) give (B, T, h). Torch's fused kernels serve tanh and relu
    (impl="fused"), the plain loop any elementwise function (impl="reference").

    >>> x = torch.tensor([[[1.0], [2.0], [4.0]]])
    >>> rnn(x, torch.ones(1, 1), torch.full((1, 1), 0.5), activation=identity).flatten()
    tensor([1.0000, 2.5000, 5.2500])
    """
    needed = {"x": (x, "B T c"), "W_x": (W_x, "h c"), "W_h": (W_h, "h h")}
    check_axes(needed, b=(b, "h"), h0=(h0, "B h"))
    check_activation("activation", activation)
    dtype = autocast_dtype(x)
    if dtype is not None:
        x, W_x, W_h = x.to(dtype), W_x.to(dtype), W_h.to(dtype)
        b = None if b is None else b.to(dtype)
        h0 = None if h0 is None else h0.to(dtype)
    check_alike(x=x, W_x=W_x, W_h=W_h, b=b, h0=h0)
    name = activation_name(activation)
    if impl not in SEQUENCE_IMPLS:
        raise ValueError(f"impl must be one of {', '.join(SEQUENCE_IMPLS)}, got impl={impl!r}")
    if impl == "auto":
        impl = "fused" if name in _KERNELS else "reference"
    with torch.autocast(x.device.type, enabled=False):
        if impl == "reference":
            return rnn_reference(x, W_x, W_h, b, h0, activation)
        if name not in _KERNELS:
            raise ValueError(f"impl='fused' needs activation tanh or relu, got activation={activation!r}")
        return _fused(x, W_x, W_h, b, h0, name)


def rnn_reference(
    x: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor | None, h0: Tensor | None, activation: Activation
) -> Tensor:
    """The definition: one step after the other."""
    h, states = h0, []
    for x_t in x.unbind(1):
        total = x_t @ W_x.T
        if b is not None:
            total = total + b
        if h is not None:
            total = total + h @ W_h.T
        h = activation(total)
        states.append(h)
    return torch.stack(states, 1)


def _fused(x: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor | None, h0: Tensor | None, name: str) -> Tensor:
    state = x.new_zeros(1, len(x), len(W_h)) if h0 is None else h0[None]
    weights = [W_x, W_h] if b is None else [W_x, W_h, b, torch.zeros_like(b)]
    with _exact_cudnn(x.dtype) if x.is_cuda else nullcontext():
        training = torch.is_grad_enabled()
        states, _ = _KERNELS[name](x, state, weights, b is not None, 1, 0.0, training, False, True)
    return states


@contextmanager
def _exact_cudnn(dtype: torch.dtype) -> Iterator[None]:
    """Keep cuDNN off where it would round float32 to tf32: torch's own kernels are as exact as the loop."""
    rounds = dtype == torch.float32 and torch.backends.cudnn.allow_tf32
    with (
        SWITCHES,
        warnings.catch_warnings(),
        torch.backends.cudnn.flags(
            enabled=torch.backends.cudnn.enabled and not rounds,
            allow_tf32=torch.backends.cudnn.allow_tf32,
        ),
    ):
        # cuDNN would like the weights in one block of memory, and else makes that copy itself.
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
        yield


def readout(h: Tensor, W_y: Tensor, b_y: Tensor | None = None, activation: Activation = identity) -> Tensor:
    """y_t = φ_y(W_y h_t + b_y): h (B, T, h) and W_y (y, h) give (B, T, y), and so does any leading shape.

    >>> h = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    >>> readout(h, torch.tensor([[1.0, -1.0]]), torch.tensor([0.5]))
    tensor([[[-0.5000],
             [-0.5000]]])
    """
    if not isinstance(h, Tensor) or h.dim() == 0 or 0 in h.shape:
        shape = tuple(h.shape) if isinstance(h, Tensor) else type(h).__name__
        raise ValueError(f"h must have shape (..., h) with every side at least 1, got h.shape={shape}")
    sides = Sides()
    sides.sizes["h"] = h.shape[-1]
    sides.check("W_y", W_y, "y h")
    if b_y is not None:
        sides.check("b_y", b_y, "y")
    check_activation("activation", activation)
    if autocast_dtype(h) is None:
        check_alike(h=h, W_y=W_y, b_y=b_y)
    return activation(torch.nn.functional.linear(h, W_y, b_y))
