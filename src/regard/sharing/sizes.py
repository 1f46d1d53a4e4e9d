"""How many windows fit."""

from regard.errors import check_int


def output_size(n: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    """⌊(n + 2·padding − kernel) / stride⌋ + 1: the windows of size `kernel` along n positions.

    >>> output_size(9, kernel=3), output_size(256, kernel=5, stride=2), output_size(5, 3, stride=2, padding=1)
    (7, 126, 3)
    """
    check_int("n", n, 1)
    check_int("kernel", kernel, 1)
    check_int("stride", stride, 1)
    check_int("padding", padding, 0)
    if kernel > n + 2 * padding:
        raise ValueError(
            f"kernel must be at most n + 2·padding = {n + 2 * padding}, got {kernel=}, {n=}, {padding=}"
        )
    return (n + 2 * padding - kernel) // stride + 1


def pair(name: str, value: int | tuple[int, int], least: int) -> tuple[int, int]:
    """One integer for both sides of a grid, or (rows, cols)."""
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise ValueError(f"{name} must be an integer or (rows, cols), got {name}={value!r}")
        rows, cols = value
    else:
        rows = cols = value
    check_int(name, rows, least)
    check_int(name, cols, least)
    return rows, cols
