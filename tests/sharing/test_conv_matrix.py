"""K · x against torch's convolutions, dense, sparse and symbolic, and how the matrix is shown."""

import warnings
import xml.etree.ElementTree as ET
from itertools import product

import pytest
import sympy
import torch
from torch.nn.functional import conv1d, conv2d

from regard.sharing import conv_matrix, draw_matrix, latex_matrix, output_size, sliding_svg, svg_matrix


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


@pytest.mark.parametrize(("n", "k"), [(9, 3), (4, 4), (5, 1), (3, 5)])
@pytest.mark.parametrize(("stride", "padding"), list(product([1, 2, 3], [0, 1, 4])))
@pytest.mark.parametrize("sparse", [False, True])
def test_1d_is_conv1d(n: int, k: int, stride: int, padding: int, sparse: bool) -> None:
    if k > n + 2 * padding:
        with pytest.raises(ValueError, match=rf"kernel must be at most n \+ 2·padding = {n}, got kernel={k}"):
            conv_matrix(drawn(k), n, stride, padding)
        return
    x = drawn(2, n)
    K = conv_matrix(drawn(k), n, stride, padding, sparse)
    assert K.shape == (output_size(n, k, stride, padding), n)
    expected = conv1d(x[:, None], drawn(k)[None, None], stride=stride, padding=padding)[:, 0]
    assert torch.allclose((K @ x.T).T, expected, atol=1e-13)
    channels = drawn(3, 2, k)
    K = conv_matrix(channels, n, stride, padding, sparse)
    expected = conv1d(x[None], channels, stride=stride, padding=padding)
    assert torch.allclose((K @ x.reshape(-1, 1)).view_as(expected), expected, atol=1e-13)


@pytest.mark.parametrize(("kh", "kw"), [(1, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize("stride", [1, 2, (1, 3), (3, 2)])
@pytest.mark.parametrize("padding", [0, 1, (0, 2), (2, 1)])
@pytest.mark.parametrize("sparse", [False, True])
def test_2d_is_conv2d(kh: int, kw: int, stride: object, padding: object, sparse: bool) -> None:
    rows, cols, ins, outs = 4, 5, 2, 3
    x = drawn(ins, rows, cols)
    for kernel, image in ((drawn(kh, kw), x[:1]), (drawn(outs, ins, kh, kw), x)):
        full = kernel if kernel.dim() == 4 else kernel[None, None]
        expected = conv2d(image[None], full, stride=stride, padding=padding)[0]  # type: ignore[arg-type]
        K = conv_matrix(kernel, (rows, cols), stride, padding, sparse)  # type: ignore[arg-type]
        assert K.shape == (expected.numel(), image.numel())
        assert torch.allclose((K @ image.reshape(-1, 1)).view_as(expected), expected, atol=1e-13)


def test_sparse_is_csr_with_only_the_entries_of_the_kernel() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = conv_matrix(torch.ones(2, 2), (4, 5), sparse=True)
    assert K.layout == torch.sparse_csr
    assert K.values().numel() == 4 * 12
    assert torch.equal(K.to_dense(), conv_matrix(torch.ones(2, 2), (4, 5)))
    columns = K.col_indices().view(12, 4)
    assert (columns.diff(dim=1) > 0).all()  # sorted within each row, as CSR kernels expect


def test_rows_are_shifted_copies() -> None:
    K = conv_matrix(drawn(3), 9)
    for row in range(1, 7):
        assert torch.equal(K[row, 1:], K[row - 1, :-1])


def test_gradient_flows_to_the_kernel() -> None:
    kernel, x = drawn(2, 2, 2, 2).requires_grad_(), drawn(2, 3, 4)
    expected = torch.autograd.grad(conv2d(x[None], kernel, padding=1).square().sum(), kernel)[0]
    K = conv_matrix(kernel, (3, 4), padding=1)
    assert torch.allclose(torch.autograd.grad((K @ x.flatten()).square().sum(), kernel)[0], expected)


def test_lists_of_numbers_and_of_names() -> None:
    assert conv_matrix([1, 2], 3).tolist() == [[1, 2, 0], [0, 1, 2]]
    K = conv_matrix(["k1", "k2", "k3"], 9)
    k1, k2, k3 = sympy.symbols("k1 k2 k3")
    assert K.shape == (7, 9)
    assert list(K.row(0)) == [k1, k2, k3, 0, 0, 0, 0, 0, 0]
    assert list(K.row(6)) == [0, 0, 0, 0, 0, 0, k1, k2, k3]
    x = sympy.Matrix(sympy.symbols("x1:10"))
    assert (K * x)[3] == k1 * x[3] + k2 * x[4] + k3 * x[5]


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), ((1, 2), (0, 1))])
def test_names_stand_where_numbers_would(stride: object, padding: object) -> None:
    names = [["a", "b", "c"], ["d", "e", "f"]]
    symbolic = conv_matrix(names, (4, 5), stride, padding)  # type: ignore[arg-type]
    values = dict(zip(sympy.symbols("a b c d e f"), range(1, 7), strict=True))
    numbers = conv_matrix([[1, 2, 3], [4, 5, 6]], (4, 5), stride, padding)  # type: ignore[arg-type]
    assert symbolic.subs(values).tolist() == numbers.tolist()
    # expressions mix with names, and names are never evaluated
    assert conv_matrix(["__import__('os')", 2], 2)[0, 1] == 2


