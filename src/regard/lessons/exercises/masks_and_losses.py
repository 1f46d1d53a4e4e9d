"""Questions on masks, targets and padding."""

from regard.lessons.checking.exercise import Domain, Exercise, spelled
from regard.lessons.exercises import LENGTH
from regard.pattern import Causal

BATCH = Domain(
    "B ≤ m ≤ BT",
    {"B": range(1, 7), "T": range(1, 9), "m": range(1, 30)},
    lambda at: at["B"] <= at["m"] <= at["B"] * at["T"],
)
LETTERS = {"B": "N b", "T": "n L", "m": "M", "n": LENGTH, "V": "n N K k C"}

EXERCISES = spelled(
    LETTERS,
    Exercise(
        name="targets",
        asks="A line has n tokens, <START> included. How many targets has it?",
        formula="n-1",
        domain=Domain("n ≥ 2", {"n": range(1, 60)}, lambda at: at["n"] >= 2),
        outside="a line of <START> alone has nothing to predict",
        mistakes={
            "n": "giving every token a target: behind the last one nothing follows",
            "n-2": "taking one off at both ends",
            "n+1": "adding one for the end: no such token is there",
            "n(n-1)/2": "counting pairs of tokens",
        },
    ),
    Exercise(
        name="padding",
        asks="B lines are filled up to length T and hold m real tokens in all. How many cells are padding?",
        formula="B T - m",
        domain=BATCH,
        outside="so many tokens do not fit",
        mistakes={
            "m": "counting the cells that are real",
            "B T": "counting all cells",
            "T - m": "looking at one line only",
            "B T - m - B": "taking the shift off too: it is asked for cells, not for targets",
            "m - B T": "taking the difference the other way round",
        },
    ),
    Exercise(
        name="batch",
        asks=(
            "How many targets has that batch, each of its B lines beginning with <START> and padding "
            "left out?"
        ),
        formula="m - B",
        domain=BATCH,
        outside="so many tokens do not fit, or a line is empty",
        mistakes={
            "m": "forgetting the shift: the first token of each line is no target",
            "B T - B": "counting padding as targets",
            "m - 1": "taking one off for the whole batch and not for each line",
            "B T - m": "counting the padding",
            "B T": "counting all cells",
        },
    ),
    Exercise(
        name="hidden",
        asks="How many of the n×n scores does the causal mask hide?",
        formula="n(n-1)/2",
        domain=Domain("n ≥ 1", {"n": range(1, 50)}),
        count=(~Causal()).pairs,
        mistakes={
            "n^2/2": "taking half of the square, which cuts the diagonal in half too",
            "n(n+1)/2": "counting those that stay",
            "n^2 - n": "hiding everything but the diagonal",
            "n^2": "counting all scores",
            "(n-1)(n-2)/2": "hiding a row and a column too few",
        },
    ),
    Exercise(
        name="uniform",
        asks=(
            "What is the loss (natural logarithm) of a model that gives each of V tokens the same "
            "probability?"
        ),
        formula="log(V)",
        domain=Domain("V ≥ 2", {"V": range(2, 40)}),
        mistakes={
            "1/V": "giving the probability",
            "-log(V)": "forgetting the minus in front of the logarithm",
            "log2(V)": "taking the logarithm to base 2",
            "log10(V)": "taking the logarithm to base 10",
            "V": "giving the perplexity",
            "V*log(V)": "summing over all V tokens: only the target counts",
        },
    ),
)
