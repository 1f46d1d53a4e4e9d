"""What sharing saves: one layer, three times, with shared, unshared and all weights."""

from dataclasses import asdict, dataclass

from regard.errors import check_int
from regard.sharing.sizes import output_size, pair


@dataclass(frozen=True)
class WeightCounts:
    """Weights, biases not counted, of three layers that map one image to outputs of one shape."""

    image: tuple[int, int, int]
    outputs: tuple[int, int, int]
    inputs_count: int
    outputs_count: int
    shared: int
    unshared: int
    dense: int

    def as_dict(self) -> dict[str, object]:
        """The counts by name, as `--json` prints them."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [
            ("convolution", "one kernel per filter", self.shared),
            ("locally connected", "one kernel per filter and place", self.unshared),
            ("dense", f"{self.inputs_count:,} × {self.outputs_count:,}", self.dense),
        ]
        width = len(f"{self.dense:,}")
        sizes = "×".join(map(str, self.image)), "×".join(map(str, self.outputs))
        lines = [f"{sizes[0]} → {sizes[1]}, weights:"]
        lines += [f"  {name:18} {weights:>{width},}  {what}" for name, what, weights in rows]
        return "\n".join(lines)


def compare(
    image: tuple[int, int, int] = (3, 256, 256),
    filters: int = 32,
    kernel: int | tuple[int, int] = 5,
    stride: int | tuple[int, int] = 2,
    padding: int | tuple[int, int] = 0,
) -> WeightCounts:
    """Count the weights of a convolution, of the same windows without sharing, and of a dense layer.

    >>> print(compare(image=(3, 256, 256), filters=32, kernel=5, stride=2))
    3×256×256 → 32×126×126, weights:
      convolution                 2,400  one kernel per filter
      locally connected      38,102,400  one kernel per filter and place
      dense              99,883,155,456  196,608 × 508,032
    """
    if not isinstance(image, tuple | list) or len(image) != 3:
        raise ValueError(f"image must be (channels, rows, cols), got image={image!r}")
    for side in image:
        check_int("image", side, 1)
    check_int("filters", filters, 1)
    channels, *sides = image
    kernels = pair("kernel", kernel, 1)
    places = [
        output_size(*axis)
        for axis in zip(sides, kernels, pair("stride", stride, 1), pair("padding", padding, 0), strict=True)
    ]
    shared = filters * channels * kernels[0] * kernels[1]
    inputs, outputs = channels * sides[0] * sides[1], filters * places[0] * places[1]
    return WeightCounts(
        image=(channels, sides[0], sides[1]),
        outputs=(filters, places[0], places[1]),
        inputs_count=inputs,
        outputs_count=outputs,
        shared=shared,
        unshared=shared * places[0] * places[1],
        dense=inputs * outputs,
    )
