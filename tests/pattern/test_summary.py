import json

import pytest

from regard.pattern import Axial, Causal, Full, Strided, parse
from regard.pattern.summary import Summary, summarise


def test_a_summary_holds_what_the_pattern_says():
    found = summarise(Strided(back=3), 16)
    assert (found.pattern, found.n, found.m) == ("strided(3)", 16, 16)
    assert (found.pairs, found.dense, found.keys_kept) == (58, 256, 4)
    assert found.share == 58 / 256
    assert found.saving == 256 / 58
    assert str(found.formula) == "4n − 6 for n > 3, n(n+1)/2 otherwise"
    assert found.no_formula is None


def test_for_machines():
    found = summarise(Strided(back=3), 16).as_dict()
    assert json.loads(json.dumps(found)) == found
    assert found == {
        "pattern": "strided(3)",
        "n": 16,
        "m": 16,
        "pairs": 58,
        "dense": 256,
        "share": 58 / 256,
        "saving": 256 / 58,
        "keys_kept": 4,
        "formula": "4n − 6 for n > 3, n(n+1)/2 otherwise",
        "letters": "(t+1)(2n−t)/2 for n > t, n(n+1)/2 otherwise",
        "no_formula": None,
    }
    assert summarise(parse("strided(3) & causal"), 16).letters is None


def test_where_there_is_no_formula_it_says_why():
    assert "geometry" in (summarise(Axial(2, 3), 6).no_formula or "")
    assert "as many queries as keys" in (summarise(Causal(), 2, 6).no_formula or "")
    assert summarise(Causal(), 2, 6).pairs == 11


def test_nothing_seen_and_nothing_to_see():
    nothing = summarise(parse("causal & ~causal"), 4)
    assert (nothing.pairs, nothing.share, nothing.saving) == (0, 0.0, None)
    assert summarise(Full(), 0).share is None


def test_it_is_frozen():
    with pytest.raises(AttributeError):
        summarise(Causal(), 4).pairs = 3  # type: ignore[misc]
    assert isinstance(summarise(Causal(), 4), Summary)
