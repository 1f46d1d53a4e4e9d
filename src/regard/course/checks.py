"""The checks that every module of the course makes: its sizes at birth, its input when called."""

from torch import Tensor

from regard.errors import check_int


def check_sizes(**sizes: int) -> None:
    """Raise unless every size is an integer of at least 1."""
    for name, value in sizes.items():
        check_int(name, value, least=1)


def check_shape(name: str, x: Tensor, *shape: int | str) -> None:
    """Raise unless `x` has this shape, in which a letter stands for any size."""
    same = [isinstance(want, str) or want == have for want, have in zip(shape, x.shape, strict=False)]
    if x.ndim != len(shape) or not all(same):
        raise ValueError(f"{name} must have shape ({', '.join(map(str, shape))}), got {tuple(x.shape)}")
