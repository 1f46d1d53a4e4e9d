"""Questions on attention without the exponential, bracketed in two ways."""

from regard.lessons.checking.exercise import Domain, Exercise, Mistake, growth_domain, spelled
from regard.lessons.exercises.spellings import LENGTH, WIDTH

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
        mistakes=(
            Mistake("counting one of the two products", "T^2 d"),
            Mistake("taking KᵀV first", "2T d^2"),
            Mistake("counting the scores and not the multiplies in each", "2T^2"),
            Mistake("counting a T×T times T×d product as T²d²", "2T^2 d^2"),
            Mistake("multiplying the two counts: one product comes after the other", "T^4 d^2"),
            Mistake("counting adds too, two operations for each multiply", "4T^2 d"),
            Mistake("counting adds too (k terms take k − 1)", "T^2(2d-1) + T d(2T-1)"),
            Mistake("counting three T×d matrices", "3T d"),
            Mistake("counting causal pairs only", "T(T+1) d"),
            Mistake("scaling the scores too, one multiply each", "2T^2 d + T^2"),
        ),
    ),
    Exercise(
        name="summary-first",
        asks="And Q(KᵀV)?",
        formula="2*T*d^2",
        domain=SIZES,
        left=("Q(K^TV)",),
        mistakes=(
            Mistake("counting one of the two products", "T d^2"),
            Mistake("taking QKᵀ first", "2T^2 d"),
            Mistake("forgetting that both products run over T rows", "2d^2"),
            Mistake("counting d in place of d² for each token", "2T d"),
            Mistake("adding one product of each bracketing", "T d^2 + T^2 d"),
            Mistake("counting adds too, two operations for each multiply", "4T d^2"),
            Mistake("counting adds too (k terms take k − 1)", "d^2(2T-1) + T d(2d-1)"),
        ),
    ),
    Exercise(
        name="state",
        asks="How many numbers does the summary KᵀV hold?",
        formula="d^2",
        domain=SIZES,
        mistakes=(
            Mistake("counting keys and values, which softmax attention keeps", "2T d"),
            Mistake("counting the scores", "T^2"),
            Mistake("counting keys only", "T d"),
            Mistake("counting one vector: KᵀV is a d×d matrix", "d"),
            Mistake("counting it twice", "2d^2"),
            Mistake(
                "adding the sum of the keys: decoding keeps it too, for the divisor, but it is not in KᵀV",
                "d^2 + d",
            ),
        ),
    ),
    Exercise(
        name="growth",
        asks="How does the cost of linear attention grow with T and d (or with T alone)?",
        formula="T*d^2",
        domain=growth_domain("T", "d"),
        growth=True,
        ignores=("d",),
        mistakes=(
            Mistake("comparing all pairs, as softmax attention does", "T^2 d"),
            Mistake("taking d steps for each token: a d×d summary takes d²", "T d"),
            Mistake("counting the summary only, without the T tokens", "d^2"),
            Mistake("sorting or searching, which nothing does here", "T d^2 log(T)"),
        ),
    ),
)
