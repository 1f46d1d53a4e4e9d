"""Recurrence and sharing in the browser are ours: random sizes, counted by both."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import regard
from regard.recurrence import grid_rnn, identity
from regard.recurrence.grid import STARTS
from regard.sharing import compare, output_size
from regard.sharing.matrix import conv_entries

FOLDER = Path(regard.__file__).parent / "paper" / "browser"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="the browser's modules are tested with node: install it")
DRAW = random.Random(20261119)


def ask(module, questions):
    """What functions of a module give to each [name, arguments…]: one process for all."""
    command = [NODE, str(Path(__file__).with_name("modules_node.mjs")), (FOLDER / module).as_uri()]
    lines = "\n".join(map(json.dumps, questions)) + "\n"
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, encoding="utf-8")
    return list(map(json.loads, done.stdout.splitlines()))


GRIDS = [(DRAW.randint(1, 7), DRAW.randint(1, 7), start) for start in STARTS for _ in range(12)]


def corner(rows, cols, start):
    x = torch.zeros(1, rows, cols, 1, dtype=torch.float64)
    x[0, -1 if "bottom" in start else 0, -1 if "right" in start else 0] = 1
    return x


def test_paths_are_what_the_recurrence_counts():
    one = torch.ones(1, 1, dtype=torch.float64)
    said = ask("recurrence.js", [["paths", *grid] for grid in GRIDS])
    for (rows, cols, start), found in zip(GRIDS, said, strict=True):
        ran = grid_rnn(corner(rows, cols, start), one, one, one, identity, start=start, impl="reference")
        assert found == ran.flatten().int().tolist(), (rows, cols, start)


def test_a_cell_depends_on_what_its_gradient_reaches():
    questions, wanted = [], []
    one = torch.ones(1, 1, dtype=torch.float64)
    for rows, cols, start in GRIDS[::3]:
        x = torch.zeros(1, rows, cols, 1, dtype=torch.float64, requires_grad=True)
        cell = DRAW.randrange(rows), DRAW.randrange(cols)
        state = grid_rnn(x, one, one, one, identity, start=start, impl="reference")[0, *cell, 0]
        (seen,) = torch.autograd.grad(state, x)
        for row in range(rows):
            for col in range(cols):
                questions.append(["dependsOn", rows, cols, start, cell, (row, col)])
                wanted.append(bool(seen[0, row, col, 0] != 0))
    assert ask("recurrence.js", questions) == wanted


@pytest.mark.parametrize("order", ["loop", "wave"])
def test_no_cell_is_computed_before_what_it_waits_for(order):
    said = ask("recurrence.js", [["steps", *grid, order] for grid in GRIDS])
    for (rows, cols, start), when in zip(GRIDS, said, strict=True):
        cells = [(row, col) for row in range(rows) for col in range(cols)]
        waits = ask("recurrence.js", [["waitsFor", rows, cols, start, *cell] for cell in cells])
        for (row, col), before in zip(cells, waits, strict=True):
            assert len(before) == (row != (rows - 1 if "bottom" in start else 0)) + (
                col != (cols - 1 if "right" in start else 0)
            )
            assert all(when[r * cols + c] < when[row * cols + col] for r, c in before)
        (depth,) = ask("recurrence.js", [["depth", rows, cols, order]])
        assert depth == max(when) + 1 == (rows * cols if order == "loop" else rows + cols - 1)


def test_the_matrix_of_a_filter_is_pythons():
    layers = [
        (DRAW.randint(1, 20), DRAW.randint(1, 9), DRAW.randint(1, 5), DRAW.randint(0, 4)) for _ in range(400)
    ]
    refused = 0
    for (n, kernel, stride, padding), said in zip(
        layers, ask("sharing.js", [["entries", *x] for x in layers]), strict=True
    ):
        try:
            found = conv_entries((kernel,), n, stride, padding)
        except ValueError:
            refused += 1
            assert said["kind"] == "SizeError"
            continue
        taps = torch.full(found.shape, -1)
        taps[found.row, found.col] = found.source
        assert (said["rows"], said["taps"]) == (len(taps), taps.flatten().tolist())
        assert said["rows"] == output_size(n, kernel, stride, padding)
    assert 0 < refused < 100


def test_counts_of_weights_are_pythons():
    names = ("channels", "rows", "cols", "filters", "kernel", "stride", "padding")
    most = (4096, 5000, 5000, 4096, 60, 40, 30)
    layers = [
        {name: DRAW.randint(name != "padding", top) for name, top in zip(names, most, strict=True)}
        for _ in range(300)
    ]
    for layer, said in zip(layers, ask("sharing.js", [["compare", x] for x in layers]), strict=True):
        image = layer["channels"], layer["rows"], layer["cols"]
        try:
            found = compare(image, layer["filters"], layer["kernel"], layer["stride"], layer["padding"])
        except ValueError:
            assert said["kind"] == "SizeError"
            continue
        assert (said["down"], said["across"]) == found.outputs[1:]
        counts = {name: int(said[name]) for name in ("shared", "unshared", "dense", "inputs", "outputs")}
        assert counts == {"shared": found.shared, "unshared": found.unshared, "dense": found.dense,
                          "inputs": found.inputs_count, "outputs": found.outputs_count}  # fmt: skip
