"""Questions on an unrolled linear RNN, whose matrices do not commute, and on what it and attention cost."""

from regard.lessons.checking.exercise import Domain, Exercise, Mistake, growth_domain, spelled
from regard.lessons.checking.matrices import ProductExercise
from regard.lessons.exercises.spellings import LENGTH, WIDTH

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
        mistakes=(
            Mistake("going through W_h T times: x_1 enters at step 1, so T − 1 remain", "a^T b"),
            Mistake("forgetting W_x", "a^(T-1)"),
            Mistake("exchanging the two", "a b^(T-1)"),
            Mistake("raising W_x too: x_1 enters once", "(a b)^(T-1)"),
            Mistake("adding along the path: the factors multiply", "a(T-1) + b"),
            Mistake("stopping one step early", "a^(T-2) b"),
        ),
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
        mistakes=(
            Mistake("taking φ_y apart: it is not linear", "phi_y(W_y W_h W_x x_1) + phi_y(W_y W_x x_2)"),
            Mistake(
                "exchanging the inputs: x_1 is the one that went through W_h",
                "phi_y(W_y W_x x_1 + W_y W_h W_x x_2)",
            ),
            Mistake("forgetting W_h", "phi_y(W_y W_x x_1 + W_y W_x x_2)"),
            Mistake("forgetting the state before", "phi_y(W_y W_x x_2)"),
            Mistake("applying φ_y before W_y: it comes last", "W_y phi_y(W_h W_x x_1 + W_x x_2)"),
            Mistake("forgetting W_y", "phi_y(W_h W_x x_1 + W_x x_2)"),
            Mistake("applying φ_y twice", "phi_y(phi_y(W_y W_h W_x x_1 + W_y W_x x_2))"),
            Mistake("putting both inputs through W_h", "phi_y(W_y W_h (W_x x_1 + W_x x_2))"),
        ),
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
        mistakes=(
            Mistake(
                "taking φ_y apart: it is not linear",
                "phi_y(W_y W_h^2 W_x x_1) + phi_y(W_y W_h W_x x_2) + phi_y(W_y W_x x_3)",
            ),
            Mistake(
                "putting x_1 through W_h once: two steps lie behind it",
                "phi_y(W_y W_h W_x x_1 + W_y W_h W_x x_2 + W_y W_x x_3)",
            ),
            Mistake(
                "turning the order of the inputs round: the oldest went through W_h most often",
                "phi_y(W_y W_x x_1 + W_y W_h W_x x_2 + W_y W_h^2 W_x x_3)",
            ),
            Mistake("counting one step too many", "phi_y(W_y W_h (W_h^2 W_x x_1 + W_h W_x x_2 + W_x x_3))"),
            Mistake("forgetting x_1", "phi_y(W_y W_h W_x x_2 + W_y W_x x_3)"),
            Mistake("stopping at y_2", "phi_y(W_y W_h W_x x_1 + W_y W_x x_2)"),
            Mistake("forgetting W_y", "phi_y(W_h^2 W_x x_1 + W_h W_x x_2 + W_x x_3)"),
            Mistake(
                "applying φ_y before W_y: it comes last", "W_y phi_y(W_h^2 W_x x_1 + W_h W_x x_2 + W_x x_3)"
            ),
        ),
    ),
    Exercise(
        name="rnn-growth",
        asks="How do the multiplies of an RNN of width d grow on T tokens (or with T alone)?",
        formula="T d^2",
        domain=growth_domain("T", "d"),
        growth=True,
        ignores=("d",),
        alike=("d",),
        mistakes=(
            Mistake("comparing all pairs of tokens: a step looks at one state only", "T^2 d"),
            Mistake("counting a step as d: a matrix times a vector is d²", "T d"),
            Mistake("counting one step", "d^2"),
            Mistake("looking back at all steps before, each with a matrix", "T^2 d^2"),
        ),
    ),
    Exercise(
        name="attention-growth",
        asks="And those of an attention layer?",
        formula="T d^2 + T^2 d",
        domain=growth_domain("T", "d"),
        growth=True,
        ignores=("d",),
        mistakes=(
            Mistake("forgetting the pairs", "T d^2"),
            Mistake("forgetting the projections", "T^2 d"),
            Mistake("multiplying the two terms: one comes after the other", "T^2 d^2"),
            Mistake("comparing triples of tokens", "T^3 d"),
        ),
    ),
    Exercise(
        name="pooled-growth",
        asks=(
            "And those of the sheet's attention, α_t = Σ_j (Q x_t)·(K x_j) / √T and y_t = Σ_i e^{α_i} V x_i "
            "/ Σ_i e^{α_i}, done cleverly?"
        ),
        formula="T d^2",
        domain=growth_domain("T", "d"),
        growth=True,
        ignores=("d",),
        mistakes=(
            Mistake("doing it as it is printed: Σ_j K x_j can be taken first", "T^2 d + T d^2"),
            Mistake("doing it as it is printed, without the projections", "T^2 d"),
            Mistake("counting a projection as d: a matrix times a vector is d²", "T d"),
        ),
    ),
)
