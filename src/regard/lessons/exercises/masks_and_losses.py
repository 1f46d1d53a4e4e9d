"""Questions on masks, targets and padding."""

from regard.lessons.checking.exercise import Domain, Exercise, Mistake, spelled
from regard.lessons.exercises.spellings import LENGTH
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
        mistakes=(
            Mistake("giving every token a target: behind the last one nothing follows", "n"),
            Mistake("taking one off at both ends", "n-2"),
            Mistake("adding one for the end: no such token is there", "n+1"),
            Mistake("counting pairs of tokens", "n(n-1)/2"),
        ),
    ),
    Exercise(
        name="padding",
        asks="B lines are filled up to length T and hold m real tokens in all. How many cells are padding?",
        formula="B T - m",
        domain=BATCH,
        outside="so many tokens do not fit",
        mistakes=(
            Mistake("counting the cells that are real", "m"),
            Mistake("counting all cells", "B T"),
            Mistake("looking at one line only", "T - m"),
            Mistake("taking the shift off too: it is asked for cells, not for targets", "B T - m - B"),
            Mistake("taking the difference the other way round", "m - B T"),
        ),
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
        mistakes=(
            Mistake("forgetting the shift: the first token of each line is no target", "m"),
            Mistake("counting padding as targets", "B T - B"),
            Mistake("taking one off for the whole batch and not for each line", "m - 1"),
            Mistake("counting the padding", "B T - m"),
            Mistake("counting all cells", "B T"),
        ),
    ),
    Exercise(
        name="hidden",
        asks="How many of the n×n scores does the causal mask hide?",
        formula="n(n-1)/2",
        domain=Domain("n ≥ 1", {"n": range(1, 50)}),
        count=(~Causal()).pairs,
        mistakes=(
            Mistake("counting those that stay", count=lambda n: Causal().pairs(n)),
            Mistake("taking half of the square, which cuts the diagonal in half too", "n^2/2"),
            Mistake("hiding everything but the diagonal", "n^2 - n"),
            Mistake("counting all scores", "n^2"),
            Mistake("hiding a row and a column too few", "(n-1)(n-2)/2"),
        ),
    ),
    Exercise(
        name="uniform",
        asks=(
            "What is the loss (natural logarithm) of a model that gives each of V tokens the same "
            "probability?"
        ),
        formula="log(V)",
        domain=Domain("V ≥ 2", {"V": range(2, 40)}),
        mistakes=(
            Mistake("giving the probability", "1/V"),
            Mistake("forgetting the minus in front of the logarithm", "-log(V)"),
            Mistake("taking the logarithm to base 2", "log2(V)"),
            Mistake("taking the logarithm to base 10", "log10(V)"),
            Mistake("giving the perplexity", "V"),
            Mistake("summing over all V tokens: only the target counts", "V*log(V)"),
        ),
    ),
)
