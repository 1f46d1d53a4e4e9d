"""Lesson: a recurrent network over a grid, counted exactly and set beside a convolutional one."""

from __future__ import annotations

from itertools import product

import sympy
import torch

from regard.cost import GridRNNShape, executed, price
from regard.lessons.completing import digits_completed, first_moved
from regard.lessons.diagrams import reading_order, recurrent_grid
from regard.lessons.exercises.grid_rnn import EXERCISES
from regard.lessons.figures import grid
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Check, Formula, Picture, Prose, Table, table
from regard.paper.formulas import written
from regard.probe import completion_figure
from regard.recipes import get
from regard.recurrence import grid_rnn, identity
from regard.train import ClassifyImages

# Recipe, share of the test set right, seconds of training and images per second, seed 0, from the records
# benchmarks/results/runs/{grid,convnet}-fashion-mnist.json.
TRAINED = {
    "2-D RNN": ("grid-fashion-mnist", 0.9198, 116.7, 9_770),
    "convnet": ("convnet-fashion-mnist", 0.9307, 17.7, 80_398),
}


def wiring() -> Picture:
    """The cells and their arrows."""
    return Picture(
        "wiring",
        recurrent_grid,
        "A grid of three by four cells: each takes its input, the state to its left and the state above; "
        "dotted lines join the cells of an anti-diagonal, which one step computes",
    )


def counts() -> list[Formula | Check]:
    """Parameters, multiplies, adds and their sum from the package's price, letters kept."""
    cost = price(GridRNNShape(channels="c", hidden="h"), image=("R", "C"))
    letters = {symbol.name: symbol for symbol in cost.multiplies.free_symbols}
    n, h, c = sympy.Symbol("n", positive=True, integer=True), letters["h"], letters["c"]
    square = {letters["R"]: n, letters["C"]: n}
    multiplies, adds = (sympy.expand(part.subs(square)) for part in (cost.multiplies, cost.adds))
    pairs = 2 * n**2 - 2 * n  # of a cell and a neighbour
    derived = n**2 * h * (c - 1) + pairs * h**2, n**2 * h * (2 * c - 1) + 4 * (n**2 - n) * h**2
    everywhere = n**2 * (h * c + 2 * h**2)  # as if every cell had both neighbours
    return [
        Formula("Parameters, W_in (h×c), W_left and W_top (h×h):", cost.parameters),
        Formula("Multiplies on R×C cells:", cost.multiplies),
        Formula("On n×n cells, multiplied out:", multiplies),
        Formula("Adds on n×n cells:", adds),
        Formula("Both together:", sympy.expand(multiplies + adds)),
        Check(
            "n²h(c−1) + (2n² − 2n)h² adds and n²h(2c−1) + 4(n² − n)h² in all, as derived",
            [sympy.expand(one) for one in derived] == [adds, sympy.expand(multiplies + adds)],
            "multiplied out, they are the same polynomials",
        ),
        Check(
            "a count that gives every cell two neighbours has 2nh² multiplies too many",
            sympy.expand(everywhere - multiplies - 2 * n * h**2) == 0,
            f"n²(hc + 2h²) less the exact count is {written(sympy.expand(everywhere - multiplies))}",
        ),
    ]


def cell_by_cell() -> list[Check]:
    """The same by walking over the cells and counting what each one really multiplies."""
    compared = wrong = 0
    for rows, cols in product(range(1, 6), repeat=2):
        multiplies = adds = 0
        for row, col in product(range(rows), range(cols)):
            neighbours = (row > 0) + (col > 0)
            multiplies += 5 * 3 + neighbours * 5 * 5
            adds += 5 * (3 + neighbours * 5 - 1)
        cost = price(GridRNNShape(channels=3, hidden=5), image=(rows, cols))
        wrong += (cost.multiplies, cost.adds) != (multiplies, adds)
        compared += 1
    four = price(GridRNNShape(channels=3, hidden=5), image=(4, 4))
    claim = "the formulas are what walking over the cells counts, border cells included (h = 5, c = 3)"
    ran = executed(grid_rnn, torch.zeros(1, 4, 4, 3), torch.zeros(5, 3), torch.zeros(5, 5), torch.zeros(5, 5))
    same = (ran.multiplies, ran.adds) == (four.multiplies, four.adds)
    return [
        Check(
            claim,
            wrong == 0,
            f"{compared} grids; 4×4 takes {four.multiplies} multiplies and {four.adds} adds",
        ),
        Check("and what really runs", same, f"`executed` counted {ran.multiplies} and {ran.adds} on 4×4"),
    ]


