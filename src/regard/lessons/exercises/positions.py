"""Questions on codes of positions."""

from fractions import Fraction

from regard.lessons.checking.exercise import Domain, Exercise, spelled
from regard.lessons.exercises import LENGTH, WIDTH

EXERCISES = spelled(
    {"n": LENGTH, "d": WIDTH},
    Exercise(
        name="scaled",
        asks="Positions 1 … n are divided by n. How far apart are the codes of two neighbours?",
        formula="1/n",
        domain=Domain("n ≥ 1", {"n": range(1, 60)}),
        mistakes={
            "1": "taking positions that are not divided",
            "1/(n-1)": "dividing by the number of gaps: it was divided by n",
            "1/(n+1)": "dividing by n + 1",
            "n": "turning the fraction over",
            "1/n^2": "dividing twice",
        },
    ),
    Exercise(
        name="learned",
        asks="How many parameters has a learned table for n positions of width d?",
        formula="n d",
        domain=Domain("n, d ≥ 1", {"n": range(1, 25), "d": range(1, 25)}),
        mistakes={
            "n + d": "adding where each position has d numbers of its own",
            "n": "counting one number for each position",
            "d": "counting one position",
            "n^2 d": "counting a row for each pair of positions",
            "n d^2": "counting a matrix for each position",
            "n d + d": "adding a bias",
        },
    ),
    Exercise(
        name="sinusoid",
        asks=(
            "One frequency ω of a sinusoidal code gives the pair (sin ωt, cos ωt). What is the "
            "product of the pairs at t and at t + k?"
        ),
        formula="cos(omega*k)",
        domain=Domain(
            "any t, k, ω",
            {"omega": tuple(Fraction(i, 3) for i in range(1, 5)), "k": range(5), "t": range(5)},
        ),
        aliases={"omega": "w W theta f", "k": "d m", "t": "p i s"},
        mistakes={
            "cos(omega*(2t+k))": "taking a minus where the product has a plus",
            "sin(omega*k)": "multiplying sine by cosine",
            "cos(k)": "leaving ω out",
            "1": "taking a pair with itself",
            "cos(omega*(t+k))": "taking the code at t + k alone",
        },
    ),
    Exercise(
        name="alibi",
        asks=(
            "Alibi lowers the score of query i and key j by the slope m times their distance. What is"
            " added to it?"
        ),
        formula="-m(i-j)",
        domain=Domain(
            "j ≤ i",
            {"m": tuple(Fraction(1, k) for k in (1, 2, 4)), "i": range(1, 9), "j": range(1, 9)},
            lambda at: at["j"] <= at["i"],
        ),
        outside="a key in the future is masked, or its distance is j − i",
        aliases={"m": "s a k slope", "i": "q t", "j": "k s"},
        mistakes={
            "m(i-j)": "raising the score of far keys: it is lowered",
            "-(i-j)": "leaving out the slope",
            "-m": "leaving out the distance",
            "-m(i-j+1)": "counting both ends",
            "-m(i+j)": "adding the positions",
        },
    ),
)
