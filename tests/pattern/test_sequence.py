from fractions import Fraction

import pytest

from regard.pattern import Blocks, Causal, Dilated, Full, Local, SparseFixed, SparseStrided, Strided, Windowed

GRIDS = [
    (Full(), 2, 3, "### ###"),
    (Full(), 3, 2, "## ## ##"),  # the one value that may have more queries than keys
    (Causal(), 4, 4, "#... ##.. ###. ####"),
    (Causal(), 2, 4, "###. ####"),
    (Strided(back=0), 3, 3, "#.. .#. ..#"),
    (Strided(back=2), 5, 5, "#.... ##... ###.. .###. ..###"),
    (Strided(back=2), 2, 5, ".###. ..###"),
    (Strided(back=9), 3, 3, "#.. ##. ###"),
    (Local(reach=0), 3, 3, "#.. .#. ..#"),
    (Local(reach=1), 4, 4, "##.. ###. .### ..##"),
    (Local(reach=2), 2, 5, ".#### ..###"),
    (Local(reach=9), 2, 2, "## ##"),
    (Windowed(size=1), 3, 3, "#.. .#. ..#"),
    (Windowed(size=3), 5, 5, "#.... ##... ###.. ...#. ...##"),
    (Windowed(size=3), 3, 5, "###.. ...#. ...##"),  # cut at absolute positions, not at the first query
    (Windowed(size=9), 2, 2, "#. ##"),
    (Blocks(size=3), 5, 5, "###.. ###.. ###.. ...## ...##"),
    (Blocks(size=2), 3, 6, "..##.. ....## ....##"),
    (Dilated(back=2, step=2), 6, 6, "#..... .#.... #.#... .#.#.. #.#.#. .#.#.#"),
    (Dilated(back=1, step=3), 2, 6, ".#..#. ..#..#"),
    (Dilated(back=0, step=3), 2, 2, "#. .#"),
    (SparseStrided(stride=2), 6, 6, "#..... ##.... ###... .###.. #.###. .#.###"),
    (SparseStrided(stride=3), 1, 7, "#..####"),
    (SparseFixed(stride=3, summary=1), 7, 7, "#...... ##..... ###.... ..##... ..###.. ..####. ..#..##"),
    (SparseFixed(stride=3, summary=2), 1, 7, ".##.###"),
    (SparseFixed(stride=3, summary=0), 4, 4, "#... ##.. ###. ...#"),
]


@pytest.mark.parametrize(("pattern", "n", "m", "grid"), GRIDS)
def test_literal_grid(pattern, n, m, grid):
    assert pattern.draw(n, m).split() == grid.split()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Strided(back=-1), "back must be at least 0, got back=-1"),
        (lambda: Strided(back=1.5), "back must be an integer, got back=1.5"),
        (lambda: Strided(back=True), "back must be an integer, got back=True"),
        (lambda: Strided(back=1 << 31), "back must be at most 2,147,483,647, got back=2147483648"),
        (lambda: Windowed(size=0), "size must be at least 1, got size=0"),
        (lambda: Blocks(size=0), "size must be at least 1, got size=0"),
        (lambda: Dilated(back=-1, step=1), "back must be at least 0, got back=-1"),
        (lambda: Dilated(back=1, step=0), "step must be at least 1, got step=0"),
        (lambda: Local(reach=-1), "reach must be at least 0, got reach=-1"),
        (lambda: SparseStrided(stride=0), "stride must be at least 1, got stride=0"),
        (lambda: SparseFixed(stride=0, summary=0), "stride must be at least 1, got stride=0"),
        (lambda: SparseFixed(stride=4, summary=-1), "summary must be at least 0, got summary=-1"),
        (lambda: SparseFixed(stride=4, summary=5), "summary must be at most stride, got summary=5, stride=4"),
    ],
)
def test_out_of_range_fields_are_named(make, message):
    with pytest.raises(ValueError, match="must") as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize("n", range(1, 20))
def test_the_lectures_counts(n):
    for t in range(6):
        expected = Fraction((t + 1) * (2 * n - t), 2) if n > t else Fraction(n * (n + 1), 2)
        assert Strided(back=t).pairs(n) == expected
    for w in range(1, 6):
        if n % w == 0:
            assert Windowed(size=w).pairs(n) == Fraction(n * (w + 1), 2)
    assert Causal().pairs(n) == n * (n + 1) // 2


@pytest.mark.parametrize("back", [1, 1 << 20, (1 << 31) - 1])
def test_a_field_larger_than_the_sequence_changes_nothing(back):
    wide = max(back, 9)
    assert Strided(wide).draw(6) == Causal().draw(6) == Windowed(wide).draw(6) == SparseStrided(wide).draw(6)
    assert Dilated(back=wide, step=wide).draw(6) == Strided(0).draw(6)
    assert Strided(wide).pairs(6) == Strided(wide).tiles(6).cells() - 15 == 21
