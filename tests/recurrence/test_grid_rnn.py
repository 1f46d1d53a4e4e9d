"""The grid recurrence: every way to compute it against the double loop, in value, gradient and memory."""

import subprocess
import sys

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard.recurrence import ACTIVATIONS, STARTS, choose, grid_rnn, identity

GRIDS = [(1, 1), (1, 5), (5, 1), (3, 4), (4, 3), (2, 7), (7, 2)]


def problem(
    B: int, rows: int, cols: int, c: int = 3, h: int = 5, dtype: torch.dtype = torch.float64
) -> tuple[list[Tensor], Tensor]:
    """x, W_in, W_left, W_top, b and a gradient of the output."""
    generator = torch.Generator().manual_seed(100 * rows + cols)
    shapes = [(B, rows, cols, c), (h, c), (h, h), (h, h), (h,), (B, rows, cols, h)]
    scales = [1.0, c**-0.5, 0.5 * h**-0.5, 0.5 * h**-0.5, 0.1, 1.0]
    drawn = [
        (scale * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype)
        for shape, scale in zip(shapes, scales, strict=True)
    ]
    return [t.requires_grad_() for t in drawn[:5]], drawn[5]


def value_and_gradients(inputs: list[Tensor], grad: Tensor, **options: object) -> list[Tensor]:
    x, W_in, W_left, W_top, b = inputs
    activation = ACTIVATIONS[str(options.pop("phi", "tanh"))]
    h = grid_rnn(x, W_in, W_left, W_top, activation, b=b, **options)  # type: ignore[arg-type]
    return [h, *torch.autograd.grad(h, inputs, grad.to(h.dtype), materialize_grads=True)]


@pytest.mark.parametrize(("rows", "cols"), GRIDS)
@pytest.mark.parametrize("phi", ACTIVATIONS)
def test_wavefront_is_the_double_loop(rows: int, cols: int, phi: str) -> None:
    inputs, grad = problem(2, rows, cols)
    expected = value_and_gradients(inputs, grad, impl="reference", phi=phi)
    got = value_and_gradients(inputs, grad, impl="wavefront", phi=phi)
    for a, b in zip(expected, got, strict=True):
        assert torch.allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("impl", ["reference", "wavefront"])
def test_each_corner_by_its_own_formula(start: str, impl: str) -> None:
    (x, W_in, W_left, W_top, _), _ = problem(2, 3, 4)
    h = grid_rnn(x, W_in, W_left, W_top, start=start, impl=impl)
    beside = -1 if "left" in start else 1
    above = -1 if "top" in start else 1
    for row in range(3):
        for col in range(4):
            total = x[:, row, col] @ W_in.T
            if 0 <= col + beside < 4:
                total = total + h[:, row, col + beside] @ W_left.T
            if 0 <= row + above < 3:
                total = total + h[:, row + above, col] @ W_top.T
            assert torch.allclose(h[:, row, col], torch.tanh(total), atol=1e-13)


@pytest.mark.parametrize("start", STARTS)
def test_each_corner_in_gradient(start: str) -> None:
    inputs, grad = problem(2, 4, 3)
    expected = value_and_gradients(inputs, grad, impl="reference", start=start)
    got = value_and_gradients(inputs, grad, impl="wavefront", start=start)
    for a, b in zip(expected, got, strict=True):
        assert torch.allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("B", "rows", "cols"), [(1, 3, 4), (1, 12, 9), (5, 6, 11)])
def test_rounding_error_is_at_most_twice_that_of_the_loop(
    dtype: torch.dtype, B: int, rows: int, cols: int
) -> None:
    low, grad = problem(B, rows, cols, h=48, dtype=dtype)
    truth = value_and_gradients([t.detach().double().requires_grad_() for t in low], grad, impl="reference")
    slow = value_and_gradients(low, grad, impl="reference")
    fast = value_and_gradients(low, grad, impl="wavefront")
    for name, t, s, f in zip(["h", "x", "W_in", "W_left", "W_top", "b"], truth, slow, fast, strict=True):
        assert (f - t).norm() <= 2 * (s - t).norm(), name


def test_gradcheck_without_bias_and_with_layouts_that_are_not_contiguous() -> None:
    (x, W_in, W_left, W_top, _), _ = problem(2, 3, 4, c=2, h=3)
    x = x.detach().permute(2, 3, 0, 1).contiguous().permute(2, 3, 0, 1).requires_grad_()
    W_left = W_left.detach().T.contiguous().T.requires_grad_()
    assert not x.is_contiguous()
    assert torch.autograd.gradcheck(lambda *t: grid_rnn(*t, impl="wavefront"), (x, W_in, W_left, W_top))


def test_only_the_gradients_asked_for() -> None:
    (x, W_in, W_left, W_top, _), _ = problem(1, 3, 2)
    h = grid_rnn(x.detach(), W_in.detach(), W_left, W_top.detach(), impl="wavefront")
    expected = grid_rnn(x.detach(), W_in.detach(), W_left, W_top.detach(), impl="reference")
    (got,) = torch.autograd.grad(h.sum(), W_left)  # the gradient that arrives is an expanded scalar
    assert torch.allclose(got, torch.autograd.grad(expected.sum(), W_left)[0])


