"""Questions on what several heads share and what each has of its own."""

from regard.lessons.checking.exercise import Domain, Exercise, Mistake, growth_domain, spelled
from regard.lessons.exercises.spellings import LENGTH

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
        mistakes=(
            Mistake("forgetting W_O", "3d^2"),
            Mistake("counting one head", "4d^2/H"),
            Mistake("giving every head the full width", "4H d^2"),
            Mistake("counting biases", "4d^2 + 4d"),
            Mistake("counting one matrix", "d^2"),
            Mistake("giving every head queries, keys and values of full width, and one W_O", "3H d^2 + d^2"),
        ),
    ),
    Exercise(
        name="scores",
        asks="How many scores do H heads compute on n tokens, without a mask?",
        formula="H n^2",
        domain=Domain("n, H ≥ 1", {"n": range(1, 20), "H": range(1, 9)}),
        mistakes=(
            Mistake("counting one head: each has a map of its own", "n^2"),
            Mistake("splitting the map among the heads: it is the width that is split", "n^2/H"),
            Mistake("counting one score a token", "H n"),
            Mistake("counting causal pairs only", "H n(n+1)/2"),
            Mistake("comparing heads with each other too", "H^2 n^2"),
        ),
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
        mistakes=(
            Mistake("giving every head the full width", "2H n^2 d"),
            Mistake("counting one head", "2n^2 d/H"),
            Mistake("counting the scores only", "n^2 d"),
            Mistake("counting scores and not the multiplies in each", "2H n^2"),
            Mistake("counting causal pairs only", "n(n+1) d"),
            Mistake("counting the projections too", "2n^2 d + 4n d^2"),
        ),
    ),
    Exercise(
        name="growth",
        asks=(
            "How do the multiplies of H heads of width d/H, projections included, grow on n tokens of"
            " width d?"
        ),
        formula="n*d^2 + n^2*d",
        domain=growth_domain("n", "d", "H", below="Hd"),
        growth=True,
        also=HEAD_WIDTH,
        mistakes=(
            Mistake("giving every head the full width", "H n d^2 + H n^2 d"),
            Mistake("forgetting the projections", "n^2 d"),
            Mistake("forgetting the pairs", "n d^2"),
            Mistake("counting one head", "n d^2/H + n^2 d/H"),
        ),
    ),
)
