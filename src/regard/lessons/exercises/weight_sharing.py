"""Questions on a filter as a linear layer: formulas first, then one small example in full."""

from regard.lessons.checking.exercise import Accepted, Domain, Exercise, Mistake, spelled
from regard.lessons.checking.lists import MatrixExercise
from regard.lessons.exercises.rgb_layer import RGB_LAYER
from regard.sharing import compare, conv_matrix, output_size

SIZE = {"n": "W N I L i W_in n_in H", "k": "K F f m", "p": "P", "s": "S"}
SMALL = {f"k{i}": range(-3, 4) for i in range(1, 4)} | {f"x{i}": range(-3, 4) for i in range(1, 10)}
WEIGHTS = {f"k{i}": f"w{i} f{i} a{i}" for i in range(1, 4)}
PLAIN = Domain("k_1, k_2, k_3 on x_1, …, x_9", SMALL)
BOTH = Domain("k_1, k_2, k_3 on x_1, …, x_9, padding 1, stride 2", SMALL)


def row(output: int, stride: int = 1, padding: int = 0) -> str:
    """One output of the filter of three on nine inputs, from the matrix that does the same."""
    weights = conv_matrix(["k1", "k2", "k3"], 9, stride=stride, padding=padding).row(output - 1)
    return " + ".join(f"{weight} x{i}" for i, weight in enumerate(weights, 1) if weight != 0)


FLIPPED = "flipping the filter: in deep learning it is not flipped"

