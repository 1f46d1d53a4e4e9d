import pytest
import torch

from regard.pattern import Axial, Causal, Neighbourhood

GRIDS = [
    (Neighbourhood(rows=2, cols=3, reach=0), 6, 6, "#..... .#.... ..#... ...#.. ....#. .....#"),
    (Neighbourhood(rows=3, cols=2, reach=1), 6, 6, "####.. ####.. ###### ###### ..#### ..####"),
    (Neighbourhood(rows=1, cols=5, reach=1), 5, 5, "##... ###.. .###. ..### ...##"),
    (Neighbourhood(rows=2, cols=3, reach=1), 2, 5, "##.## #####"),
    (Axial(rows=2, cols=3), 6, 6, "####.. ###.#. ###..# #..### .#.### ..####"),
    (Axial(rows=3, cols=2), 6, 6, "###.#. ##.#.# #.###. .###.# #.#.## .#.###"),
    (Axial(rows=3, cols=2), 2, 5, ".###. #.#.#"),
    (Axial(rows=2, cols=3) & Causal(), 2, 4, "###. #..#"),
]


@pytest.mark.parametrize(("pattern", "n", "m", "grid"), GRIDS)
def test_literal_grid(pattern, n, m, grid):
    assert pattern.draw(n, m).split() == grid.split()


@pytest.mark.parametrize(("rows", "cols"), [(1, 5), (5, 1), (3, 4), (4, 3)])
@pytest.mark.parametrize("reach", [0, 1, 2, 7])
def test_against_coordinates(rows, cols, reach):
    cell = [(row, col) for row in range(rows) for col in range(cols)]
    near = [[abs(a - c) <= reach and abs(b - d) <= reach for c, d in cell] for a, b in cell]
    cross = [[a == c or b == d for c, d in cell] for a, b in cell]
    assert Neighbourhood(rows=rows, cols=cols, reach=reach).dense(rows * cols).tolist() == near
    assert Axial(rows=rows, cols=cols).dense(rows * cols).tolist() == cross


def test_the_grid_fixes_the_length():
    with pytest.raises(ValueError, match=r"axial\(3, 4\) covers 12 positions, got n=11"):
        Axial(rows=3, cols=4).pairs(11)
    with pytest.raises(ValueError, match="covers 12 positions, got m=13"):
        Axial(rows=3, cols=4).dense(2, 13)
    assert torch.equal(Axial(rows=3, cols=4).dense(2, 9), Axial(rows=3, cols=4).dense(12)[7:9, :9])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Axial(rows=0, cols=3), "rows must be at least 1, got rows=0"),
        (lambda: Axial(rows=3, cols=0), "cols must be at least 1, got cols=0"),
        (lambda: Neighbourhood(rows=3, cols=3, reach=-1), "reach must be at least 0, got reach=-1"),
    ],
)
def test_out_of_range_fields_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
