"""Output sizes against torch, and their errors."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.sharing import compare, output_size


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 5), st.integers(0, 4))
def test_output_size_is_torchs(n: int, kernel: int, stride: int, padding: int) -> None:
    if kernel > n + 2 * padding:
        with pytest.raises(
            ValueError, match=rf"= {n + 2 * padding}, got kernel={kernel}, n={n}, padding={padding}"
        ):
            output_size(n, kernel, stride, padding)
        return
    out = torch.nn.functional.conv1d(
        torch.zeros(1, 1, n), torch.zeros(1, 1, kernel), stride=stride, padding=padding
    )
    assert output_size(n, kernel, stride, padding) == out.shape[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1), "n must be at least 1, got n=0"),
        ((5, 0), "kernel must be at least 1, got kernel=0"),
        ((5, 2, 0), "stride must be at least 1, got stride=0"),
        ((5, 2, 1, -1), "padding must be at least 0, got padding=-1"),
        ((5.0, 2), r"n must be an integer, got n=5\.0"),
    ],
)
def test_bad_sizes_are_named(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        output_size(*arguments)


def test_comparison_of_the_lecture() -> None:
    found = compare(image=(3, 256, 256), filters=32, kernel=5, stride=2)
    assert found.outputs == (32, 126, 126)
    assert (found.shared, found.unshared) == (2_400, 38_102_400)
    assert (found.inputs_count, found.outputs_count) == (196_608, 508_032)
    assert found.dense == 99_883_155_456
    assert found == compare()
    assert found.as_dict()["dense"] == found.dense


def test_comparison_counts_real_layers() -> None:
    from regard.sharing import LocallyConnected2d

    found = compare(image=(2, 5, 7), filters=3, kernel=(2, 3), stride=(1, 2), padding=(1, 0))
    conv = torch.nn.Conv2d(2, 3, (2, 3), (1, 2), (1, 0), bias=False)
    local = LocallyConnected2d(2, 3, (5, 7), (2, 3), (1, 2), (1, 0), bias=False)
    assert conv(torch.zeros(1, 2, 5, 7)).shape[1:] == found.outputs
    assert (conv.weight.numel(), local.weight.numel()) == (found.shared, found.unshared)
    assert found.dense == 2 * 5 * 7 * conv(torch.zeros(1, 2, 5, 7)).numel()


def test_bad_comparisons_are_named() -> None:
    with pytest.raises(ValueError, match=r"image must be \(channels, rows, cols\), got image=\(3, 4\)"):
        compare(image=(3, 4))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="filters must be at least 1, got filters=0"):
        compare(filters=0)
    with pytest.raises(ValueError, match="got kernel=9, n=4, padding=0"):
        compare(image=(1, 4, 4), kernel=9)
