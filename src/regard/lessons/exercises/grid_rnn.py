"""Questions on the 2-D RNN: parameters, multiplies, adds, both, steps, and growth."""

from functools import cache

from regard.cost import Cost, GridRNNShape, price
from regard.lessons.checking.exercise import Domain, Exercise, Mistake, growth_domain, spelled

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
        mistakes=(
            Mistake("counting one matrix for the states: left and top have one each", "h^2 + h c"),
            Mistake("counting biases", "2h^2 + h c + h"),
            Mistake("counting biases, one for each of the two states", "2h^2 + h c + 2h"),
            Mistake("counting biases, one for each of the three matrices", "2h^2 + h c + 3h"),
            Mistake(
                "counting operations: sheets call them parameters at times, but all cells share the weights",
                "n^2 h c + (2n^2 - 2n) h^2",
            ),
            Mistake(
                "giving each of the n² cells weights of its own: all cells share them", "n^2(2h^2 + h c)"
            ),
            Mistake("leaving out W_in", "2h^2"),
            Mistake("taking all three matrices as h×h", "3h^2"),
            Mistake("counting W_in twice, for the left and for the top", "2h^2 + 2h c"),
        ),
    ),
    Exercise(
        name="multiplies",
        asks="How many multiplies does an n×n image take exactly, border cells included?",
        formula="n^2 h c + (2n^2 - 2n) h^2",
        domain=SIZES,
        count=lambda n, h, c: int(cost(n, h, c).multiplies),
        mistakes=(
            Mistake(
                "giving every cell both neighbours: the first row and column lack one", "n^2(h c + 2h^2)"
            ),
            Mistake("giving cells of the first row and column no neighbour at all", "n^2 h c + 2(n-1)^2 h^2"),
            Mistake("taking the border off only once", "n^2 h c + (2n^2 - n) h^2"),
            Mistake("counting parameters, which all cells share, and not operations", "2h^2 + h c"),
            Mistake("counting adds", count=lambda n, h, c: int(cost(n, h, c).adds)),
            Mistake("counting adds too", count=lambda n, h, c: int(cost(n, h, c).flops)),
            Mistake("counting one neighbour of each cell", "n^2 h c + (n^2 - n) h^2"),
            Mistake("counting n cells: an n×n image has n²", "n(h c + 2h^2)"),
        ),
    ),
    Exercise(
        name="adds",
        asks="And how many adds (k terms take k − 1)?",
        formula="n^2 h (c - 1) + (2n^2 - 2n) h^2",
        domain=SIZES,
        count=lambda n, h, c: int(cost(n, h, c).adds),
        mistakes=(
            Mistake("counting as many adds as multiplies: k terms take k − 1", "n^2 h c + (2n^2 - 2n) h^2"),
            Mistake(
                "adding inside each product and forgetting to add the products to each other",
                "n^2 h (c-1) + (2n^2 - 2n) h (h-1)",
            ),
            Mistake(
                "giving every cell both neighbours: the first row and column lack one", "n^2 h (c + 2h - 1)"
            ),
            Mistake("giving every cell both neighbours, and as many adds as multiplies", "n^2 h (2h + c)"),
            Mistake("counting multiplies too", count=lambda n, h, c: int(cost(n, h, c).flops)),
            Mistake("adding a bias", "n^2 h c + (2n^2 - 2n) h^2 + n^2 h"),
        ),
    ),
    Exercise(
        name="total",
        asks="And multiplies and adds together?",
        formula="n^2 h (2c - 1) + 2(2n^2 - 2n) h^2",
        domain=SIZES,
        count=lambda n, h, c: int(cost(n, h, c).flops),
        mistakes=(
            Mistake("doubling the multiplies: k terms take k − 1 adds", "2n^2 h c + 2(2n^2 - 2n) h^2"),
            Mistake("doubling the multiplies of cells that all have both neighbours", "2n^2 (2h^2 + h c)"),
            Mistake(
                "giving cells of the first row and column no neighbour at all", "n^2 h (2c-1) + 4(n-1)^2 h^2"
            ),
            Mistake("counting multiplies only", count=lambda n, h, c: int(cost(n, h, c).multiplies)),
            Mistake("counting adds only", count=lambda n, h, c: int(cost(n, h, c).adds)),
            Mistake(
                "giving every cell both neighbours: the first row and column lack one",
                "n^2 h (2c - 1) + 4n^2 h^2",
            ),
            Mistake("counting parameters, which all cells share, and not operations", "2h^2 + h c"),
            Mistake(
                "adding inside each product and forgetting to add the products to each other",
                "n^2 h (2c-1) + (2n^2 - 2n) h (2h-1)",
            ),
        ),
    ),
    Exercise(
        name="depth",
        asks="How many steps must an n×n image take one after another, if all that can be is done at once?",
        formula="2n - 1",
        domain=Domain("n ≥ 1", {"n": range(1, 40)}),
        count=lambda n: int(price(GridRNNShape(channels=2, hidden=2), image=(n, n)).depth),
        mistakes=(
            Mistake("taking cell after cell: those of one anti-diagonal do not wait for each other", "n^2"),
            Mistake("counting the corner twice", "2n"),
            Mistake("counting the moves between diagonals: there is one diagonal more", "2n - 2"),
            Mistake("taking row after row: inside a row, cells wait too", "n"),
        ),
    ),
    Exercise(
        name="growth",
        asks="How does the cost grow with n, h and c?",
        formula="h^2 n^2 + h c n^2",
        domain=growth_domain("n", "h", "c"),
        growth=True,
        mistakes=(
            Mistake("counting parameters, which all cells share: each of n² cells uses them", "h^2 + h c"),
            Mistake("counting n cells: an n×n image has n²", "n h^2 + n h c"),
            Mistake("counting pairs of cells, as attention does", "n^4 h^2 + n^4 h c"),
            Mistake("leaving out W_in", "n^2 h^2"),
            Mistake("leaving out W_left and W_top", "n^2 h c"),
        ),
    ),
)
