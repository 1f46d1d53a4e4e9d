"""Questions on the sheet's layer: a 256×256 RGB image, 32 filters of 5×5, stride 2, no padding."""

from regard.lessons.checking.exercise import Domain, Exercise
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
        accepted={
            "(256,256,3)": LAST,
        },
        mistakes={
            "(256,256)": "forgetting the three colours",
            "(1,256,256)": "forgetting the three colours, and keeping a channel",
            "(32,256,256)": "giving it a channel for each filter",
            "(256,3,256)": "putting the channels between the sides",
        },
    ),
    ShapeExercise(
        name="weight-shape",
        asks="And of its weights?",
        formula="(32,3,5,5)",
        domain=LAYER,
        accepted={
            "(5,5,3,32)": "as (rows, columns, in, out); torch has (out, in, rows, columns)",
            "(32,5,5,3)": LAST,
        },
        mistakes={
            "(32,5,5)": "forgetting the channels: a filter has a 5×5 slice for each colour",
            "(3,5,5)": "describing one filter",
            "(3,32,5,5)": "exchanging channels in and out",
            "(32,1,5,5)": "giving a filter one channel",
        },
    ),
    ShapeExercise(
        name="output-shape",
        asks="And of its output?",
        formula=sides(FOUND.outputs),
        domain=LAYER,
        accepted={
            "(126,126,32)": LAST,
        },
        mistakes={
            "(32,125,125)": "forgetting the + 1: the first place counts too",
            "(32,127,127)": "rounding up: a place that does not fit whole is left out",
            sides((32, side(stride=1), side(stride=1))): "forgetting the stride",
            sides((32, side(padding=2), side(padding=2))): "padding by two, which was not asked for",
            "(3,126,126)": "keeping the channels of the input: each filter gives one",
            "(96,126,126)": "keeping the colours apart: a filter adds them up",
            "(32,3,126,126)": "keeping the colours apart: a filter adds them up (as a side of their own)",
            "(126,126)": "forgetting the channels",
        },
    ),
    Exercise(
        name="outputs",
        asks="How many numbers does the layer put out?",
        formula=str(FOUND.outputs_count),
        domain=LAYER,
        mistakes={
            str(SLIP): f"copying {SLIP} from the printed solution, which swaps two digits",
            str(126 * 126): "counting one filter",
            str(32 * side(stride=1) ** 2): "forgetting the stride",
            str(32 * 125**2): "forgetting the + 1 in the side",
            str(32 * 127**2): "rounding the side up",
            str(32 * 128**2): "padding until the side is half of 256",
            str(FOUND.inputs_count): "counting the numbers that go in",
        },
    ),
    Exercise(
        name="shared",
        asks="How many weights has the layer, biases not counted?",
        formula=str(FOUND.shared),
        domain=LAYER,
        mistakes={
            str(32 * 25): "forgetting the channels: a filter has a 5×5 slice for each colour",
            str(3 * 25): "counting one filter",
            str(FOUND.shared + 32): "counting biases",
            str(FOUND.unshared): "giving up the sharing",
            str(32 * 3 * 5): "taking 5 weights for a 5×5 filter",
            "32": "counting the filters",
        },
    ),
    Exercise(
        name="dense",
        asks="And how many would a linear layer between the same input and output have?",
        formula=str(FOUND.dense),
        domain=LAYER,
        mistakes={
            f"{FOUND.inputs_count}*{SLIP}": (
                f"copying {SLIP} outputs from the printed solution, which swaps two digits; it is 508,032"
            ),
            str(FOUND.dense + FOUND.outputs_count): "counting biases",
            f"256*256*{FOUND.outputs_count}": "forgetting the three colours of the input",
            f"{FOUND.inputs_count}*126*126": "counting one filter",
            str(FOUND.inputs_count + FOUND.outputs_count): "adding inputs and outputs",
            str(FOUND.unshared): "giving up the sharing only: a linear layer connects everything",
            str(FOUND.inputs_count**2): "connecting the input with itself",
        },
    ),
)
