"""Convolution seen as a linear map: output sizes, the Toeplitz matrix, and what sharing weights saves."""

from regard.sharing.compare import WeightCounts, compare
from regard.sharing.drawing import draw_matrix, latex_matrix, svg_matrix
from regard.sharing.local import LocallyConnected1d, LocallyConnected2d
from regard.sharing.matrix import conv_matrix
from regard.sharing.picture import sliding_svg
from regard.sharing.sizes import output_size

__all__ = [
    "LocallyConnected1d",
    "LocallyConnected2d",
    "WeightCounts",
    "compare",
    "conv_matrix",
    "draw_matrix",
    "latex_matrix",
    "output_size",
    "sliding_svg",
    "svg_matrix",
]
