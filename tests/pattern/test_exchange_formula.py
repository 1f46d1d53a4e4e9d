"""What ranks exchange as a formula in n: held against plans of other lengths than those it was found from."""

import pytest
from sympy import Symbol

from regard.pattern import Causal, Documents, Full, Strided, parse
from regard.pattern.dealing import dealt
from regard.pattern.exchange_formula import exchange_formula


@pytest.mark.parametrize("text", [
    "causal", "full", "strided(20)", "windowed(6)", "blocks(10)", "strided(3) | global(2) & causal",
    "dilated(4, 7)", "sparsestrided(8)", "sparsefixed(8, 2)", "prefix(40)", "~strided(5)", "~causal", "~full",
    "sparsefixed(6, 2) & ~sparsefixed(4, 1) | global(3)", "strided(0)",
])  # fmt: skip
@pytest.mark.parametrize("ranks", [2, 5])
def test_it_is_the_plans_own_count(text, ranks):
    pattern, n = parse(text), Symbol("n")
    found = exchange_formula((pattern,), 0, ranks)
    for times in (0, 1, 4, 7):
        length = found.start + times * found.step
        assert found.keys(n).subs(n, length) == pattern.exchange(length, ranks, found.deal).keys, length


def test_layers_share_one_dealing():
    every = (Strided(back=64), Causal())
    found = exchange_formula(every, 0, 4)
    assert found.deal == "zigzag"
    assert exchange_formula(every[:1], 0, 4).deal == "even"
    n = found.start + 3 * found.step
    assert found.keys(n) == every[0].exchange(n, 4, dealt(every, n, 4)).keys
    assert found.where == f"n a multiple of {found.step:,} from {found.start:,} on, dealt zigzag"


def test_what_has_none():
    with pytest.raises(ValueError, match="documents"):
        exchange_formula((Documents((3, 4)),), 0, 2)
    with pytest.raises(ValueError, match="settles after"):
        exchange_formula((Strided(back=1 << 20),), 0, 1000)
    with pytest.raises(ValueError, match="formulas are for deals even and zigzag, got deal='pairs'"):
        exchange_formula((Full(),), 0, 2, "pairs")