EXERCISES = spelled(
    WEIGHTS,
    Exercise(
        name="size",
        asks=(
            "How many outputs has a filter of k weights on n inputs, with padding p on both sides and"
            " stride s?"
        ),
        formula="floor((n+2p-k)/s)+1",
        domain=Domain(
            "k ≤ n + 2p",
            {"n": range(1, 10), "k": range(1, 8), "p": range(3), "s": range(1, 4)},
            lambda at: at["k"] <= at["n"] + 2 * at["p"],
        ),
        outside="the filter does not fit: there is no output",
        left=("output size", "W_out", "n_out"),
        aliases=SIZE,
        accepted=(
            Accepted(
                "(n+2p-k)/s+1",
                "where s divides n + 2p − k, as sheets print it; elsewhere it has to be rounded down, ⌊…⌋",
            ),
        ),
        mistakes=(
            Mistake("forgetting the + 1: the first place counts too", "floor((n+2p-k)/s)"),
            Mistake("forgetting the + 1: the first place counts too, and rounding down", "(n+2p-k)/s"),
            Mistake("padding one side only", "floor((n+p-k)/s)+1"),
            Mistake("padding one side only, and not rounding down", "(n+p-k)/s+1"),
            Mistake("forgetting the stride", "n+2p-k+1"),
            Mistake("rounding up: a place that does not fit whole is left out", "ceil((n+2p-k)/s)+1"),
            Mistake("rounding up in place of adding 1", "ceil((n+2p-k)/s)"),
            Mistake("forgetting the size of the filter", "floor((n+2p)/s)"),
            Mistake("adding the 1 before dividing by the stride", "floor((n+2p-k+1)/s)"),
            Mistake("taking the padding off", "floor((n-2p-k)/s)+1"),
            Mistake("forgetting the padding", "floor((n-k)/s)+1"),
        ),
    ),
    Exercise(
        name="unshared",
        asks="Without sharing, padding or stride: how many weights, for k weights on n inputs?",
        formula="k(n-k+1)",
        domain=Domain("k ≤ n", {"n": range(1, 20), "k": range(1, 10)}, lambda at: at["k"] <= at["n"]),
        outside="the filter does not fit: there is no output",
        aliases={"n": "W N I L", "k": "K F f m"},
        mistakes=(
            Mistake("sharing them", "k"),
            Mistake("taking n outputs: without padding there are n − k + 1", "n k"),
            Mistake("filling the whole matrix, as a linear layer does", "n(n-k+1)"),
            Mistake("forgetting the + 1 in the number of outputs", "k(n-k)"),
            Mistake("counting outputs", "n-k+1"),
            Mistake("connecting everything with everything", "n^2"),
        ),
    ),
    Exercise(
        name="filters",
        asks="How many weights have F filters of k×k over c channels, biases not counted?",
        formula="F*c*k^2",
        domain=Domain("F, c, k ≥ 1", {"F": range(1, 8), "c": range(1, 8), "k": range(1, 8)}),
        count=lambda F, c, k: compare(image=(c, 9, 9), filters=F, kernel=k, stride=1).shared,
        aliases={"F": "C_out c_out N M n m", "c": "C d D C_in c_in", "k": "K s w"},
        mistakes=(
            Mistake("forgetting the channels: a filter has a k×k slice for each", "F k^2"),
            Mistake("counting one filter", "c k^2"),
            Mistake("taking k weights for a k×k filter", "F c k"),
            Mistake("counting biases", "F c k^2 + F"),
            Mistake("adding channels and filters", "(F + c) k^2"),
        ),
    ),
    Exercise(
        name="first",
        asks="A filter k_1, k_2, k_3 slides over x_1, …, x_9. Write its first output.",
        formula=row(1),
        domain=PLAIN,
        left=("y_1",),
        mistakes=(
            Mistake(FLIPPED, "k3 x1 + k2 x2 + k1 x3"),
            Mistake("padding, which was not asked for", row(1, padding=1)),
            Mistake("adding without weights", "x1 + x2 + x3"),
            Mistake("taking the first weight only", "k1 x1"),
            Mistake("giving the second output", row(2)),
        ),
    ),
    Exercise(
        name="second",
        asks="And its second output.",
        formula=row(2),
        domain=PLAIN,
        left=("y_2",),
        mistakes=(
            Mistake(FLIPPED, "k3 x2 + k2 x3 + k1 x4"),
            Mistake("moving on by two", row(2, stride=2)),
            Mistake("moving on by the whole filter: places overlap", row(2, stride=3)),
            Mistake("giving the first output", row(1)),
            Mistake("moving the weights and not the inputs", "k2 x1 + k3 x2"),
        ),
    ),
    Exercise(
        name="last",
        asks="And its last output.",
        formula=row(7),
        domain=PLAIN,
        left=("y_7",),
        mistakes=(
            Mistake(FLIPPED, "k3 x7 + k2 x8 + k1 x9"),
            Mistake("padding, which was not asked for", row(9, padding=1)),
            Mistake("stopping one place early", row(6)),
            Mistake("taking one input only", "k1 x9"),
            Mistake("taking the last weight only", "k3 x9"),
        ),
    ),
    Exercise(
        name="padded-size",
        asks="With padding 1 and stride 2 together: how many outputs are there?",
        formula=str(output_size(9, 3, stride=2, padding=1)),
        domain=Domain("a filter of 3 on 9 inputs"),
        mistakes=(
            Mistake("forgetting the padding", str(output_size(9, 3, stride=2))),
            Mistake("forgetting the stride", str(output_size(9, 3, padding=1))),
            Mistake("forgetting both", str(output_size(9, 3))),
            Mistake("not rounding down", "9/2 + 1"),
            Mistake("halving nine", "9/2"),
        ),
    ),
    Exercise(
        name="padded-first",
        asks="And which is the first of them?",
        formula=row(1, stride=2, padding=1),
        domain=BOTH,
        left=("y_1",),
        mistakes=(
            Mistake("forgetting the padding", row(1)),
            Mistake("flipping the filter: in deep learning it is not flipped", "k2 x1 + k1 x2"),
            Mistake("leaving the last weight out: it is the first that lies on the padding", "k1 x1 + k2 x2"),
            Mistake("padding by two", "k3 x1"),
        ),
    ),
    Exercise(
        name="padded-second",
        asks="And the second?",
        formula=row(2, stride=2, padding=1),
        domain=BOTH,
        left=("y_2",),
        mistakes=(
            Mistake("forgetting the stride", row(2, padding=1)),
            Mistake("forgetting the padding", row(2, stride=2)),
            Mistake(FLIPPED, "k3 x2 + k2 x3 + k1 x4"),
        ),
    ),
    Exercise(
        name="unshared-example",
        asks="Without sharing (and without padding or stride): how many weights has that layer?",
        formula=str(3 * output_size(9, 3)),
        domain=Domain("a filter of 3 on 9 inputs"),
        mistakes=(
            Mistake("sharing them", "3"),
            Mistake("taking nine outputs: without padding there are seven", "27"),
            Mistake("filling the whole 7×9 matrix, as a linear layer does", "63"),
            Mistake("forgetting the + 1 in the number of outputs", "18"),
            Mistake("counting outputs", "7"),
            Mistake("connecting nine with nine", "81"),
        ),
    ),
    MatrixExercise(
        name="average",
        asks="A 2×2 filter whose weights are all 1/4 slides over the rows 1 2 3, 4 5 6, 7 8 9: what results?",
        formula="[[3,4],[6,7]]",
        domain=Domain("no padding, stride 1"),
        mistakes=(
            Mistake("adding without dividing by four", "[[12,16],[24,28]]"),
            Mistake("exchanging rows and columns", "[[3,6],[4,7]]"),
            Mistake("taking the largest in place of the mean", "[[5,6],[8,9]]"),
            Mistake("giving the corners", "[[1,3],[7,9]]"),
            Mistake("giving the upper left entries", "[[1,2],[4,5]]"),
        ),
    ),
    *RGB_LAYER,
)
