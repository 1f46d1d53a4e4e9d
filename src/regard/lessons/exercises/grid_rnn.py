"""Questions on the 2-D RNN: parameters, multiplies, adds, both, steps, and growth."""

from functools import cache

from regard.cost import Cost, GridRNNShape, price
from regard.lessons.checking.exercise import Domain, Exercise, growth_domain, spelled

SIZES = Domain("n, h, c ≥ 1", {"n": range(1, 9), "h": range(1, 8), "c": range(1, 6)})
LETTERS = {"n": "N T m", "h": "H d_h d D k K", "c": "C d D m C_in c_in d_in d_x"}


@cache
def cost(n: int, h: int, c: int) -> Cost:
    """What the package says that n×n cells cost."""
    return price(GridRNNShape(channels=c, hidden=h), image=(n, n))


EXERCISES = spelled(
    LETTERS,
    Exercise(
        name="parameters",
        asks=(
            "How many parameters has the 2-D RNN for n×n images, without biases, for h states and c channels?"
        ),
        formula="2h^2 + h c",
        domain=Domain("h, c ≥ 1", {"h": range(1, 12), "c": range(1, 12), "n": range(1, 5)}),
        count=lambda n, h, c: int(cost(n, h, c).parameters),
        mistakes={
            "h^2 + h c": "counting one matrix for the states: left and top have one each",
            "2h^2 + h c + h": "counting biases",
            "2h^2 + h c + 2h": "counting biases, one for each of the two states",
            "2h^2 + h c + 3h": "counting biases, one for each of the three matrices",
            "n^2 h c + (2n^2 - 2n) h^2": (
                "counting operations: sheets call them parameters at times, but all cells share the weights"
            ),
            "n^2(2h^2 + h c)": "giving each of the n² cells weights of its own: all cells share them",
            "2h^2": "leaving out W_in",
            "3h^2": "taking all three matrices as h×h",
            "2h^2 + 2h c": "counting W_in twice, for the left and for the top",
        },
    ),
    Exercise(
        name="multiplies",
        asks="How many multiplies does an n×n image take exactly, border cells included?",
        formula="n^2 h c + (2n^2 - 2n) h^2",
        domain=SIZES,
        count=lambda n, h, c: int(cost(n, h, c).multiplies),
        mistakes={
            "n^2(h c + 2h^2)": "giving every cell both neighbours: the first row and column lack one",
            "n^2 h c + 2(n-1)^2 h^2": "giving cells of the first row and column no neighbour at all",
            "n^2 h c + (2n^2 - n) h^2": "taking the border off only once",
            "2h^2 + h c": "counting parameters, which all cells share, and not operations",
            "n^2 h (c-1) + (2n^2 - 2n) h^2": "counting adds",
            "n^2 h (2c-1) + 2(2n^2 - 2n) h^2": "counting adds too",
            "n^2 h c + (n^2 - n) h^2": "counting one neighbour of each cell",
            "n(h c + 2h^2)": "counting n cells: an n×n image has n²",
        },
    ),
    Exercise(
        name="adds",
        asks="And how many adds (k terms take k − 1)?",
        formula="n^2 h (c - 1) + (2n^2 - 2n) h^2",
        domain=SIZES,
        count=lambda n, h, c: int(cost(n, h, c).adds),
        mistakes={
            "n^2 h c + (2n^2 - 2n) h^2": "counting as many adds as multiplies: k terms take k − 1",
            "n^2 h (c-1) + (2n^2 - 2n) h (h-1)": (
                "adding inside each product and forgetting to add the products to each other"
            ),
            "n^2 h (c + 2h - 1)": "giving every cell both neighbours: the first row and column lack one",
            "n^2 h (2h + c)": "giving every cell both neighbours, and as many adds as multiplies",
            "n^2 h (2c-1) + 2(2n^2 - 2n) h^2": "counting multiplies too",
            "n^2 h c + (2n^2 - 2n) h^2 + n^2 h": "adding a bias",
        },
    ),
    Exercise(
        name="total",
        asks="And multiplies and adds together?",
        formula="n^2 h (2c - 1) + 2(2n^2 - 2n) h^2",
        domain=SIZES,
        count=lambda n, h, c: int(cost(n, h, c).flops),
        mistakes={
            "2n^2 h c + 2(2n^2 - 2n) h^2": "doubling the multiplies: k terms take k − 1 adds",
            "2n^2 (2h^2 + h c)": "doubling the multiplies of cells that all have both neighbours",
            "n^2 h (2c-1) + 4(n-1)^2 h^2": "giving cells of the first row and column no neighbour at all",
            "n^2 h c + (2n^2 - 2n) h^2": "counting multiplies only",
            "n^2 h (c-1) + (2n^2 - 2n) h^2": "counting adds only",
            "n^2 h (2c - 1) + 4n^2 h^2": (
                "giving every cell both neighbours: the first row and column lack one"
            ),
            "2h^2 + h c": "counting parameters, which all cells share, and not operations",
            "n^2 h (2c-1) + (2n^2 - 2n) h (2h-1)": (
                "adding inside each product and forgetting to add the products to each other"
            ),
        },
    ),
    Exercise(
        name="depth",
        asks="How many steps must an n×n image take one after another, if all that can be is done at once?",
        formula="2n - 1",
        domain=Domain("n ≥ 1", {"n": range(1, 40)}),
        count=lambda n: int(price(GridRNNShape(channels=2, hidden=2), image=(n, n)).depth),
        mistakes={
            "n^2": "taking cell after cell: those of one anti-diagonal do not wait for each other",
            "2n": "counting the corner twice",
            "2n - 2": "counting the moves between diagonals: there is one diagonal more",
            "n": "taking row after row: inside a row, cells wait too",
        },
    ),
    Exercise(
        name="growth",
        asks="How does the cost grow with n, h and c?",
        formula="h^2 n^2 + h c n^2",
        domain=growth_domain("n", "h", "c"),
        mistakes={
            "h^2 + h c": "counting parameters, which all cells share: each of n² cells uses them",
            "n h^2 + n h c": "counting n cells: an n×n image has n²",
            "n^4 h^2 + n^4 h c": "counting pairs of cells, as attention does",
            "n^2 h^2": "leaving out W_in",
            "n^2 h c": "leaving out W_left and W_top",
        },
    ),
)
