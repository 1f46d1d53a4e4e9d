"""Questions on writing tokens one by one."""

from regard.cost import price
from regard.lessons.checking.exercise import Domain, Exercise, growth_domain
from regard.lessons.exercises import LENGTH, WIDTH
from regard.lessons.exercises.heads import HEAD_WIDTH
from regard.models import GPTConfig

EXERCISES = (
    Exercise(
        name="passes",
        asks=(
            "Without a cache, starting from one token, each step runs all tokens so far. How many "
            "token passes do T steps take?"
        ),
        formula="T(T+1)/2",
        domain=Domain("T ≥ 1", {"T": range(1, 60)}),
        count=lambda T: sum(range(1, T + 1)),
        aliases={"T": LENGTH},
        mistakes={
            "T": "counting one pass a step, which is what a cache makes of it",
            "T^2": "running all T tokens at every step",
            "T(T-1)/2": "starting from none: the first step runs one token",
            "T^2/2": "taking half of the square",
            "(T+1)(T+2)/2": "counting one step too many",
            "T(T+1)": "adding up 1 + … + T without halving",
        },
    ),
    Exercise(
        name="cache",
        asks=(
            "How many numbers does the cache hold after T tokens, for L layers of width d with H "
            "heads, all kept?"
        ),
        formula="2 L T d",
        domain=Domain(
            "L, T, d, H ≥ 1",
            {"L": range(1, 5), "T": range(1, 8), "d": range(4, 17, 4), "H": (1, 2, 4)},
        ),
        count=lambda L, T, d, H: (
            price(
                GPTConfig(vocab=8, context=64, depth=L, width=d, heads=H), tokens=T, decode=True
            ).cache_bytes
            // 4
        ),
        aliases={"T": "n N S", "d": "D C d_model", "L": "l N n_layers", "H": "h"},
        also=HEAD_WIDTH,
        mistakes={
            "L T d": "counting keys and forgetting values",
            "2T d": "counting one layer",
            "2L d": "counting one token",
            "2L T d H": "giving every head the full width",
            "2L T d/H": "counting one head",
            "8L T d": "counting bytes of four to a number",
            "4L T d": "counting bytes of two to a number",
            "3L T d": "keeping queries too: nobody asks for those of the past",
            "L H T^2": "keeping the scores",
        },
    ),
    Exercise(
        name="growth",
        asks=(
            "How does the work of attention alone grow with T and d when T tokens are written with a "
            "cache, in one layer of width d?"
        ),
        formula="T^2 d",
        domain=growth_domain("T", "d"),
        aliases={"T": LENGTH, "d": WIDTH},
        mistakes={
            "T d": "counting one token only: the last one looks at T",
            "T^3 d": "running all tokens again at every step, as without a cache",
            "T d^2": "counting the projections, which are not asked for",
            "T^2": "counting pairs without their width",
        },
    ),
)