def test_shown_as_text_latex_and_svg() -> None:
    K = conv_matrix(["k1", "k2"], 4, stride=2)
    assert draw_matrix(K) == "k1 k2  ·  ·\n ·  · k1 k2"
    assert latex_matrix(K).splitlines()[1] == r"k_{1} & k_{2} & 0 & 0 \\"
    assert latex_matrix(K).splitlines()[0] == r"\left(\begin{array}{cccc}"
    root = ET.fromstring(svg_matrix(K))
    rects = [e for e in root.iter() if e.get("class") == "cell"]
    assert len(rects) == 8
    assert len({r.get("fill") for r in rects}) == 3  # k1, k2 and nothing
    numbers = conv_matrix(torch.tensor([0.5, -1.0]), 3, sparse=True)
    assert draw_matrix(numbers) == "0.5  -1   ·\n  · 0.5  -1"
    assert latex_matrix(numbers).splitlines()[1] == r"0.5 & -1 & 0 \\"


def test_sliding_picture_has_a_window_for_every_row_of_the_matrix() -> None:
    root = ET.fromstring(sliding_svg(["k1", "k2", "k3"], 6, stride=2, padding=1))
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert texts.count("k2") == 3 + 3  # three windows, three rows
    assert texts.count("k1") == 3 + 2  # the first window starts on the padding, which the matrix leaves out
    image = ET.fromstring(sliding_svg([["a<b", "b"], ["c", "d"]], (3, 4)))
    frames = [e for e in image.iter() if e.get("class") == "block"]
    assert len(frames) == 2 * 3
    assert [e.text for e in image.iter()].count("a<b") == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.ones(()), 3), r"got kernel.shape=\(\)"),
        ((torch.ones(2, 0), (3, 3)), r"none of them 0, got kernel.shape=\(2, 0\)"),
        ((torch.ones(1, 1, 1, 2, 2), (3, 3)), r"kernel must have shape \(k,\), \(kh, kw\)"),
        ((torch.ones(2, 2), 3), r"n must be \(rows, cols\) for a 2-D kernel, got n=3"),
        ((torch.ones(2), (3, 3)), r"n must be an integer for a 1-D kernel, got n=\(3, 3\)"),
        ((torch.ones(2), 0), r"n must be at least 1, got n=0"),
        ((torch.ones(2), 3, 0), r"stride must be at least 1, got stride=0"),
        ((torch.ones(2), 3, 1, -1), r"padding must be at least 0, got padding=-1"),
        ((torch.ones(2), 3, (1, 1)), r"stride must be an integer for a 1-D kernel, got stride=\(1, 1\)"),
        ((torch.ones(2, 2), (3, 3), (1, 1, 1)), r"stride must be an integer or \(rows, cols\)"),
        ((torch.ones(2, 5), (3, 3)), r"kernel must be at most n \+ 2·padding = 3, got kernel=5, n=3"),
        (([["a", "b"], ["c"]], (3, 3)), r"kernel must be a full array, got rows of shapes"),
        ((["a"], 3, 1, 0, True), r"sparse must be False for a kernel of names"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conv_matrix(*arguments)  # type: ignore[arg-type]


def test_bad_drawings_are_named() -> None:
    with pytest.raises(ValueError, match=r"matrix must have shape \(rows, cols\), got matrix.shape=\(3,\)"):
        draw_matrix(torch.ones(3))
    with pytest.raises(ValueError, match="matrix must be a tensor or a sympy matrix, got list"):
        svg_matrix([[1]])
    with pytest.raises(ValueError, match="kernel must be a list of names"):
        sliding_svg([1, 2], 4)
