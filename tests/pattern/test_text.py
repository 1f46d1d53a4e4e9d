import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.pattern import (
    And,
    Causal,
    Documents,
    Global,
    Not,
    Or,
    Pattern,
    RandomBlocks,
    SparseFixed,
    Strided,
    Windowed,
    parse,
)
from regard.pattern.base import Atom
from tests.pattern.strategies import cases

NAMES = (
    "axial, blocks, causal, dilated, documents, full, global, local, neighbourhood, prefix, randomblocks, "
    "sparsefixed, sparsestrided, strided, windowed"
)


@settings(max_examples=150)
@given(cases(leaves=16))
def test_text_and_value_are_one(case):
    pattern = case[0]
    assert parse(str(pattern)) == pattern
    assert str(parse(str(pattern))) == str(pattern)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("causal", Causal()),
        ("causal()", Causal()),
        (" Causal ( ) ", Causal()),
        ("autoregressive", Causal()),
        ("sliding(3)", Strided(3)),
        ("sliding(back=3)", Strided(3)),
        ("sparsefixed(16, summary=2)", SparseFixed(16, 2)),
        ("sparsefixed(summary=2, stride=16)", SparseFixed(16, 2)),
        ("randomblocks", RandomBlocks()),
        ("randomblocks(seed=9)", RandomBlocks(seed=9)),
        ("documents((3, 4))", Documents((3, 4))),
        ("documents((3,))", Documents((3,))),
        ("documents(lengths=(3,4))", Documents((3, 4))),
        ("causal & strided(128) | global(4)", Causal() & Strided(128) | Global(4)),
        ("causal | strided(1) & global(4)", Or((Causal(), And((Strided(1), Global(4)))))),
        ("~causal & strided(1)", And((Not(Causal()), Strided(1)))),
        ("~(causal & strided(1))", Not(And((Causal(), Strided(1))))),
        ("~~causal", Causal()),
        ("((causal))", Causal()),
        ("causal\n& windowed(2)", Causal() & Windowed(2)),
    ],
)
def test_what_is_understood(text, pattern):
    assert parse(text) == pattern


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("", 0, "expected a pattern"),
        ("   ", 3, "expected a pattern"),
        ("strid(3)", 0, "no pattern is called 'strid'; did you mean 'strided'?"),
        ("causal & qwertz", 9, "no pattern is called 'qwertz'"),
        ("causal &", 8, "expected a pattern"),
        ("& causal", 0, "expected a pattern, found '&'"),
        ("causal causal", 7, "expected & or | or the end, found 'causal'"),
        ("causal && causal", 8, "expected a pattern, found '&'"),
        ("causal @ 3", 7, "'@' has no meaning here"),
        ("(causal", 7, "expected ')': a bracket is not closed"),
        ("causal)", 6, "expected & or | or the end, found ')'"),
        ("strided", 0, "strided needs (back)"),
        ("dilated(3)", 0, "dilated needs (back, step)"),
        ("strided()", 0, "strided needs (back)"),
        ("strided(3", 9, "expected ')': a bracket is not closed"),
        ("strided(3, 4)", 11, "too many arguments; the fields are: back"),
        ("causal(3)", 7, "too many arguments; the fields are: none"),
        ("strided(size=3)", 8, "no field 'size'; the fields are: back"),
        ("dilated(3, back=4)", 11, "back is given twice"),
        ("strided(x)", 8, "no field 'x'; the fields are: back"),
        ("strided(3.5)", 9, "'.' has no meaning here"),
        ("strided(-1)", 0, "back must be at least 0, got back=-1"),
        ("causal | windowed(0)", 9, "size must be at least 1, got size=0"),
        ("documents(())", 0, "lengths must be one number for each document, got lengths=()"),
        ("documents(3)", 0, "lengths must be one number for each document, got lengths=3"),
        ("strided((3, 4))", 0, "back must be an integer, got back=(3, 4)"),
        ("strided(" + "9" * 21 + ")", 8, "a number of more than 20 digits"),
        ("strided(99999999999)", 0, "back must be at most 2,147,483,647, got back=99999999999"),
    ],
)
def test_a_fault_is_shown_with_a_caret(text, column, what):
    with pytest.raises(ValueError, match=r"\^") as caught:
        parse(text)
    first, shown, caret, names = str(caught.value).split("\n")
    assert first == what
    assert shown == "  " + text
    assert caret == "  " + " " * column + "^"
    assert names == f"patterns: {NAMES}"


def test_a_long_text_is_cut_around_the_fault():
    text = " | ".join(["causal"] * 500) + " | wrong"
    with pytest.raises(ValueError, match="wrong") as caught:
        parse(text)
    _, shown, caret, _ = str(caught.value).split("\n")
    assert len(shown) < 90
    assert shown[caret.index("^") :].startswith("wrong")


def test_too_long_and_too_deep_texts_are_refused():
    parse("causal" + " " * 9_994)
    with pytest.raises(ValueError, match="at most 10,000 characters, got 10,001"):
        parse("causal" + " " * 9_995)
    assert parse("(" * 90 + "causal" + ")" * 90) == Causal()
    with pytest.raises(ValueError, match="more than 100 levels"):
        parse("(" * 4000 + "causal" + ")" * 4000)
    with pytest.raises(ValueError, match="must be a string, got int"):
        parse(3)  # type: ignore[arg-type]


def test_thousands_of_documents_are_a_text():
    lengths = tuple(1 + i * 7919 % 997 for i in range(5_000))
    start = time.process_time()
    pattern = Documents(lengths) & Causal() | Documents(lengths[::-1])
    assert parse(str(pattern)) == pattern
    assert hash(parse(str(pattern))) == hash(pattern)
    assert time.process_time() - start < 1
    start = time.process_time()
    for _ in range(10_000):
        hash(pattern.parts[1])
    assert time.process_time() - start < 0.1
    with pytest.raises(ValueError, match=r"at most 10,000 characters, got 30,0.* outside lists of numbers"):
        parse("causal | " * 3_333 + "documents((3, 4))")
    with pytest.raises(ValueError, match="at most 1,000,000 characters"):
        parse(str(Documents((1,) * 500_000)))


@given(st.text(alphabet="causltrided(),=0123&|~ -x\n", max_size=40))
def test_any_text_gives_a_pattern_or_a_value_error(text):
    try:
        found = parse(text)
    except ValueError as error:
        found = error
    assert isinstance(found, Pattern) or "patterns: " in str(found)


def test_what_values_share_is_no_pattern_by_name():
    assert {"axial", "neighbourhood"} <= set(Atom.registry)
    assert [name for name in Atom.registry if name.startswith("_")] == []
    with pytest.raises(ValueError, match="no pattern is called '_grid'"):
        parse("_grid(2, 3)")