class Products(TorchDispatchMode):
    """Counts products and their multiplications."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.multiplies = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        if func in (torch.ops.aten.mm.default, torch.ops.aten.mm.out, torch.ops.aten.addmm_.default):
            self.calls += 1
            self.multiplies += out.numel() * args[-1].shape[0]
        return out


@pytest.mark.parametrize(("rows", "cols"), [(4, 4), (3, 6), (6, 1)])
def test_steps_and_multiplications_are_those_of_the_definition(rows: int, cols: int) -> None:
    (x, W_in, W_left, W_top, _), _ = problem(1, rows, cols, c=3, h=5)
    with torch.no_grad(), Products() as counted:
        grid_rnn(x, W_in, W_left, W_top, impl="wavefront")
    assert counted.calls <= 1 + 2 * (rows + cols - 2)
    assert counted.multiplies == rows * cols * 15 + (2 * rows * cols - rows - cols) * 25


def test_memory_for_the_backward_is_at_most_twice_the_hidden_states() -> None:
    (x, W_in, W_left, W_top, _), grad = problem(3, 24, 20, c=2, h=32, dtype=torch.float32)
    hidden = grad.numel() * grad.element_size()
    weights = {t.data_ptr() for t in (x, W_in, W_left, W_top)}
    kept: dict[int, int] = {}

    def keep(t: Tensor) -> Tensor:
        if t.data_ptr() not in weights:
            kept[t.data_ptr()] = t.numel() * t.element_size()
        return t

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        h = grid_rnn(x, W_in, W_left, W_top, impl="wavefront")
    assert sum(kept.values()) == hidden  # the output itself
    with torch.profiler.profile(profile_memory=True) as profile:
        h.backward(grad)
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    peak = live = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    assert hidden <= peak <= 2 * hidden - hidden // 4


def test_autocast_gives_the_dtype_of_autocast() -> None:
    inputs, _ = problem(2, 3, 4, dtype=torch.float32)
    grad = torch.ones(2, 3, 4, 5)
    results = []
    for impl in ("reference", "wavefront"):
        with torch.autocast("cpu", torch.bfloat16):
            results.append(value_and_gradients(inputs, grad, impl=impl))
    for a, b in zip(*results, strict=True):
        assert a.dtype == b.dtype
        assert torch.allclose(a, b, atol=0.02, rtol=0.02)
    assert results[0][0].dtype == torch.bfloat16


def test_auto_names_what_it_runs() -> None:
    (x, W_in, W_left, W_top, _), _ = problem(1, 2, 3)
    assert choose(x, W_in).impl == "wavefront"
    assert "float64" in choose(x, W_in).why
    assert choose(x, W_in, torch.sin).impl == "reference"
    assert "h is 300" in choose(x.float(), torch.zeros(300, 3)).why
    other = grid_rnn(x, W_in, W_left, W_top, torch.sin)
    assert torch.equal(other, grid_rnn(x, W_in, W_left, W_top, torch.sin, impl="reference"))
    with pytest.raises(ValueError, match="impl='wavefront' needs activation tanh, relu, sigmoid or identity"):
        grid_rnn(x, W_in, W_left, W_top, torch.sin, impl="wavefront")
    with pytest.raises(ValueError, match="impl='triton' cannot run: the kernel knows float32"):
        grid_rnn(x, W_in, W_left, W_top, impl="triton")


def test_linear_grid_counts_paths() -> None:
    corner = torch.zeros(1, 3, 5, 1)
    corner[0, 0, 0] = 1.0
    one = torch.ones(1, 1)
    paths = grid_rnn(corner, one, one, one, identity)[0, :, :, 0]
    assert paths[2, 4] == 15  # 6 over 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(3, 4, 2)}, r"x must have shape \(B, rows, cols, c\), got x.shape=\(3, 4, 2\)"),
        ({"x": torch.zeros(1, 0, 4, 2)}, r"every side at least 1, got x.shape=\(1, 0, 4, 2\)"),
        ({"W_in": torch.zeros(5, 3)}, r"W_in must have shape \(h, c\) with c=2, got W_in.shape=\(5, 3\)"),
        (
            {"W_left": torch.zeros(5, 6)},
            r"W_left must have shape \(h, h\) with h=5, got W_left.shape=\(5, 6\)",
        ),
        ({"W_top": torch.zeros(6, 6)}, r"W_top must have shape \(h, h\) with h=5, got W_top.shape=\(6, 6\)"),
        (
            {"W_top": torch.zeros(5, 5).half()},
            r"W_top must have the dtype of x, got W_top.dtype=torch.float16",
        ),
        ({"b": torch.zeros(4)}, r"b must have shape \(h,\) with h=5, got b.shape=\(4,\)"),
        ({"start": "left"}, r"start must be one of top-left, .*, got start='left'"),
        ({"impl": "cuda"}, r"impl must be one of auto, reference, wavefront, triton, got impl='cuda'"),
        ({"activation": None}, r"activation must be a function such as torch.tanh, got activation=None"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, object], message: str) -> None:
    good = {"x": torch.zeros(1, 3, 4, 2), "W_in": torch.zeros(5, 2)}
    square = {"W_left": torch.zeros(5, 5), "W_top": torch.zeros(5, 5)}
    with pytest.raises(ValueError, match=message):
        grid_rnn(**{**good, **square, **change})  # type: ignore[arg-type]


IMPORTED = "import sys; {}; sys.exit('triton' in sys.modules)"


@pytest.mark.parametrize(
    ("code", "imported"), [("import regard.recurrence", 0), ("import regard.recurrence.triton_grid", 1)]
)
def test_triton_is_imported_only_when_chosen(code: str, imported: int) -> None:
    run = subprocess.run([sys.executable, "-c", IMPORTED.format(code)], check=False)
    assert run.returncode == imported
