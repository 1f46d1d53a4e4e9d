"""Questions on attention without the exponential, bracketed in two ways."""

from regard.lessons.checking.exercise import Domain, Exercise, growth_domain, spelled
from regard.lessons.exercises import LENGTH, WIDTH

SIZES = Domain("T, d ≥ 1", {"T": range(1, 25), "d": range(1, 25)})
LETTERS = {"T": LENGTH, "d": WIDTH}

EXERCISES = spelled(
    LETTERS,
    Exercise(
        name="scores-first",
        asks="How many multiplies does (QKᵀ)V need, for Q, K, V of T rows and d columns?",
        formula="2*T^2*d",
        domain=SIZES,
        left=("(QK^T)V",),
        mistakes={
            "T^2 d": "counting one of the two products",
            "2T d^2": "taking KᵀV first",
            "2T^2": "counting the scores and not the multiplies in each",
            "2T^2 d^2": "counting a T×T times T×d product as T²d²",
            "T^4 d^2": "multiplying the two counts: one product comes after the other",
            "4T^2 d": "counting adds too, two operations for each multiply",
            "T^2(2d-1) + T d(2T-1)": "counting adds too (k terms take k − 1)",
            "3T d": "counting three T×d matrices",
            "T(T+1) d": "counting causal pairs only",
            "2T^2 d + T^2": "scaling the scores too, one multiply each",
        },
    ),
    Exercise(
        name="summary-first",
        asks="And Q(KᵀV)?",
        formula="2*T*d^2",
        domain=SIZES,
        left=("Q(K^TV)",),
        mistakes={
            "T d^2": "counting one of the two products",
            "2T^2 d": "taking QKᵀ first",
            "2d^2": "forgetting that both products run over T rows",
            "2T d": "counting d in place of d² for each token",
            "T d^2 + T^2 d": "adding one product of each bracketing",
            "4T d^2": "counting adds too, two operations for each multiply",
            "d^2(2T-1) + T d(2d-1)": "counting adds too (k terms take k − 1)",
        },
    ),
    Exercise(
        name="state",
        asks="How many numbers does the summary KᵀV hold?",
        formula="d^2",
        domain=SIZES,
        mistakes={
            "2T d": "counting keys and values, which softmax attention keeps",
            "T^2": "counting the scores",
            "T d": "counting keys only",
            "d": "counting one vector: KᵀV is a d×d matrix",
            "2d^2": "counting it twice",
            "d^2 + d": (
                "adding the sum of the keys: decoding keeps it too, for the divisor, but it is not in KᵀV"
            ),
        },
    ),
    Exercise(
        name="growth",
        asks="How does the cost of linear attention grow with T and d (or with T alone)?",
        formula="T*d^2",
        domain=growth_domain("T", "d"),
        ignores=("d",),
        mistakes={
            "T^2 d": "comparing all pairs, as softmax attention does",
            "T d": "taking d steps for each token: a d×d summary takes d²",
            "d^2": "counting the summary only, without the T tokens",
            "T d^2 log(T)": "sorting or searching, which nothing does here",
        },
    ),
)
