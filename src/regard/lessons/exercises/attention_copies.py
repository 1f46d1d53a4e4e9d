"""Questions on attention without weights, on sums of orthogonal vectors of length β."""

from fractions import Fraction

from regard.lessons.checking.exercise import Domain, Exercise, Mistake, spelled

LENGTHS = Domain("β > 0", {"beta": tuple(Fraction(k, 2) for k in range(1, 9))})
BETA = {"beta": "b B"}

EXERCISES = spelled(
    BETA,
    Exercise(
        name="norm",
        asks="What is the norm of x₁ = d + b?",
        formula="sqrt(2)*beta",
        domain=LENGTHS,
        left=("|x_1|", "|d+b|", "|b+d|"),
        mistakes=(
            Mistake("giving the squared norm: take the root", "2beta^2"),
            Mistake("adding the lengths: orthogonal vectors add by Pythagoras", "2beta"),
            Mistake("forgetting one of the two vectors", "beta"),
            Mistake("leaving β out", "sqrt(2)"),
            Mistake("taking the root of 2β: under it stands 2β²", "sqrt(2beta)"),
            Mistake("taking the root of 2 only: of β² it is β", "sqrt(2)*beta^2"),
            Mistake("giving the product with itself of one vector", "beta^2"),
        ),
    ),
    Exercise(
        name="product",
        asks="What is the product x₁·x₃ of x₁ = d + b and x₃ = c + b?",
        formula="beta^2",
        domain=LENGTHS,
        left=("x_1*x_3", "x_1^T x_3"),
        mistakes=(
            Mistake("overlooking that both contain b", "0"),
            Mistake("giving the product of a token with itself", "2beta^2"),
            Mistake("giving the length of b: its product with itself is the square", "beta"),
            Mistake("multiplying all four pairs as if none were orthogonal", "4beta^2"),
        ),
    ),
    Exercise(
        name="middle",
        asks="Which weight does y₂ give to x₂?",
        formula="exp(beta^2)/(exp(beta^2) + 2)",
        domain=LENGTHS,
        mistakes=(
            Mistake("forgetting one of the two other tokens", "exp(beta^2)/(exp(beta^2) + 1)"),
            Mistake("giving the limit for large β", "1"),
            Mistake("taking the norm as the score: x₂·x₂ is its square", "exp(beta)/(exp(beta) + 2)"),
            Mistake("giving the weight of another token", "1/(exp(beta^2) + 2)"),
            Mistake(
                "taking the score of the outer tokens: x₂ = a is one vector",
                "exp(2beta^2)/(exp(2beta^2) + 2)",
            ),
            Mistake("leaving out the division", "exp(beta^2)"),
            Mistake("leaving out the exponential", "beta^2/(beta^2 + 2)"),
            Mistake("scaling by 1/√4, which was not asked for", "exp(beta^2/2)/(exp(beta^2/2) + 2)"),
        ),
    ),
    Exercise(
        name="own",
        asks="Which weight does y₁ give to x₁?",
        formula="exp(2beta^2)/(exp(2beta^2) + 1 + exp(beta^2))",
        domain=LENGTHS,
        mistakes=(
            Mistake("giving the weight of x₃", "exp(beta^2)/(exp(2beta^2) + 1 + exp(beta^2))"),
            Mistake("overlooking that x₁ and x₃ share b", "exp(2beta^2)/(exp(2beta^2) + 2)"),
            Mistake(
                "forgetting x₂: a score of 0 is still e⁰ = 1", "exp(2beta^2)/(exp(2beta^2) + exp(beta^2))"
            ),
            Mistake("giving the weight of the middle row", "exp(beta^2)/(exp(beta^2) + 2)"),
            Mistake("leaving out the division", "exp(2beta^2)"),
            Mistake("leaving out the exponential", "2beta^2/(2beta^2 + beta^2)"),
            Mistake("giving the limit for large β", "1"),
            Mistake(
                "taking 2β and β as the scores: they are 2β² and β²",
                "exp(2beta)/(exp(2beta) + 1 + exp(beta))",
            ),
        ),
    ),
    Exercise(
        name="shared",
        asks="Which weight does y₁ give to x₃?",
        formula="exp(beta^2)/(exp(2beta^2) + 1 + exp(beta^2))",
        domain=LENGTHS,
        mistakes=(
            Mistake("giving the weight of x₁ itself", "exp(2beta^2)/(exp(2beta^2) + 1 + exp(beta^2))"),
            Mistake("giving the weight of x₂", "1/(exp(2beta^2) + 1 + exp(beta^2))"),
            Mistake("overlooking that x₁ and x₃ share b", "1/(exp(2beta^2) + 2)"),
            Mistake(
                "forgetting x₂: a score of 0 is still e⁰ = 1", "exp(beta^2)/(exp(2beta^2) + exp(beta^2))"
            ),
            Mistake("giving the weight that y₂ gives to x₂", "exp(beta^2)/(exp(beta^2) + 2)"),
            Mistake("taking x₃'s score in place of x₁'s own", "exp(beta^2)/(2exp(beta^2) + 1)"),
            Mistake("giving the limit for large β", "0"),
            Mistake(
                "taking 2β and β as the scores: they are 2β² and β²", "exp(beta)/(exp(2beta) + 1 + exp(beta))"
            ),
            Mistake("leaving out the division", "exp(beta^2)"),
            Mistake("leaving out the exponential", "beta^2/(2beta^2 + beta^2)"),
        ),
    ),
)
