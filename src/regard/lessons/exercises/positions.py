"""Questions on codes of positions."""

from fractions import Fraction

from regard.lessons.checking.exercise import Domain, Exercise, Mistake, spelled
from regard.lessons.exercises.spellings import LENGTH, WIDTH

EXERCISES = spelled(
    {"n": LENGTH, "d": WIDTH},
    Exercise(
        name="scaled",
        asks="Positions 1 … n are divided by n. How far apart are the codes of two neighbours?",
        formula="1/n",
        domain=Domain("n ≥ 1", {"n": range(1, 60)}),
        mistakes=(
            Mistake("taking positions that are not divided", "1"),
            Mistake("dividing by the number of gaps: it was divided by n", "1/(n-1)"),
            Mistake("dividing by n + 1", "1/(n+1)"),
            Mistake("turning the fraction over", "n"),
            Mistake("dividing twice", "1/n^2"),
        ),
    ),
    Exercise(
        name="learned",
        asks="How many parameters has a learned table for n positions of width d?",
        formula="n d",
        domain=Domain("n, d ≥ 1", {"n": range(1, 25), "d": range(1, 25)}),
        mistakes=(
            Mistake("adding where each position has d numbers of its own", "n + d"),
            Mistake("counting one number for each position", "n"),
            Mistake("counting one position", "d"),
            Mistake("counting a row for each pair of positions", "n^2 d"),
            Mistake("counting a matrix for each position", "n d^2"),
            Mistake("adding a bias", "n d + d"),
        ),
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
        mistakes=(
            Mistake("taking a minus where the product has a plus", "cos(omega*(2t+k))"),
            Mistake("multiplying sine by cosine", "sin(omega*k)"),
            Mistake("leaving ω out", "cos(k)"),
            Mistake("taking a pair with itself", "1"),
            Mistake("taking the code at t + k alone", "cos(omega*(t+k))"),
        ),
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
        mistakes=(
            Mistake("raising the score of far keys: it is lowered", "m(i-j)"),
            Mistake("leaving out the slope", "-(i-j)"),
            Mistake("leaving out the distance", "-m"),
            Mistake("counting both ends", "-m(i-j+1)"),
            Mistake("adding the positions", "-m(i+j)"),
        ),
    ),
)
