"""Rules of recurrences: along a sequence, and over a grid with its borders counted exactly."""

from __future__ import annotations

from regard.cost.dense import kept, linear_gradient, product, weights
from regard.cost.result import Cost
from regard.cost.setting import Setting, less_one
from regard.layers.letters import Number
from regard.layers.recurrent_shapes import GRUShape, ScanShape


def steps(rows: Number, links: Number, inputs: Number, hidden: Number, bias: bool) -> Cost:
    """The arithmetic of `rows` states, of which `links` times one reads the state before it.

    >>> steps(rows=16, links=24, inputs=3, hidden=5, bias=False).multiplies  # a 4×4 grid has 24 links
    840
    """
    out = product(rows, inputs, hidden) + product(links, hidden, hidden)
    joined = links * hidden  # each link's product is added to what was there
    out += Cost(adds=joined, product_adds=joined)
    return out + Cost(adds=rows * hidden) if bias else out


def steps_gradient(
    rows: Number, links: tuple[Number, ...], inputs: Number, hidden: Number, bias: bool, needs_input: bool
) -> Cost:
    """Back through every link, and a gradient for each weight; `links` are those of each recurrent weight."""
    out = linear_gradient(rows, inputs, hidden, bias, needs_input)
    for count in links:
        out += product(count, hidden, hidden) + product(hidden, count, hidden, maybe_none=True)
        joined = count * hidden
        out += Cost(adds=joined, product_adds=joined)
    return out


def scan(shape: ScanShape, s: Setting) -> Cost:
    """One recurrence from no state; on a grid the first row and column have one neighbour less."""
    inputs, hidden, bias = shape.channels, shape.hidden, shape.bias
    links: tuple[Number, ...]  # of each recurrent weight
    if shape.grid:
        rows, cols = s.need_image()
        cells, depth = s.batch * rows * cols, rows + cols - 1
        links = (s.batch * rows * less_one(cols), s.batch * less_one(rows) * cols)  # left, top
    else:
        depth = s.need_tokens()
        cells, links = s.batch * depth, (s.batch * less_one(depth),)
    out = steps(cells, sum(links), inputs, hidden, bias)
    out += kept(s, cells, hidden, inputs) + Cost(depth=depth) + activated(shape.activation, cells * hidden)
    out += weights(s, hidden * inputs + len(links) * hidden**2 + (hidden if bias else 0))
    return out + steps_gradient(cells, links, inputs, hidden, bias, s.inputs_learn) if s.training else out


def gru_steps(rows: Number, links: Number, inputs: Number, hidden: Number, bias: bool = True) -> Cost:
    """The arithmetic of `rows` states of a GRU, of which `links` read the state before them.

    r, z = σ(W x + b + U h + c), n = tanh(W x + b + r·(U h + c)), and the new state is n + z·(h − n).

    >>> gru_steps(rows=1, links=0, inputs=3, hidden=5).adds  # W x, b, c on r and z, n's sum, 1 − z
    65
    """
    first = rows - links  # they have no U h, and (1 − z)·n is their new state
    out = product(rows, inputs, 3 * hidden) + product(links, hidden, 3 * hidden)
    joined = 3 * links + (6 * rows if bias else 0)  # U h, b and c
    blended = 2 * links + first
    out += Cost(multiplies=(rows if bias else links) * hidden, adds=joined * hidden)  # r·(U h + c)
    out += Cost(multiplies=rows * hidden, adds=blended * hidden)
    return out + Cost(other={"sigmoid": 2 * rows * hidden, "tanh": rows * hidden})


def gru_gradient(
    rows: Number, links: Number, inputs: Number, hidden: Number, bias: bool, needs_input: bool
) -> Cost:
    """Back through every link, and a gradient for each weight."""
    out = linear_gradient(rows, inputs, 3 * hidden, bias, needs_input)
    out += product(links, 3 * hidden, hidden) + product(3 * hidden, links, hidden, maybe_none=True)
    return out + Cost(adds=less_one(rows) * 3 * hidden) if bias else out


def gru(shape: GRUShape, s: Setting) -> Cost:
    """One GRU over T steps from no state."""
    T, inputs, hidden = s.need_tokens(), shape.channels, shape.hidden
    rows, links = s.batch * T, s.batch * less_one(T)
    out = gru_steps(rows, links, inputs, hidden) + kept(s, rows, 4 * hidden, inputs) + Cost(depth=T)
    out += weights(s, 3 * hidden * (inputs + hidden + 2))
    return out + gru_gradient(rows, links, inputs, hidden, True, s.inputs_learn) if s.training else out


def activated(activation: str, count: Number) -> Cost:
    """An elementwise function; the identity is none."""
    return Cost() if activation == "identity" else Cost(other={activation: count})