def reach() -> list[Check | Picture]:
    """Which inputs the last state and a middle state depend on, by their gradients."""
    rows, cols = 6, 8
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, rows, cols, 2, generator=generator, requires_grad=True)
    W_in, W_left, W_top = (torch.randn(4, k, generator=generator) * 0.4 for k in (2, 4, 4))
    states = grid_rnn(x, W_in, W_left, W_top)
    (at_end,) = torch.autograd.grad(states[0, -1, -1].sum(), x, retain_graph=True)
    (at_middle,) = torch.autograd.grad(states[0, 3, 4].sum(), x)
    seen = (at_middle[0].abs().sum(-1) > 0).tolist()
    right = all(seen[i][j] == (i <= 3 and j <= 4) for i in range(rows) for j in range(cols))
    return [
        Check(
            "one layer lets the last cell see the whole image",
            bool((at_end[0].abs().sum(-1) > 0).all()),
            f"all {rows * cols} inputs have a gradient",
        ),
        Check("a cell sees exactly what is above it and to its left", right, "gradients of cell (4, 5)"),
        Picture(
            "reach",
            lambda: grid(
                [[float(s) for s in row] for row in seen],
                title="What the cell (4, 5) depends on",
                rows=[str(i + 1) for i in range(rows)],
                cols=[str(j + 1) for j in range(cols)],
            ),
            "A grid of 6 by 8 cells; the rectangle from the top left corner to row 4, column 5 is shaded",
        ),
    ]


def paths() -> list[Formula | Check | Table]:
    """How much of the first pixel reaches the last cell, where all weights are one number w."""
    n, w = sympy.symbols("n w", positive=True)
    law = sympy.binomial(2 * n - 2, n - 1) * w ** (2 * n - 2)
    rows, worst = [], 0.0
    for weight in (0.4, 0.5, 0.6):
        W = torch.full((1, 1), weight, dtype=torch.float64)
        found = []
        for size in (4, 14, 28):
            x = torch.zeros(1, size, size, 1, dtype=torch.float64)
            x[0, 0, 0] = 1
            states = grid_rnn(x, torch.ones_like(W), W, W, activation=identity)
            found.append(states[0, -1, -1, 0].item())
            worst = max(worst, abs(found[-1] / float(law.subs({n: size, w: weight})) - 1))
        rows.append([f"w = {weight}", *found])
    return [
        Formula("The part of x at (1, 1) in h at (n, n):", law),
        Check("that is what runs", worst < 1e-9, f"nine grids, largest relative difference {worst:.0e}"),
        table(["weights", "4×4", "14×14", "28×28"], rows),
    ]


def trained() -> list[Table | Prose]:
    """What both reached on Fashion-MNIST when trained to the end."""
    rows, facts = [], []
    for name, (recipe, accuracy, seconds, speed) in TRAINED.items():
        task = get(recipe).task
        assert isinstance(task, ClassifyImages)
        cost = price(task.model)
        facts.append((100 * accuracy, cost.parameters, cost.flops, speed))
        work = f"{cost.flops / 1e6:.0f} million"
        rows.append([name, f"{accuracy:.2%}", cost.parameters, work, cost.depth, seconds, speed])
    ours, theirs = facts
    size, more, faster = (theirs[i] / ours[i] for i in (1, 2, 3))
    head = ["model", "test", "parameters", "flops per image", "in sequence", "seconds", "images/s"]
    return [
        table(head, rows, "Fashion-MNIST, trained to the end on one shared H200, one seed each:"),
        Prose(
            f"The convnet is ahead by {theirs[0] - ours[0]:.2f} points. It is also {size:.1f} times as large "
            f"and does {more:.1f} times the work per image, so this compares two recipes and not two models "
            f"of one size. The waiting shows all the same: with {more:.1f} times the flops per image the "
            f"convnet trained on {faster:.1f} times as many images per second. And this RNN already has the "
            "usual remedies: it scans from all four corners, reads patches of 2×2 pixels to shorten the way, "
            "and takes the mean over all cells instead of the last one. In sequence: 14×14 patches have 27 "
            "anti-diagonals, and two layers take them one after the other, all four scans at once: 54."
        ),
    ]


def beside() -> Table:
    """The two, point by point."""
    rows = [
        ["one layer sees", "all above and to the left", "its kernel; layers widen it"],
        ["weights", "2h² + hc for any image size", "k²hc for any image size"],
        ["steps in sequence, a layer", "R + C − 1", "1"],
        ["work at one time", "one anti-diagonal", "all places"],
        ["products between far pixels", "up to R + C − 2", "as many as layers"],
        ["direction", "from one corner; four scans see all", "all sides alike"],
        ["predicting the next pixel", "as it is", "only with masked kernels"],
    ]
    says = "The first and the last row speak for the RNN; steps, gradients and sides for the convnet:"
    return table(["", "2-D RNN", "convnet"], rows, says)


