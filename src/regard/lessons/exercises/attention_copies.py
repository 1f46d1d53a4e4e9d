"""Questions on attention without weights, on sums of orthogonal vectors of length β."""

from fractions import Fraction

from regard.lessons.checking.exercise import Domain, Exercise, spelled

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
        mistakes={
            "2beta^2": "giving the squared norm: take the root",
            "2beta": "adding the lengths: orthogonal vectors add by Pythagoras",
            "beta": "forgetting one of the two vectors",
            "sqrt(2)": "leaving β out",
            "sqrt(2beta)": "taking the root of 2β: under it stands 2β²",
            "sqrt(2)*beta^2": "taking the root of 2 only: of β² it is β",
            "beta^2": "giving the product with itself of one vector",
        },
    ),
    Exercise(
        name="product",
        asks="What is the product x₁·x₃ of x₁ = d + b and x₃ = c + b?",
        formula="beta^2",
        domain=LENGTHS,
        left=("x_1*x_3", "x_1^T x_3"),
        mistakes={
            "0": "overlooking that both contain b",
            "2beta^2": "giving the product of a token with itself",
            "beta": "giving the length of b: its product with itself is the square",
            "4beta^2": "multiplying all four pairs as if none were orthogonal",
        },
    ),
    Exercise(
        name="middle",
        asks="Which weight does y₂ give to x₂?",
        formula="exp(beta^2)/(exp(beta^2) + 2)",
        domain=LENGTHS,
        mistakes={
            "exp(beta^2)/(exp(beta^2) + 1)": "forgetting one of the two other tokens",
            "1": "giving the limit for large β",
            "exp(beta)/(exp(beta) + 2)": "taking the norm as the score: x₂·x₂ is its square",
            "1/(exp(beta^2) + 2)": "giving the weight of another token",
            "exp(2beta^2)/(exp(2beta^2) + 2)": "taking the score of the outer tokens: x₂ = a is one vector",
            "exp(beta^2)": "leaving out the division",
            "beta^2/(beta^2 + 2)": "leaving out the exponential",
            "exp(beta^2/2)/(exp(beta^2/2) + 2)": "scaling by 1/√4, which was not asked for",
        },
    ),
    Exercise(
        name="own",
        asks="Which weight does y₁ give to x₁?",
        formula="exp(2beta^2)/(exp(2beta^2) + 1 + exp(beta^2))",
        domain=LENGTHS,
        mistakes={
            "exp(beta^2)/(exp(2beta^2) + 1 + exp(beta^2))": "giving the weight of x₃",
            "exp(2beta^2)/(exp(2beta^2) + 2)": "overlooking that x₁ and x₃ share b",
            "exp(2beta^2)/(exp(2beta^2) + exp(beta^2))": "forgetting x₂: a score of 0 is still e⁰ = 1",
            "exp(beta^2)/(exp(beta^2) + 2)": "giving the weight of the middle row",
            "exp(2beta^2)": "leaving out the division",
            "2beta^2/(2beta^2 + beta^2)": "leaving out the exponential",
            "1": "giving the limit for large β",
            "exp(2beta)/(exp(2beta) + 1 + exp(beta))": "taking 2β and β as the scores: they are 2β² and β²",
        },
    ),
    Exercise(
        name="shared",
        asks="Which weight does y₁ give to x₃?",
        formula="exp(beta^2)/(exp(2beta^2) + 1 + exp(beta^2))",
        domain=LENGTHS,
        mistakes={
            "exp(2beta^2)/(exp(2beta^2) + 1 + exp(beta^2))": "giving the weight of x₁ itself",
            "1/(exp(2beta^2) + 1 + exp(beta^2))": "giving the weight of x₂",
            "1/(exp(2beta^2) + 2)": "overlooking that x₁ and x₃ share b",
            "exp(beta^2)/(exp(2beta^2) + exp(beta^2))": "forgetting x₂: a score of 0 is still e⁰ = 1",
            "exp(beta^2)/(exp(beta^2) + 2)": "giving the weight that y₂ gives to x₂",
            "exp(beta^2)/(2exp(beta^2) + 1)": "taking x₃'s score in place of x₁'s own",
            "0": "giving the limit for large β",
            "exp(beta)/(exp(2beta) + 1 + exp(beta))": "taking 2β and β as the scores: they are 2β² and β²",
            "exp(beta^2)": "leaving out the division",
            "beta^2/(2beta^2 + beta^2)": "leaving out the exponential",
        },
    ),
)
