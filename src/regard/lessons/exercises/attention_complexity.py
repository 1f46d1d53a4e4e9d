"""Questions on what an attention layer costs."""

from regard.cost import AttentionShape, price
from regard.lessons.checking.exercise import Domain, Exercise, growth_domain, spelled
from regard.lessons.exercises import LENGTH, WIDTH

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
        mistakes={
            "3n d^2 + 2n^2 d": "forgetting one projection, the one of the output",
            "4n d^2 + n^2 d": "counting one of the two products over pairs",
            "2n^2 d": "forgetting the projections",
            "4n d^2": "forgetting the products over pairs",
            "n d^2 + n^2 d": "dropping the factors, as a growth may",
            "8n d^2 + 4n^2 d": "counting adds too, two operations for each multiply",
            "4d^2": "counting parameters in place of multiplies",
            "4n d^2 + 2n^2": "counting scores and not the d multiplies in each",
            "n d^2 + 2n^2 d": "counting one projection",
            "4n d^2 + 2n^2 d + n^2": "scaling the scores too, one multiply each, which was left out",
            "4n d^2 + n(n+1) d": "counting causal pairs only",
        },
    ),
    Exercise(
        name="scores",
        asks="How many multiplies do the scores QKᵀ alone take?",
        formula="n^2 d",
        domain=SIZES,
        mistakes={
            "n^2": "counting scores and not the d multiplies in each",
            "n d^2": "counting a projection",
            "2n^2 d": "counting the weighted sums too",
            "d n(n+1)/2": "counting causal pairs only",
            "n^2 d^2": "counting a product of (n,d) by (d,n) as n²d²",
        },
    ),
    Exercise(
        name="growth",
        asks="How does the cost of the layer grow with n and d?",
        formula="d^2 n + n^2 d",
        domain=growth_domain("n", "d"),
        mistakes={
            "n^2 d": "counting the pairs and forgetting the projections",
            "n d^2": "counting the projections and forgetting the pairs",
            "n^2": "counting pairs without their width",
            "n^2 d^2": "multiplying the two terms: one comes after the other",
        },
    ),
    Exercise(
        name="crossing",
        asks="At which n do the products over pairs take as many multiplies as the four projections?",
        formula="2d",
        domain=Domain("d ≥ 1", {"d": range(1, 40)}),
        left=("n", "T", "N", "L"),
        solves="n",
        mistakes={
            "d": "comparing n²d with nd²: there are two of the one and four of the other",
            "4d": "counting one product over pairs: there are two",
            "d/2": "turning the fraction over",
            "3d/2": "counting three projections, as the sheet does: W_O is the fourth",
            "2d^2": "leaving a d in: it cancels",
        },
    ),
)
