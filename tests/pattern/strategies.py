"""Random patterns: single values and expressions of them that fit n queries and m keys."""

from hypothesis import strategies as st

from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Local,
    Neighbourhood,
    Pattern,
    Prefix,
    RandomBlocks,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
)


def small(least: int, most: int = 9) -> st.SearchStrategy[int]:
    return st.integers(least, most)


# Values that have a formula in n.
REGULAR = st.one_of(
    st.just(Full()),
    st.just(Causal()),
    st.builds(Strided, small(0)),
    st.builds(Local, small(0)),
    st.builds(Windowed, small(1)),
    st.builds(Blocks, small(1)),
    st.builds(Dilated, small(0, 4), small(1, 5)),
    st.builds(SparseStrided, small(1, 6)),
    st.integers(1, 6).flatmap(lambda stride: st.builds(SparseFixed, st.just(stride), small(0, stride))),
    st.builds(Global, small(0, 5)),
    st.builds(Prefix, small(0)),
)
LINEAR = REGULAR | st.builds(RandomBlocks, small(1, 6), small(0, 3), small(0, 1000))


@st.composite
def documents(draw: st.DrawFn, total: int, exact: bool) -> Documents:
    lengths: list[int] = []
    while sum(lengths) < total:
        lengths.append(draw(st.integers(1, total - sum(lengths) if exact else total)))
    return Documents(tuple(lengths))


@st.composite
def grids(draw: st.DrawFn, total: int, exact: bool) -> Pattern:
    cols = draw(st.sampled_from([c for c in range(1, total + 1) if not exact or total % c == 0]))
    rows = -(-total // cols)
    return draw(st.sampled_from([Axial(rows, cols), Neighbourhood(rows, cols, draw(small(0, 4)))]))


def combined(values: st.SearchStrategy[Pattern], most: int) -> st.SearchStrategy[Pattern]:
    def extend(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
        return st.one_of(
            st.builds(lambda a, b: a & b, inner, inner),
            st.builds(lambda a, b: a | b, inner, inner),
            st.builds(lambda a: ~a, inner),
        )

    return st.recursive(values, extend, max_leaves=most)


@st.composite
def shapes(draw: st.DrawFn, most: int = 40) -> tuple[int, int]:
    m = draw(st.integers(1, most))
    return draw(st.one_of(st.just(m), st.integers(1, m))), m


@st.composite
def cases(draw: st.DrawFn, most: int = 40, leaves: int = 8) -> tuple[Pattern, int, int]:
    """(any expression of any values, n, m) that fit together."""
    n, m = draw(shapes(most))
    values = LINEAR | documents(m, exact=n == m) | grids(m, exact=n == m)
    return draw(combined(values, leaves)), n, m
