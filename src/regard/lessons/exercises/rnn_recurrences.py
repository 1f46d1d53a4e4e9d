"""Questions on recurrences of one number."""

from regard.lessons.checking.exercise import Domain, Exercise
from regard.recurrence import ScalarRecurrence

ALTERNATING = ScalarRecurrence(w_h=-1, w_x=1)
INPUTS = {f"x{i}": range(-2, 4) for i in range(1, 5)}

EXERCISES = (
    Exercise(
        name="state",
        asks="Write h_4 of h_t = x_t − h_{t−1} in x_1, x_2, x_3, x_4.",
        formula="-x1 + x2 - x3 + x4",
        domain=Domain("integers", INPUTS),
        count=lambda **x: int(ALTERNATING.states([x[f"x{i}"] for i in range(1, 5)])[-1]),
        left=("h_4",),
        mistakes={
            "x1 - x2 + x3 - x4": "turning all signs: x_4 enters last and with plus",
            "x1 + x2 + x3 + x4": "adding all inputs: each step back turns the sign",
            "x4 - x3 - x2 - x1": "turning the sign once and not at every step back",
            "x4 - x3": "going back one step only",
            "x1 - x2 + x3": "stopping at h_3",
        },
    ),
    Exercise(
        name="factor",
        asks="For h_t = x_t − h_{t−1}: what is the factor of x_t in h_T?",
        formula="(-1)^(T-t)",
        domain=Domain("1 ≤ t ≤ T", {"T": range(1, 12), "t": range(1, 12)}, lambda at: at["t"] <= at["T"]),
        outside="an input of the future has no part in h_T",
        aliases={"T": "n N", "t": "i j k s"},
        mistakes={
            "(-1)^t": "counting from the front, which holds for even T only",
            "(-1)^(T-t+1)": "counting one step too many",
            "1": "forgetting that each step back turns the sign",
            "(-1)^T": "giving every input the sign of the length",
            "-1": "leaving out a bracket or the power: −1^k is −(1^k), always −1",
        },
    ),
    Exercise(
        name="first",
        asks="With loop weight a and input weight b, what is the factor of x_1 in h_T?",
        formula="b*a^(T-1)",
        domain=Domain("T ≥ 1", {"a": range(-3, 4), "b": range(-2, 3), "T": range(1, 9)}),
        count=lambda a, b, T: int(ScalarRecurrence(w_h=a, w_x=b).coefficients(T)[0]),
        aliases={"T": "n N t", "a": "w_h W_h w_hh", "b": "w_x W_x w_xh"},
        mistakes={
            "b*a^T": "going round the loop T times: x_1 enters at step 1, so T − 1 remain",
            "a^(T-1)": "forgetting the input weight",
            "a*b^(T-1)": "exchanging the weights",
            "(a*b)^(T-1)": "raising the input weight too: x_1 enters once",
            "a(T-1) + b": "adding the weights along the path: they multiply",
            "b*a^(T-2)": "stopping one step early",
        },
    ),
)