def completes() -> list[Check | Picture]:
    """A completion model must not see what it is to predict; one that has learned draws lower halves."""
    at = 2, 3
    moved = first_moved(5, 7, at)
    made, nats, alone = digits_completed()
    return [
        Picture(
            "order",
            lambda: reading_order(5, 7, at),
            "A pixel to predict, with the pixels before it in reading order shaded: those seen by a scan "
            "from the top left, those seen by a scan from the top right, and later ones seen by neither",
        ),
        Check(
            "changing one pixel changes predictions of later pixels only, in reading order",
            moved > at,
            f"the pixel in row {at[0] + 1}, column {at[1] + 1} changed; the first prediction to move is that "
            f"in row {moved[0] + 1}, column {moved[1] + 1}",
        ),
        Check(
            "the pixels before it tell more about a pixel than its place alone",
            nats < 0.9 * alone,
            f"{nats:.2f} nats a pixel on new digits, against {alone:.2f} by the place alone",
        ),
        Picture(
            "completed",
            lambda: completion_figure(made),
            f"{len(made.truth)} digits of which the first {made.known} of {made.truth.shape[1]} rows were "
            "given, completed by the model, and the truth below",
        ),
    ]


LESSON = Lesson(
    name="grid-rnn",
    title="A recurrent network over a grid",
    question=(
        "A 2-D RNN computes the state of a pixel from the pixel itself, the state to the left and the state "
        "above: h = φ(W_in x + W_left h_left + W_top h_top). How many parameters has it, what does an n×n "
        "image cost, and how does it compare with a convolutional network? What is it good for?"
    ),
    steps=(
        "W_in is h×c, W_left and W_top are h×h, and all cells share them.",
        wiring,
        "**Multiplies.** Every cell multiplies W_in, hc multiplies; every cell that has a left neighbour has "
        "h² more, and every cell that has one above another h². The first column has no left, the first row "
        "no above, so on R×C cells there are R(C−1) + C(R−1) = 2RC − R − C such products, and 2n² − 2n on "
        "n×n. (Sheets that write the state under W_left as h^{i−1,j} count i along the row: their i is our "
        "column.)\n\n"
        "**Adds.** A sum of k terms takes k − 1 adds. Each of the h components of a state is a sum of c "
        "terms, and of h more for each neighbour: c + mh − 1 adds with m neighbours. Over all cells m adds "
        "up to 2n² − 2n, so there are n²h(c−1) + (2n² − 2n)h² adds. Multiplies and adds together are "
        "n²h(2c−1) + 4(n² − n)h².\n\n"
        "(A sheet calls such a count the number of *parameters*. It is the number of operations: it grows "
        "with n², while the parameters, 2h² + hc, do not know how large the image is.)",
        counts,
        "In big-O: O(h²n² + hcn²). The borders only take 2nh² away, and neither term swallows the other: h² "
        "is larger if h > c, hc if c > h.",
        cell_by_cell,
        "**Depth.** A state waits for its left and upper neighbours, so cells of one anti-diagonal can be "
        "computed at once and the diagonals only one after another: R + C − 1 steps. A convolution waits for "
        "nothing inside a layer. **Receptive field.** One layer of the grid RNN sees everything above and to "
        "the left; a convolution sees its kernel, and layers are stacked to see more.",
        reach,
        "**Harder to train.** What the top left pixel says must pass R + C − 2 products to reach the last "
        "cell, where a class could be read off, and gradients must pass them all on the way back. There is "
        "not one way but many, so the balance is finer than in a sequence: on n×n cells the first pixel "
        "reaches the last cell on as many paths as there are orders of n − 1 steps right and n − 1 steps "
        "down, which grows like 4^(n−1)/√n. With one number w for both weights the sum over all paths "
        "vanishes for w < 1/2 and explodes for w > 1/2. A tanh stops the explosion by flattening the slope "
        "to nothing.",
        paths,
        "A convolution has one product per layer between its input and its output, and all places learn at "
        "the same time.",
        trained,
        beside,
        "**What it is good for.** The state of a cell depends on its own pixel and on those above and to the "
        "left, and on no other. Fed with the pixel to the left in place of its own, it knows nothing but "
        "what came before, in reading order: that is what completing an image needs. Training on whole "
        "images then cannot leak what is to be predicted, and all pixels are trained in one pass; afterwards "
        "an image grows cell by cell, each from states that are already there. A convolution sees both sides "
        "and has to be masked for it. Fed so, one scan has seen columns to its left only: it misses the "
        "pixel straight above and what lies above to the right. A second one, from the top right and fed "
        "with the pixel above, brings both.",
        completes,
    ),
    exercises=EXERCISES,
)
