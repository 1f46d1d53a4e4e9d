"""The Recurrence room: what is left of the first input, step by step; all else the browser counts itself."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.recurrence import contribution
from regard.studio.api.body import Body
from regard.studio.limits import FieldError

KINDS = ("random", "rotation", "shear", "own")
STEPS = 200
HIDDEN, INPUTS = 8, 3  # of the random one
SIDE = 8  # of one's own
ENTRY = 100.0  # the largest
TURN = 0.7  # of the rotation, in radians

IMPORT = "import torch; from regard.recurrence import contribution; "


def share(body: Body) -> dict[str, object]:
    """‖W_h^(T−1) W_x‖ / ‖W_x‖ for T = 1, 2, …, at spectral radius 1 unless the matrix is one's own.

    At another radius r the T-th is r^(T−1) times as large, which the page multiplies by itself.
    """
    kind = body.choice("kind", KINDS)
    W_h, W_x, line = _layer(kind, body)
    found = [contribution(W_h, W_x, T) for T in range(1, STEPS + 1)]
    last = found[-1]
    return {
        "ratios": [one.ratio if math.isfinite(one.ratio) else None for one in found],
        "radius": last.radius,
        "rate": last.rate,
        "verdict": last.verdict,
        "scaled": kind != "own",
        "line": IMPORT + line,
    }


def _layer(kind: str, body: Body) -> tuple[Tensor, Tensor, str]:
    """W_h, W_x, and the line of Python that says the same, with RADIUS and STEPS to be put in."""
    if kind == "random":
        seed = body.whole("seed", 0, 9_999)
        draw = torch.Generator().manual_seed(seed)
        W_h = torch.randn(HIDDEN, HIDDEN, generator=draw, dtype=torch.float64)
        W_h /= torch.linalg.eigvals(W_h).abs().max()
        W_x = torch.randn(HIDDEN, INPUTS, generator=draw, dtype=torch.float64)
        return W_h, W_x, (
            f"g = torch.Generator().manual_seed({seed}); "
            f"W_h = torch.randn({HIDDEN}, {HIDDEN}, generator=g, dtype=torch.float64); "
            f"W_h *= RADIUS / torch.linalg.eigvals(W_h).abs().max(); "
            f"contribution(W_h, torch.randn({HIDDEN}, {INPUTS}, generator=g, dtype=torch.float64), STEPS)"
        )  # fmt: skip
    if kind == "own":
        W_h = _own(body.text("matrix", 500))
        return W_h, torch.eye(len(W_h), dtype=torch.float64), (
            f"contribution(torch.tensor({W_h.tolist()}, dtype=torch.float64), "
            f"torch.eye({len(W_h)}, dtype=torch.float64), STEPS)"
        )  # fmt: skip
    if kind == "rotation":
        rows = [[math.cos(TURN), -math.sin(TURN)], [math.sin(TURN), math.cos(TURN)]]
    else:
        rows = [[1.0, 1.0], [0.0, 1.0]]
    W_h = torch.tensor(rows, dtype=torch.float64)
    return (
        W_h,
        torch.eye(2, dtype=torch.float64),
        (
            f"contribution(RADIUS * torch.tensor({rows}, dtype=torch.float64), "
            "torch.eye(2, dtype=torch.float64), STEPS)"
        ),
    )


def _own(text: str) -> Tensor:
    """A square matrix of rows with ; between them.

    >>> _own("0.9 0.5; 0, 1").tolist()
    [[0.9, 0.5], [0.0, 1.0]]
    """
    rows = [row.replace(",", " ").replace("−", "-").split() for row in text.split(";") if row.strip()]
    if not rows or any(len(row) != len(rows) for row in rows):
        shape = ", ".join(str(len(row)) for row in rows) or "none"
        raise FieldError(
            "matrix", f"W_h must be square: {len(rows)} rows of {len(rows)} numbers, got {shape}"
        )
    if len(rows) > SIDE:
        raise FieldError("matrix", f"W_h may have at most {SIDE} rows here, got {len(rows)}")
    try:
        found = torch.tensor([[float(x) for x in row] for row in rows], dtype=torch.float64)
    except ValueError:
        wrong = next(x for row in rows for x in row if not _number(x))
        raise FieldError("matrix", f"{wrong[:20]!r} is no number") from None
    if not bool((found.abs() <= ENTRY).all()):  # NaN is not
        raise FieldError("matrix", f"entries must be from −{ENTRY:g} to {ENTRY:g}")
    return found


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
