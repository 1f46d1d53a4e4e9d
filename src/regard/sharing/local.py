"""Sliding windows without sharing: every place has weights of its own."""

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.sharing.sizes import output_size, pair


class _LocallyConnected(nn.Module):
    """Windows over (B, in, rows, cols), one kernel and one bias for each place."""

    def __init__(
        self,
        channels: tuple[int, int],
        size: tuple[int, int],
        kernel: tuple[int, int],
        stride: tuple[int, int],
        padding: tuple[int, int],
        bias: bool,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = channels
        check_int("in_channels", self.in_channels, 1)
        check_int("out_channels", self.out_channels, 1)
        self.size, self.kernel, self.stride, self.padding = size, kernel, stride, padding
        rows, cols = (output_size(*axis) for axis in zip(size, kernel, stride, padding, strict=True))
        self.output = (rows, cols)
        taps = self.in_channels * kernel[0] * kernel[1]
        bound = taps**-0.5  # the range torch gives a convolution of this kernel
        self.weight = nn.Parameter(torch.empty(rows * cols, taps, self.out_channels).uniform_(-bound, bound))
        places = torch.empty(rows * cols, 1, self.out_channels).uniform_(-bound, bound)
        self.bias = nn.Parameter(places) if bias else None

    @torch.no_grad()
    def tie(self, kernel: Tensor, bias: Tensor | None = None) -> None:
        """Copy one kernel, shaped as that of a convolution, and bias (out,) to every place."""
        wanted = self._kernel_shape()
        if tuple(kernel.shape) != wanted:
            raise ValueError(f"kernel must have shape {wanted}, got kernel.shape={tuple(kernel.shape)}")
        if (bias is None) != (self.bias is None):
            raise ValueError(f"bias must be given exactly if the layer has one, got bias={bias}")
        self.weight.copy_(kernel.flatten(1).T)
        if bias is not None and self.bias is not None:
            self.bias.copy_(bias)

    def _kernel_shape(self) -> tuple[int, ...]:
        return self.out_channels, self.in_channels, *self.kernel

    def _connect(self, x: Tensor) -> Tensor:
        """(B, in, rows, cols) → (B, out, rows', cols') in one batched product over the places."""
        (top, side), (kh, kw), (sh, sw) = self.padding, self.kernel, self.stride
        x = nn.functional.pad(x, (side, side, top, top))
        windows = x.unfold(2, kh, sh).unfold(3, kw, sw)  # B in rows' cols' kh kw
        windows = windows.permute(2, 3, 0, 1, 4, 5).reshape(len(self.weight), len(x), -1)  # places B taps
        if self.bias is None:
            out = torch.bmm(windows, self.weight)
        else:
            out = torch.baddbmm(self.bias, windows, self.weight)
        return out.permute(1, 2, 0).unflatten(2, self.output)


class LocallyConnected2d(_LocallyConnected):
    """The windows of a convolution over (B, in, rows, cols), each place with its own kernel and bias.

    `weight` has shape (places, in·kh·kw, out) and `bias` (places, 1, out), places in row-major order.

    >>> layer = LocallyConnected2d(1, 2, size=(4, 5), kernel=2)
    >>> layer(torch.zeros(3, 1, 4, 5)).shape, layer.weight.numel()
    (torch.Size([3, 2, 3, 4]), 96)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        size: int | tuple[int, int],
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        bias: bool = True,
    ) -> None:
        sizes, kernels = pair("size", size, 1), pair("kernel", kernel, 1)
        strides, paddings = pair("stride", stride, 1), pair("padding", padding, 0)
        super().__init__((in_channels, out_channels), sizes, kernels, strides, paddings, bias)

    @classmethod
    def from_conv(cls, conv: nn.Conv2d, size: int | tuple[int, int]) -> "LocallyConnected2d":
        """The layer that computes what `conv` does on images of this size: its kernel at every place."""
        kernel, stride, padding = _geometry(conv, nn.Conv2d)
        bias = conv.bias is not None
        layer = cls(conv.in_channels, conv.out_channels, size, kernel, stride, padding, bias)  # type: ignore[arg-type]
        layer.to(conv.weight).tie(conv.weight, conv.bias)
        return layer

    def forward(self, x: Tensor) -> Tensor:
        """(B, in, rows, cols) → (B, out, rows', cols')."""
        if x.dim() != 4 or tuple(x.shape[1:]) != (self.in_channels, *self.size):
            rule = f"x must have shape (B, {self.in_channels}, {self.size[0]}, {self.size[1]})"
            raise ValueError(f"{rule}, got x.shape={tuple(x.shape)}")
        return self._connect(x)


class LocallyConnected1d(_LocallyConnected):
    """The windows of a convolution over (B, in, size), each place with its own kernel and bias.

    >>> layer = LocallyConnected1d(1, 1, size=9, kernel=3, bias=False)
    >>> layer(torch.zeros(2, 1, 9)).shape, layer.weight.numel()
    (torch.Size([2, 1, 7]), 21)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        size: int,
        kernel: int,
        stride: int = 1,
        padding: int = 0,
        bias: bool = True,
    ) -> None:
        for name, value in (("size", size), ("kernel", kernel), ("stride", stride)):
            check_int(name, value, 1)
        check_int("padding", padding, 0)
        channels = in_channels, out_channels
        super().__init__(channels, (1, size), (1, kernel), (1, stride), (0, padding), bias)

    @classmethod
    def from_conv(cls, conv: nn.Conv1d, size: int) -> "LocallyConnected1d":
        """The layer that computes what `conv` does on sequences of this length: its kernel at every place."""
        (kernel,), (stride,), (padding,) = _geometry(conv, nn.Conv1d)
        layer = cls(conv.in_channels, conv.out_channels, size, kernel, stride, padding, conv.bias is not None)
        layer.to(conv.weight).tie(conv.weight, conv.bias)
        return layer

    def _kernel_shape(self) -> tuple[int, ...]:
        return self.out_channels, self.in_channels, self.kernel[1]

    def forward(self, x: Tensor) -> Tensor:
        """(B, in, size) → (B, out, size')."""
        if x.dim() != 3 or tuple(x.shape[1:]) != (self.in_channels, self.size[1]):
            rule = f"x must have shape (B, {self.in_channels}, {self.size[1]})"
            raise ValueError(f"{rule}, got x.shape={tuple(x.shape)}")
        return self._connect(x[:, :, None])[:, :, 0]


def _geometry(conv: nn.Conv1d | nn.Conv2d, kind: type) -> tuple[tuple[int, ...], ...]:
    """Kernel, stride and padding of a convolution that a locally connected layer can stand for."""
    if not isinstance(conv, kind):
        raise ValueError(f"conv must be a {kind.__name__}, got {type(conv).__name__}")
    plain = (("groups", (1,)), ("dilation", ((1,), (1, 1))), ("padding_mode", ("zeros",)))
    for name, values in plain:
        value = getattr(conv, name)
        if value not in values:
            raise ValueError(f"conv must have {name} {values[-1]!r}, got conv.{name}={value!r}")
    if isinstance(conv.padding, str):
        raise ValueError(f"conv must have its padding in numbers, got conv.padding={conv.padding!r}")
    return conv.kernel_size, conv.stride, conv.padding
