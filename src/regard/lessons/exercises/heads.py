"""Questions on what several heads share and what each has of its own."""

from regard.lessons.checking.exercise import Domain, Exercise, growth_domain, spelled
from regard.lessons.exercises import LENGTH

DIVIDES = "H divides d"
WIDTH = "D C k d_model"
HEADS = "h A a"
HEAD_WIDTH = dict.fromkeys(("d_h", "d_k", "d_v", "d_head"), "d/H")

EXERCISES = spelled(
    {"n": LENGTH, "d": WIDTH, "H": HEADS},
    Exercise(
        name="parameters",
        asks=(
            "How many weights have W_Q, W_K, W_V and W_O together for H heads of width d/H on tokens "
            "of width d, no biases?"
        ),
        formula="4d^2",
        domain=Domain(DIVIDES, {"d": range(1, 33), "H": range(1, 9)}, lambda at: at["d"] % at["H"] == 0),
        outside="heads of width d/H do not exist",
        also=HEAD_WIDTH,
        mistakes={
            "3d^2": "forgetting W_O",
            "4d^2/H": "counting one head",
            "4H d^2": "giving every head the full width",
            "4d^2 + 4d": "counting biases",
            "d^2": "counting one matrix",
            "3H d^2 + d^2": "giving every head queries, keys and values of full width, and one W_O",
        },
    ),
    Exercise(
        name="scores",
        asks="How many scores do H heads compute on n tokens, without a mask?",
        formula="H n^2",
        domain=Domain("n, H ≥ 1", {"n": range(1, 20), "H": range(1, 9)}),
        mistakes={
            "n^2": "counting one head: each has a map of its own",
            "n^2/H": "splitting the map among the heads: it is the width that is split",
            "H n": "counting one score a token",
            "H n(n+1)/2": "counting causal pairs only",
            "H^2 n^2": "comparing heads with each other too",
        },
    ),
    Exercise(
        name="pairs",
        asks=(
            "How many multiplies do scores and weighted sums of H heads of width d/H take together on"
            " n tokens of width d?"
        ),
        formula="2n^2 d",
        domain=Domain(
            DIVIDES,
            {"n": range(1, 8), "d": range(1, 25), "H": range(1, 7)},
            lambda at: at["d"] % at["H"] == 0,
        ),
        outside="heads of width d/H do not exist",
        also=HEAD_WIDTH,
        mistakes={
            "2H n^2 d": "giving every head the full width",
            "2n^2 d/H": "counting one head",
            "n^2 d": "counting the scores only",
            "2H n^2": "counting scores and not the multiplies in each",
            "n(n+1) d": "counting causal pairs only",
            "2n^2 d + 4n d^2": "counting the projections too",
        },
    ),
    Exercise(
        name="growth",
        asks=(
            "How do the multiplies of H heads of width d/H, projections included, grow on n tokens of"
            " width d?"
        ),
        formula="n*d^2 + n^2*d",
        domain=growth_domain("n", "d", "H", below="Hd"),
        also=HEAD_WIDTH,
        mistakes={
            "H n d^2 + H n^2 d": "giving every head the full width",
            "n^2 d": "forgetting the projections",
            "n d^2": "forgetting the pairs",
            "n d^2/H + n^2 d/H": "counting one head",
        },
    ),
)
