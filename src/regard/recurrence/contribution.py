"""How much of the first input is left after T steps of a linear recurrence."""

import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from regard.errors import check_int
from regard.recurrence.checks import check_alike, check_axes


@dataclass(frozen=True)
class Contribution:
    """The part of x_1 in h_T, and in y_T where an output weight was given.

    `radius` is the spectral radius of W_h; `rate` that of W_h on the directions which W_x can reach, by which
    the part of x_1 grows per step in the long run. It decides the verdict: "vanishes", "explodes" or "stays".
    """

    steps: int
    norm: float
    ratio: float
    output_norm: float | None
    output_ratio: float | None
    radius: float
    rate: float
    verdict: str

    def as_dict(self) -> dict[str, object]:
        """The fields by name, as `--json` prints them."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"‖W_h^{self.steps - 1} W_x‖₂ = {self.norm:.6g}, {self.ratio:.6g} times ‖W_x‖₂",
            f"spectral radius of W_h {self.radius:.6g}, growth per step {self.rate:.6g}: x_1 {self.verdict}",
        ]
        if self.output_norm is not None:
            output = f"‖W_y W_h^{self.steps - 1} W_x‖₂ = {self.output_norm:.6g}"
            lines.insert(1, f"{output}, {self.output_ratio:.6g} times ‖W_y W_x‖₂")
        return "\n".join(lines)


def contribution(W_h: Tensor, W_x: Tensor, T: int, W_y: Tensor | None = None) -> Contribution:
    """Measure ‖W_h^{T−1} W_x‖₂, alone and through W_y, and say whether x_1 vanishes or explodes.

    >>> print(contribution(torch.tensor([[0.5]]), torch.tensor([[3.0]]), T=11))
    ‖W_h^10 W_x‖₂ = 0.00292969, 0.000976562 times ‖W_x‖₂
    spectral radius of W_h 0.5, growth per step 0.5: x_1 vanishes
    """
    check_axes({"W_h": (W_h, "h h"), "W_x": (W_x, "h c")}, W_y=(W_y, "y h"))
    check_alike(W_h=W_h, W_x=W_x, W_y=W_y)
    check_int("T", T, 1)
    W_h, W_x = W_h.detach().double(), W_x.detach().double()
    W_y = None if W_y is None else W_y.detach().double()

    part, exponent = _power_times(W_h, T - 1, W_x)
    norm = _scaled_norm(part, exponent)
    output_norm = output_ratio = None
    if W_y is not None:
        output_norm = _scaled_norm(W_y @ part, exponent)
        output_ratio = _ratio(output_norm, _scaled_norm(W_y @ W_x, 0))
    rate = _radius(_reachable(W_h, W_x))
    return Contribution(
        steps=T,
        norm=norm,
        ratio=_ratio(norm, _scaled_norm(W_x, 0)),
        output_norm=output_norm,
        output_ratio=output_ratio,
        radius=_radius(W_h),
        rate=rate,
        verdict=_verdict(W_h, W_x, rate),
    )


def _verdict(W_h: Tensor, W_x: Tensor, rate: float) -> str:
    if abs(rate - 1) > 1e-6:
        return "vanishes" if rate < 1 else "explodes"
    # On the unit circle a defective W_h, such as [[1, 1], [0, 1]], still grows, like a power of T.
    (early, e), (late, f) = _power_times(W_h, 2**10, W_x), _power_times(W_h, 2**11, W_x)
    grown = _scaled_norm(late, f - e) / _scaled_norm(early, 0)
    return "explodes" if grown > 1.5 else "stays"


def _power_times(W: Tensor, power: int, rows: Tensor) -> tuple[Tensor, int]:
    """W^power · rows as a matrix of size about 1 and a power of two, by repeated squaring."""
    result, exponent = _normalise(rows, 0)
    square, e = _normalise(W, 0)
    while power:
        if power % 2:
            result, exponent = _normalise(square @ result, exponent + e)
        square, e = _normalise(square @ square, 2 * e)
        power //= 2
    return result, exponent


def _normalise(matrix: Tensor, exponent: int) -> tuple[Tensor, int]:
    size = math.frexp(matrix.abs().max().item())[1]
    return matrix * 2.0**-size, exponent + size


def _scaled_norm(matrix: Tensor, exponent: int) -> float:
    norm = torch.linalg.matrix_norm(matrix, 2).item()
    try:
        return math.ldexp(norm, exponent)
    except OverflowError:
        return math.inf


def _ratio(part: float, whole: float) -> float:
    return 0.0 if part == 0 else part / whole if whole > 0 else math.inf


def _radius(matrix: Tensor) -> float:
    return torch.linalg.eigvals(matrix).abs().max().item() if matrix.numel() else 0.0


def _reachable(W_h: Tensor, W_x: Tensor) -> Tensor:
    """W_h restricted to the span of W_x, W_h W_x, W_h² W_x, …: what x_1 can ever touch."""
    basis = W_h.new_zeros(len(W_h), 0)
    fresh = W_x
    while basis.shape[1] < len(W_h):
        for _ in range(2):  # once leaves rounding errors behind
            fresh = fresh - basis @ (basis.T @ fresh)
        directions, sizes, _ = torch.linalg.svd(fresh, full_matrices=False)
        new = directions[:, sizes > 1e-10 * max(1.0, torch.linalg.matrix_norm(W_h, 2).item())]
        if new.shape[1] == 0:
            break
        basis = torch.cat([basis, new], 1)
        fresh = W_h @ new
    return basis.T @ W_h @ basis
