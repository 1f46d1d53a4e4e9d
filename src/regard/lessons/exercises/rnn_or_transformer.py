"""Questions on an unrolled linear RNN, whose matrices do not commute, and on what it and attention cost."""

from regard.lessons.checking.exercise import Domain, Exercise, growth_domain, spelled
from regard.lessons.checking.matrices import ProductExercise
from regard.lessons.exercises import LENGTH, WIDTH

UNROLLED = Domain("φ_h the identity, φ_y any function, h_0 = 0")
MATRICES = {"W_y": (4, 3), "W_h": (3, 3), "W_x": (3, 2)}
INPUTS = {"x_1": (2, 1), "x_2": (2, 1), "x_3": (2, 1)}
THREE = MATRICES | INPUTS | {"h_0": (3, 1)}
TWO = {name: sides for name, sides in THREE.items() if name != "x_3"}
OTHERS = {"W_y": "W_hy W_yh W_out V", "W_h": "W_hh W", "W_x": "W_xh W_hx W_in U"}
FUNCTIONS = {
    **dict.fromkeys(("phi_y", "phiy", "phi", "sigma_y", "sigma", "f_y", "g_y"), "phi_y"),
    **dict.fromkeys(("phi_h", "phih", "sigma_h", "f_h"), "identity"),
}
MISSING = "φ_y is missing: only φ_h is the identity"
LETTERS = {"T": LENGTH, "d": WIDTH, **OTHERS}

EXERCISES = spelled(
    LETTERS,
    Exercise(
        name="first",
        asks="With numbers a for W_h and b for W_x: what is the factor of x_1 in h_T?",
        formula="a^(T-1) b",
        domain=Domain("T ≥ 1", {"a": range(-3, 4), "b": range(-2, 3), "T": range(1, 9)}),
        aliases={"T": "n N t", "a": "w_h W_h", "b": "w_x W_x"},
        mistakes={
            "a^T b": "going through W_h T times: x_1 enters at step 1, so T − 1 remain",
            "a^(T-1)": "forgetting W_x",
            "a b^(T-1)": "exchanging the two",
            "(a b)^(T-1)": "raising W_x too: x_1 enters once",
            "a(T-1) + b": "adding along the path: the factors multiply",
            "a^(T-2) b": "stopping one step early",
        },
    ),
    ProductExercise(
        name="y2",
        asks="Only φ_h is the identity. Write y_2 = φ_y(W_y h_2) in W_y, W_h, W_x, x_1 and x_2.",
        formula="phi_y(W_y W_h W_x x_1 + W_y W_x x_2)",
        domain=UNROLLED,
        shapes=TWO,
        zeros=("h_0",),
        functions=FUNCTIONS,
        unknown="phi_y",
        missing=MISSING,
        left=("y_2",),
        mistakes={
            "phi_y(W_y W_h W_x x_1) + phi_y(W_y W_x x_2)": "taking φ_y apart: it is not linear",
            "phi_y(W_y W_x x_1 + W_y W_h W_x x_2)": (
                "exchanging the inputs: x_1 is the one that went through W_h"
            ),
            "phi_y(W_y W_x x_1 + W_y W_x x_2)": "forgetting W_h",
            "phi_y(W_y W_x x_2)": "forgetting the state before",
            "W_y phi_y(W_h W_x x_1 + W_x x_2)": "applying φ_y before W_y: it comes last",
            "phi_y(W_h W_x x_1 + W_x x_2)": "forgetting W_y",
            "phi_y(phi_y(W_y W_h W_x x_1 + W_y W_x x_2))": "applying φ_y twice",
            "phi_y(W_y W_h (W_x x_1 + W_x x_2))": "putting both inputs through W_h",
        },
    ),
    ProductExercise(
        name="y3",
        asks="And y_3, in W_y, W_h, W_x, x_1, x_2 and x_3.",
        formula="phi_y(W_y W_h^2 W_x x_1 + W_y W_h W_x x_2 + W_y W_x x_3)",
        domain=UNROLLED,
        shapes=THREE,
        zeros=("h_0",),
        functions=FUNCTIONS,
        unknown="phi_y",
        missing=MISSING,
        left=("y_3",),
        mistakes={
            "phi_y(W_y W_h^2 W_x x_1) + phi_y(W_y W_h W_x x_2) + phi_y(W_y W_x x_3)": (
                "taking φ_y apart: it is not linear"
            ),
            "phi_y(W_y W_h W_x x_1 + W_y W_h W_x x_2 + W_y W_x x_3)": (
                "putting x_1 through W_h once: two steps lie behind it"
            ),
            "phi_y(W_y W_x x_1 + W_y W_h W_x x_2 + W_y W_h^2 W_x x_3)": (
                "turning the order of the inputs round: the oldest went through W_h most often"
            ),
            "phi_y(W_y W_h (W_h^2 W_x x_1 + W_h W_x x_2 + W_x x_3))": "counting one step too many",
            "phi_y(W_y W_h W_x x_2 + W_y W_x x_3)": "forgetting x_1",
            "phi_y(W_y W_h W_x x_1 + W_y W_x x_2)": "stopping at y_2",
            "phi_y(W_h^2 W_x x_1 + W_h W_x x_2 + W_x x_3)": "forgetting W_y",
            "W_y phi_y(W_h^2 W_x x_1 + W_h W_x x_2 + W_x x_3)": "applying φ_y before W_y: it comes last",
        },
    ),
    Exercise(
        name="rnn-growth",
        asks="How do the multiplies of an RNN of width d grow on T tokens (or with T alone)?",
        formula="T d^2",
        domain=growth_domain("T", "d"),
        ignores=("d",),
        alike=("d",),
        mistakes={
            "T^2 d": "comparing all pairs of tokens: a step looks at one state only",
            "T d": "counting a step as d: a matrix times a vector is d²",
            "d^2": "counting one step",
            "T^2 d^2": "looking back at all steps before, each with a matrix",
        },
    ),
    Exercise(
        name="attention-growth",
        asks="And those of an attention layer?",
        formula="T d^2 + T^2 d",
        domain=growth_domain("T", "d"),
        ignores=("d",),
        mistakes={
            "T d^2": "forgetting the pairs",
            "T^2 d": "forgetting the projections",
            "T^2 d^2": "multiplying the two terms: one comes after the other",
            "T^3 d": "comparing triples of tokens",
        },
    ),
    Exercise(
        name="pooled-growth",
        asks=(
            "And those of the sheet's attention, α_t = Σ_j (Q x_t)·(K x_j) / √T and y_t = Σ_i e^{α_i} V x_i "
            "/ Σ_i e^{α_i}, done cleverly?"
        ),
        formula="T d^2",
        domain=growth_domain("T", "d"),
        ignores=("d",),
        mistakes={
            "T^2 d + T d^2": "doing it as it is printed: Σ_j K x_j can be taken first",
            "T^2 d": "doing it as it is printed, without the projections",
            "T d": "counting a projection as d: a matrix times a vector is d²",
        },
    ),
)
