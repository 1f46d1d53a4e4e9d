"""Questions on how many dot products a pattern needs."""

from regard.lessons.checking.exercise import Domain, Exercise, spelled
from regard.lessons.exercises import LENGTH
from regard.pattern import Causal, Strided

EXERCISES = spelled(
    {"n": LENGTH, "t": "k w s b", "w": "k t b s"},
    Exercise(
        name="autoregressive",
        asks="How many dot products does autoregressive attention need on n tokens?",
        formula="n(n+1)/2",
        domain=Domain("n ≥ 1", {"n": range(1, 61)}),
        count=Causal().pairs,
        mistakes={
            "n^2/2": "taking half of the square, which cuts the diagonal in half too",
            "n^2": "counting all pairs, those in the future too",
            "n(n-1)/2": "leaving out the token itself (n choose 2): it sees itself too",
            "n(n+1)": "adding up 1 + … + n without halving",
            "(n+1)(n+2)/2": "counting one row too many, 1 + … + (n+1)",
            "n": "counting one dot product a token",
        },
    ),
    Exercise(
        name="strided",
        asks="And strided attention, where a token sees itself and at most t before it?",
        formula="(2n-t)(t+1)/2",
        domain=Domain("n ≥ t", {"n": range(1, 31), "t": range(16)}, lambda at: at["n"] >= at["t"]),
        count=lambda n, t: Strided(back=t).pairs(n),
        outside="for n < t every token sees all before it: n(n+1)/2",
        mistakes={
            "n(t+1)": "giving every row t + 1 marks: the first t rows have fewer",
            "n t - t(t+1)/2": "leaving out the token itself: it sees itself and t before it",
            "n t - t(t-1)/2": "counting t tokens with itself among them: it sees itself and t more",
            "n t": "giving every row t marks, itself and the border left out",
            "(2n-t)(t+1) - n": "looking t tokens ahead as well as back: the window is not causal",
            "n(2t+1)": "looking t tokens ahead as well as back, at both ends too",
            "n(n+1)/2": "counting autoregressive attention, whatever t is",
            "(n-t)(t+1)": "leaving out the first t rows",
            "n(t+1) - t(t-1)/2": "taking t(t−1)/2 off at the border, one too few in each of the first t rows",
            "n(t+1) + t(t+1)/2": "adding the border where it has to be taken off",
        },
    ),
    Exercise(
        name="windowed",
        asks="And windowed attention, with windows of w tokens?",
        formula="n(w+1)/2",
        domain=Domain(
            "w divides n", {"n": range(1, 41), "w": range(1, 13)}, lambda at: at["n"] % at["w"] == 0
        ),
        # As Windowed(size=w).pairs(n), which takes long for so many points.
        count=lambda n, w: sum(i % w + 1 for i in range(n)),
        outside="with r = n mod w tokens left over: ⌊n/w⌋·w(w+1)/2 + r(r+1)/2",
        mistakes={
            "w(w+1)/2": "counting one window only",
            "n w": "counting full squares of w×w: inside its window a token sees itself and those before it",
            "n(w-1)/2": "leaving out the token itself",
            "n w/2": "taking half of each square, which cuts the diagonal in half too",
            "w(2n-w+1)/2": "sliding the window along, as strided attention does: windows do not overlap",
            "n(w+1)": "giving every token w + 1 without halving",
            "n(n+1)/2": "counting autoregressive attention, whatever w is",
            "n/w": "counting how many windows there are",
        },
        beyond={
            "floor(n/w)*w(w+1)/2": "forgetting the last window, which is not full",
            "ceil(n/w)*w(w+1)/2": "counting the last window as a full one",
            "n(w+1)/2": "counting the last window by its share of a full one",
            "floor(n/w)*w(w+1)/2 + mod(n, w)": "counting one for each token left over",
        },
    ),
)
