"""Lesson: a recurrent network over a grid, counted exactly and set beside a convolutional one."""

from __future__ import annotations

import sympy
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.cost import GridRNNShape, executed, price
from regard.data import Images, load
from regard.lessons.exercises.grid_rnn import EXERCISES
from regard.lessons.figures import grid
from regard.lessons.lesson import Lesson
from regard.lessons.measuring import milliseconds, train
from regard.lessons.parts import Check, Formula, Picture, Prose, Table, table
from regard.models import ConvNet, ConvNetConfig, GridCompletion, GridCompletionConfig, GridRNN, GridRNNConfig
from regard.recurrence import grid_rnn

R, C, h, c, n = sympy.symbols("R C h c n", positive=True, integer=True)
STEPS = 120


def counts() -> list[Formula | Prose]:
    """Parameters, multiplies and adds from the package's price, letters kept."""
    cost = price(GridRNNShape(channels="c", hidden="h"), image=("R", "C"))
    square = {
        s: sympy.Symbol("n", positive=True, integer=True)
        for s in cost.multiplies.free_symbols
        if s.name in "RC"
    }
    return [
        Formula("Parameters, W_in (h×c), W_left and W_top (h×h):", cost.parameters),
        Formula("Multiplies on R×C cells:", cost.multiplies),
        Formula("On n×n cells, multiplied out:", sympy.expand(cost.multiplies.subs(square))),
        Formula("Adds on n×n cells (k terms take k − 1 adds):", sympy.expand(cost.adds.subs(square))),
        Prose(
            "In big-O: O(h²n² + hcn²). The borders only take 2nh² away, and neither term swallows the other: "
            "h² is larger if h > c, hc if c > h."
        ),
    ]


def cell_by_cell() -> list[Check]:
    """The same by walking over the cells and counting what each one really multiplies."""
    compared = wrong = 0
    for rows in range(1, 6):
        for cols in range(1, 6):
            multiplies = adds = 0
            for row in range(rows):
                for col in range(cols):
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
        Check(
            "and what really runs",
            same,
            f"`executed` counted {ran.multiplies} and {ran.adds} as 4×4 cells ran",
        ),
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
        Check(
            "a cell sees exactly what is above it and to its left",
            right,
            "gradients of the cell in row 4, column 5",
        ),
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


def compared() -> Table:
    """A GridRNN and a ConvNet of about the same size, trained alike on small digits."""
    digits = load("digits")
    assert isinstance(digits, Images)
    size = digits.train.images.shape[-2], digits.train.images.shape[-1]
    grid_config = GridRNNConfig(image=size, classes=10, hidden=20, layers=1)
    conv_config = ConvNetConfig(image=size, classes=10, widths=(16, 24))
    field = _field(conv_config)
    rows: list[list[object]] = []
    for name, config, model, sees in (
        ("GridRNN", grid_config, GridRNN(grid_config, generator=_seeded(0)), "all before it, in one layer"),
        (
            "ConvNet",
            conv_config,
            ConvNet(conv_config, generator=_seeded(0)),
            f"{field}×{field}, in two layers",
        ),
    ):
        accuracy, spent = _fit(model, digits)
        cost = price(config)
        rows.append([name, cost.parameters, cost.flops, cost.depth, sees, accuracy, spent])
    head = [
        "model",
        "parameters",
        "flops per image",
        "sequential depth",
        "one output sees",
        "accuracy",
        "ms per 64 images",
    ]
    return table(head, rows, f"{STEPS} steps of 64 digits each, {size[0]}×{size[1]} pixels, test accuracy:")


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _field(config: ConvNetConfig) -> int:
    """How many pixels along one side reach an output of the last convolution."""
    field = step = 1
    for i in range(len(config.widths)):
        if i > 0:  # the maximum over two neighbours
            field, step = field + step, 2 * step
        field += (config.kernel - 1) * step
    return field


def _fit(model: nn.Module, digits: Images) -> tuple[float, float]:
    def scaled(images: Tensor) -> Tensor:
        return images.float() / 127.5 - 1

    pictures = digits.train
    generator = _seeded(1)

    def loss(step: int) -> Tensor:
        chosen = torch.randint(len(pictures.labels), (64,), generator=generator)
        return cross_entropy(model(scaled(pictures.images[chosen])), pictures.labels[chosen])

    train(model.parameters(), loss, STEPS, rate=6e-3)
    with torch.no_grad():
        test = digits.test
        accuracy = (model(scaled(test.images)).argmax(-1) == test.labels).float().mean().item()
        batch = scaled(pictures.images[:64])
        return accuracy, milliseconds(model, batch)


def completes() -> list[Check]:
    """A completion model must not see what it is to predict."""
    model = GridCompletion(
        GridCompletionConfig(levels=2, hidden=8), generator=torch.Generator().manual_seed(0)
    )
    image = torch.randint(2, (1, 5, 7), generator=torch.Generator().manual_seed(1))
    changed = image.clone()
    changed[0, 2, 3] = 1 - changed[0, 2, 3]
    with torch.no_grad():
        moved = (model(image) - model(changed)).abs().amax(-1)[0].flatten() > 0
    first = int(moved.nonzero()[0])
    claim = "changing one pixel changes predictions of later pixels only, in reading order"
    return [
        Check(
            claim,
            first > 2 * 7 + 3,
            f"pixel {2 * 7 + 3} changed, the first prediction to move is that of pixel {first}",
        )
    ]


LESSON = Lesson(
    name="grid-rnn",
    title="A recurrent network over a grid",
    question=(
        "A 2-D RNN computes the state of a pixel from the pixel itself, the state to the left and the state "
        "above: "
        "h = φ(W_in x + W_left h_left + W_top h_top). How many parameters has it, what does an n×n image "
        "cost, and how does it "
        "compare with a convolutional network? What is it good for?"
    ),
    steps=(
        "W_in is h×c, W_left and W_top are h×h, and all cells share them. Every cell multiplies W_in, hc "
        "multiplies; every cell that has a left "
        "neighbour adds h², and every cell that has one above another h². The first column has no left, the "
        "first row no above, so on R×C cells "
        "there are R(C−1) + C(R−1) = 2RC − R − C such products. (Sheets that write the state under W_left as "
        "h^{i−1,j} count i along the row: "
        "their i is our column.)",
        counts,
        cell_by_cell,
        "**Depth.** A state waits for its left and upper neighbours, so cells of one anti-diagonal can be "
        "computed at once and the diagonals "
        "only one after another: R + C − 1 steps. A convolution waits for nothing inside a layer. "
        "**Receptive field.** One layer of the grid RNN "
        "sees everything above and to the left; a convolution sees its kernel, and layers are stacked to "
        "see more.",
        reach,
        compared,
        "**What it is good for.** The state of a cell depends on the pixels above and to the left of it and "
        "on no other. That is what completing an "
        "image needs: each pixel is predicted from those before it, and training on whole images cannot leak "
        "what is to be predicted. A convolution sees "
        "both sides and has to be masked for it.",
        completes,
    ),
    exercises=EXERCISES,
)
