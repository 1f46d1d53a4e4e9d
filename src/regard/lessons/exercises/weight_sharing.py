"""Questions on a filter as a linear layer: formulas first, then one small example in full."""

from regard.lessons.checking.exercise import Domain, Exercise, spelled
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
        accepted={
            "(n+2p-k)/s+1": (
                "where s divides n + 2p − k, as sheets print it; elsewhere it has to be rounded down, ⌊…⌋"
            ),
        },
        mistakes={
            "floor((n+2p-k)/s)": "forgetting the + 1: the first place counts too",
            "(n+2p-k)/s": "forgetting the + 1: the first place counts too, and rounding down",
            "floor((n+p-k)/s)+1": "padding one side only",
            "(n+p-k)/s+1": "padding one side only, and not rounding down",
            "n+2p-k+1": "forgetting the stride",
            "ceil((n+2p-k)/s)+1": "rounding up: a place that does not fit whole is left out",
            "ceil((n+2p-k)/s)": "rounding up in place of adding 1",
            "floor((n+2p)/s)": "forgetting the size of the filter",
            "floor((n+2p-k+1)/s)": "adding the 1 before dividing by the stride",
            "floor((n-2p-k)/s)+1": "taking the padding off",
            "floor((n-k)/s)+1": "forgetting the padding",
        },
    ),
    Exercise(
        name="unshared",
        asks="Without sharing, padding or stride: how many weights, for k weights on n inputs?",
        formula="k(n-k+1)",
        domain=Domain("k ≤ n", {"n": range(1, 20), "k": range(1, 10)}, lambda at: at["k"] <= at["n"]),
        outside="the filter does not fit: there is no output",
        aliases={"n": "W N I L", "k": "K F f m"},
        mistakes={
            "k": "sharing them",
            "n k": "taking n outputs: without padding there are n − k + 1",
            "n(n-k+1)": "filling the whole matrix, as a linear layer does",
            "k(n-k)": "forgetting the + 1 in the number of outputs",
            "n-k+1": "counting outputs",
            "n^2": "connecting everything with everything",
        },
    ),
    Exercise(
        name="filters",
        asks="How many weights have F filters of k×k over c channels, biases not counted?",
        formula="F*c*k^2",
        domain=Domain("F, c, k ≥ 1", {"F": range(1, 8), "c": range(1, 8), "k": range(1, 8)}),
        count=lambda F, c, k: compare(image=(c, 9, 9), filters=F, kernel=k, stride=1).shared,
        aliases={"F": "C_out c_out N M n m", "c": "C d D C_in c_in", "k": "K s w"},
        mistakes={
            "F k^2": "forgetting the channels: a filter has a k×k slice for each",
            "c k^2": "counting one filter",
            "F c k": "taking k weights for a k×k filter",
            "F c k^2 + F": "counting biases",
            "(F + c) k^2": "adding channels and filters",
        },
    ),
    Exercise(
        name="first",
        asks="A filter k_1, k_2, k_3 slides over x_1, …, x_9. Write its first output.",
        formula=row(1),
        domain=PLAIN,
        left=("y_1",),
        mistakes={
            "k3 x1 + k2 x2 + k1 x3": FLIPPED,
            row(1, padding=1): "padding, which was not asked for",
            "x1 + x2 + x3": "adding without weights",
            "k1 x1": "taking the first weight only",
            row(2): "giving the second output",
        },
    ),
    Exercise(
        name="second",
        asks="And its second output.",
        formula=row(2),
        domain=PLAIN,
        left=("y_2",),
        mistakes={
            "k3 x2 + k2 x3 + k1 x4": FLIPPED,
            row(2, stride=2): "moving on by two",
            row(2, stride=3): "moving on by the whole filter: places overlap",
            row(1): "giving the first output",
            "k2 x1 + k3 x2": "moving the weights and not the inputs",
        },
    ),
    Exercise(
        name="last",
        asks="And its last output.",
        formula=row(7),
        domain=PLAIN,
        left=("y_7",),
        mistakes={
            "k3 x7 + k2 x8 + k1 x9": FLIPPED,
            row(9, padding=1): "padding, which was not asked for",
            row(6): "stopping one place early",
            "k1 x9": "taking one input only",
            "k3 x9": "taking the last weight only",
        },
    ),
    Exercise(
        name="padded-size",
        asks="With padding 1 and stride 2 together: how many outputs are there?",
        formula=str(output_size(9, 3, stride=2, padding=1)),
        domain=Domain("a filter of 3 on 9 inputs"),
        mistakes={
            str(output_size(9, 3, stride=2)): "forgetting the padding",
            str(output_size(9, 3, padding=1)): "forgetting the stride",
            str(output_size(9, 3)): "forgetting both",
            "9/2 + 1": "not rounding down",
            "9/2": "halving nine",
        },
    ),
    Exercise(
        name="padded-first",
        asks="And which is the first of them?",
        formula=row(1, stride=2, padding=1),
        domain=BOTH,
        left=("y_1",),
        mistakes={
            row(1): "forgetting the padding",
            "k2 x1 + k1 x2": "flipping the filter: in deep learning it is not flipped",
            "k1 x1 + k2 x2": "leaving the last weight out: it is the first that lies on the padding",
            "k3 x1": "padding by two",
        },
    ),
    Exercise(
        name="padded-second",
        asks="And the second?",
        formula=row(2, stride=2, padding=1),
        domain=BOTH,
        left=("y_2",),
        mistakes={
            row(2, padding=1): "forgetting the stride",
            row(2, stride=2): "forgetting the padding",
            "k3 x2 + k2 x3 + k1 x4": FLIPPED,
        },
    ),
    Exercise(
        name="unshared-example",
        asks="Without sharing (and without padding or stride): how many weights has that layer?",
        formula=str(3 * output_size(9, 3)),
        domain=Domain("a filter of 3 on 9 inputs"),
        mistakes={
            "3": "sharing them",
            "27": "taking nine outputs: without padding there are seven",
            "63": "filling the whole 7×9 matrix, as a linear layer does",
            "18": "forgetting the + 1 in the number of outputs",
            "7": "counting outputs",
            "81": "connecting nine with nine",
        },
    ),
    MatrixExercise(
        name="average",
        asks="A 2×2 filter whose weights are all 1/4 slides over the rows 1 2 3, 4 5 6, 7 8 9: what results?",
        formula="[[3,4],[6,7]]",
        domain=Domain("no padding, stride 1"),
        mistakes={
            "[[12,16],[24,28]]": "adding without dividing by four",
            "[[3,6],[4,7]]": "exchanging rows and columns",
            "[[5,6],[8,9]]": "taking the largest in place of the mean",
            "[[1,3],[7,9]]": "giving the corners",
            "[[1,2],[4,5]]": "giving the upper left entries",
        },
    ),
    *RGB_LAYER,
)
