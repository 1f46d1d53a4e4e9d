"""Questions on what an attention layer costs."""

from regard.cost import AttentionShape, price
from regard.lessons.checking.exercise import Domain, Exercise, Mistake, growth_domain, spelled
from regard.lessons.exercises.spellings import LENGTH, WIDTH

SIZES = Domain("n, d ≥ 1", {"n": range(1, 20), "d": range(1, 20)})
LETTERS = {"n": LENGTH, "d": WIDTH}

EXERCISES = spelled(
    LETTERS,
    Exercise(
        name="multiplies",
        asks=(
            "How many multiplies do four projections and both products over pairs take together (one "
            "head, no scaling)?"
        ),
        formula="4n d^2 + 2n^2 d",
        domain=SIZES,
        count=lambda n, d: int(price(AttentionShape(width=d), tokens=n).macs),
        mistakes=(
            Mistake("forgetting one projection, the one of the output", "3n d^2 + 2n^2 d"),
            Mistake("counting one of the two products over pairs", "4n d^2 + n^2 d"),
            Mistake("forgetting the projections", "2n^2 d"),
            Mistake("forgetting the products over pairs", "4n d^2"),
            Mistake("dropping the factors, as a growth may", "n d^2 + n^2 d"),
            Mistake("counting adds too, two operations for each multiply", "8n d^2 + 4n^2 d"),
            Mistake("counting parameters in place of multiplies", "4d^2"),
            Mistake("counting scores and not the d multiplies in each", "4n d^2 + 2n^2"),
            Mistake("counting one projection", "n d^2 + 2n^2 d"),
            Mistake("scaling the scores too, one multiply each, which was left out", "4n d^2 + 2n^2 d + n^2"),
            Mistake("counting causal pairs only", "4n d^2 + n(n+1) d"),
        ),
    ),
    Exercise(
        name="scores",
        asks="How many multiplies do the scores QKᵀ alone take?",
        formula="n^2 d",
        domain=SIZES,
        mistakes=(
            Mistake("counting scores and not the d multiplies in each", "n^2"),
            Mistake("counting a projection", "n d^2"),
            Mistake("counting the weighted sums too", "2n^2 d"),
            Mistake("counting causal pairs only", "d n(n+1)/2"),
            Mistake("counting a product of (n,d) by (d,n) as n²d²", "n^2 d^2"),
        ),
    ),
    Exercise(
        name="growth",
        asks="How does the cost of the layer grow with n and d?",
        formula="d^2 n + n^2 d",
        domain=growth_domain("n", "d"),
        growth=True,
        mistakes=(
            Mistake("counting the pairs and forgetting the projections", "n^2 d"),
            Mistake("counting the projections and forgetting the pairs", "n d^2"),
            Mistake("counting pairs without their width", "n^2"),
            Mistake("multiplying the two terms: one comes after the other", "n^2 d^2"),
        ),
    ),
    Exercise(
        name="crossing",
        asks="At which n do the products over pairs take as many multiplies as the four projections?",
        formula="2d",
        domain=Domain("d ≥ 1", {"d": range(1, 40)}),
        left=("n", "T", "N", "L"),
        solves="n",
        mistakes=(
            Mistake("comparing n²d with nd²: there are two of the one and four of the other", "d"),
            Mistake("counting one product over pairs: there are two", "4d"),
            Mistake("turning the fraction over", "d/2"),
            Mistake("counting three projections, as the sheet does: W_O is the fourth", "3d/2"),
            Mistake("leaving a d in: it cancels", "2d^2"),
        ),
    ),
)
