"""Questions on how many dot products a pattern needs; wrong patterns are counted as the right ones are."""

from regard.lessons.checking.exercise import Domain, Exercise, Mistake, spelled
from regard.lessons.exercises.spellings import LENGTH
from regard.pattern import Blocks, Causal, Full, Neighbourhood, Strided, Windowed

ITSELF = Strided(back=0)

EXERCISES = spelled(
    {"n": LENGTH, "t": "k w s b", "w": "k t b s"},
    Exercise(
        name="autoregressive",
        asks="How many dot products does autoregressive attention need on n tokens?",
        formula="n(n+1)/2",
        domain=Domain("n ≥ 1", {"n": range(1, 61)}),
        count=Causal().pairs,
        mistakes=(
            Mistake("counting all pairs, those in the future too", count=Full().pairs),
            Mistake(
                "leaving out the token itself (n choose 2): it sees itself too",
                count=(Causal() & ~ITSELF).pairs,
            ),
            Mistake("taking half of the square, which cuts the diagonal in half too", "n^2/2"),
            Mistake("adding up 1 + … + n without halving", "n(n+1)"),
            Mistake("counting one row too many, 1 + … + (n+1)", "(n+1)(n+2)/2"),
            Mistake("counting one dot product a token", "n"),
        ),
    ),
    Exercise(
        name="strided",
        asks="And strided attention, where a token sees itself and at most t before it?",
        formula="(2n-t)(t+1)/2",
        domain=Domain("n ≥ t", {"n": range(1, 31), "t": range(16)}, lambda at: at["n"] >= at["t"]),
        count=lambda n, t: Strided(back=t).pairs(n),
        outside="for n < t every token sees all before it: n(n+1)/2",
        mistakes=(
            Mistake("giving every row t + 1 marks: the first t rows have fewer", "n(t+1)"),
            Mistake(
                "leaving out the token itself: it sees itself and t before it",
                count=lambda n, t: (Strided(back=t) & ~ITSELF).pairs(n),
            ),
            Mistake("counting t tokens with itself among them: it sees itself and t more", "n t - t(t-1)/2"),
            Mistake("giving every row t marks, itself and the border left out", "n t"),
            Mistake(
                "looking t tokens ahead as well as back: the window is not causal",
                count=lambda n, t: Neighbourhood(rows=1, cols=n, reach=t).pairs(n),
            ),
            Mistake("looking t tokens ahead as well as back, at both ends too", "n(2t+1)"),
            Mistake("counting autoregressive attention, whatever t is", count=lambda n, t: Causal().pairs(n)),
            Mistake("leaving out the first t rows", "(n-t)(t+1)"),
            Mistake(
                "taking t(t−1)/2 off at the border, one too few in each of the first t rows",
                "n(t+1) - t(t-1)/2",
            ),
            Mistake("adding the border where it has to be taken off", "n(t+1) + t(t+1)/2"),
        ),
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
        mistakes=(
            Mistake(
                "counting full squares of w×w: inside its window a token sees itself and those before it",
                count=lambda n, w: Blocks(size=w).pairs(n),
            ),
            Mistake("leaving out the token itself", count=lambda n, w: (Windowed(size=w) & ~ITSELF).pairs(n)),
            Mistake("counting one window only", "w(w+1)/2"),
            Mistake("taking half of each square, which cuts the diagonal in half too", "n w/2"),
            Mistake(
                "sliding the window along, as strided attention does: windows do not overlap",
                count=lambda n, w: Strided(back=w - 1).pairs(n),
            ),
            Mistake("giving every token w + 1 without halving", "n(w+1)"),
            Mistake("counting autoregressive attention, whatever w is", count=lambda n, w: Causal().pairs(n)),
            Mistake("counting how many windows there are", "n/w"),
        ),
        beyond=(
            Mistake("forgetting the last window, which is not full", "floor(n/w)*w(w+1)/2"),
            Mistake("counting the last window as a full one", "ceil(n/w)*w(w+1)/2"),
            Mistake("counting the last window by its share of a full one", "n(w+1)/2"),
            Mistake("counting one for each token left over", "floor(n/w)*w(w+1)/2 + mod(n, w)"),
        ),
    ),
)
