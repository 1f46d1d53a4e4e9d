"""Questions on the sheet's layer: a 256×256 RGB image, 32 filters of 5×5, stride 2, no padding."""

from regard.lessons.checking.exercise import Accepted, Domain, Exercise, Mistake
from regard.lessons.checking.lists import ShapeExercise
from regard.sharing import compare

LAYER = Domain("256×256 RGB, 32 filters of 5×5, stride 2, no padding, no biases")
FOUND = compare(image=(3, 256, 256), filters=32, kernel=5, stride=2)
LAST = "with the channels last; torch has them first"
SLIP = 508_302  # as printed; 32·126·126 is 508,032


def sides(numbers: tuple[int, ...]) -> str:
    """A shape as an answer."""
    return "(" + ",".join(map(str, numbers)) + ")"


def side(stride: int = 2, padding: int = 0) -> int:
    """The side of the output."""
    return compare(image=(3, 256, 256), filters=32, kernel=5, stride=stride, padding=padding).outputs[1]


RGB_LAYER = (
    ShapeExercise(
        name="input-shape",
        asks=(
            "A layer with 32 filters of 5×5 and stride 2 reads a 256×256 RGB image. What is the shape"
            " of its input?"
        ),
        formula=sides(FOUND.image),
        domain=LAYER,
        accepted=(Accepted("(256,256,3)", LAST),),
        mistakes=(
            Mistake("forgetting the three colours", "(256,256)"),
            Mistake("forgetting the three colours, and keeping a channel", "(1,256,256)"),
            Mistake("giving it a channel for each filter", "(32,256,256)"),
            Mistake("putting the channels between the sides", "(256,3,256)"),
        ),
    ),
    ShapeExercise(
        name="weight-shape",
        asks="And of its weights?",
        formula="(32,3,5,5)",
        domain=LAYER,
        accepted=(
            Accepted("(5,5,3,32)", "as (rows, columns, in, out); torch has (out, in, rows, columns)"),
            Accepted("(32,5,5,3)", LAST),
        ),
        mistakes=(
            Mistake("forgetting the channels: a filter has a 5×5 slice for each colour", "(32,5,5)"),
            Mistake("describing one filter", "(3,5,5)"),
            Mistake("exchanging channels in and out", "(3,32,5,5)"),
            Mistake("giving a filter one channel", "(32,1,5,5)"),
        ),
    ),
    ShapeExercise(
        name="output-shape",
        asks="And of its output?",
        formula=sides(FOUND.outputs),
        domain=LAYER,
        accepted=(Accepted("(126,126,32)", LAST),),
        mistakes=(
            Mistake("forgetting the + 1: the first place counts too", "(32,125,125)"),
            Mistake("rounding up: a place that does not fit whole is left out", "(32,127,127)"),
            Mistake("forgetting the stride", sides((32, side(stride=1), side(stride=1)))),
            Mistake("padding by two, which was not asked for", sides((32, side(padding=2), side(padding=2)))),
            Mistake("keeping the channels of the input: each filter gives one", "(3,126,126)"),
            Mistake("keeping the colours apart: a filter adds them up", "(96,126,126)"),
            Mistake(
                "keeping the colours apart: a filter adds them up (as a side of their own)", "(32,3,126,126)"
            ),
            Mistake("forgetting the channels", "(126,126)"),
        ),
    ),
    Exercise(
        name="outputs",
        asks="How many numbers does the layer put out?",
        formula=str(FOUND.outputs_count),
        domain=LAYER,
        mistakes=(
            Mistake(f"copying {SLIP} from the printed solution, which swaps two digits", str(SLIP)),
            Mistake("counting one filter", str(126 * 126)),
            Mistake("forgetting the stride", str(32 * side(stride=1) ** 2)),
            Mistake("forgetting the + 1 in the side", str(32 * 125**2)),
            Mistake("rounding the side up", str(32 * 127**2)),
            Mistake("padding until the side is half of 256", str(32 * 128**2)),
            Mistake("counting the numbers that go in", str(FOUND.inputs_count)),
        ),
    ),
    Exercise(
        name="shared",
        asks="How many weights has the layer, biases not counted?",
        formula=str(FOUND.shared),
        domain=LAYER,
        mistakes=(
            Mistake("forgetting the channels: a filter has a 5×5 slice for each colour", str(32 * 25)),
            Mistake("counting one filter", str(3 * 25)),
            Mistake("counting biases", str(FOUND.shared + 32)),
            Mistake("giving up the sharing", str(FOUND.unshared)),
            Mistake("taking 5 weights for a 5×5 filter", str(32 * 3 * 5)),
            Mistake("counting the filters", "32"),
        ),
    ),
    Exercise(
        name="dense",
        asks="And how many would a linear layer between the same input and output have?",
        formula=str(FOUND.dense),
        domain=LAYER,
        mistakes=(
            Mistake(
                f"copying {SLIP} outputs from the printed solution, which swaps two digits; it is 508,032",
                f"{FOUND.inputs_count}*{SLIP}",
            ),
            Mistake("counting biases", str(FOUND.dense + FOUND.outputs_count)),
            Mistake("forgetting the three colours of the input", f"256*256*{FOUND.outputs_count}"),
            Mistake("counting one filter", f"{FOUND.inputs_count}*126*126"),
            Mistake("adding inputs and outputs", str(FOUND.inputs_count + FOUND.outputs_count)),
            Mistake("giving up the sharing only: a linear layer connects everything", str(FOUND.unshared)),
            Mistake("connecting the input with itself", str(FOUND.inputs_count**2)),
        ),
    ),
)
