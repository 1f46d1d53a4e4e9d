import json

import pytest

from regard.cli.main import main
from regard.pattern import Strided
from regard.pattern.summary import summarise


def test_it_prints_count_formula_comparison_and_saving(capsys):
    assert main(["count", "strided(3)", "-n", "16", "--formula"]) == 0
    rows = [line.split(None, 1) for line in capsys.readouterr().out.splitlines()]
    text = {row[0]: row[1].strip() for row in rows if len(row) > 1}
    assert text["strided(3),"] == "n = 16"
    assert text["pairs"] == "58"
    assert text["all"] == "n² pairs             256"
    assert text["share"] == "22.7 %"
    assert text["saving"] == "4.414× fewer"
    assert text["keys"] == "kept when decoding  4"
    assert text["formula"] == "4n − 6 for n > 3"
    assert text["in"] == "letters               (t+1)(2n−t)/2 for n > t"


def test_the_formula_is_asked_for(capsys):
    main(["count", "strided(3)"])
    assert "formula" not in capsys.readouterr().out
    assert main(["count", "randomblocks", "--formula"]) == 0
    assert "none: randomblocks(64, 3, 7) has no formula" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "n"),
    [("16", 16), ("64k", 65_536), ("64K", 65_536), ("1M", 1 << 20), ("2m", 2 << 20), ("65,536", 65_536)],
)
def test_lengths(text, n, capsys):
    assert main(["count", "strided(3)", "-n", text, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == summarise(Strided(3), n).as_dict()


@pytest.mark.parametrize("text", ["", "k", "1.5k", "-3", "1G", "0x10", "９"])
def test_what_is_no_length(text, capsys):
    assert main(["count", "causal", f"-n={text}"]) == 2
    assert "n must be a whole number" in capsys.readouterr().err


def test_fewer_queries_than_keys(capsys):
    assert main(["count", "causal", "-n", "2", "-m", "6"]) == 0
    out = capsys.readouterr().out
    assert "the last 2 of 6 positions" in out
    assert "all n·m pairs" in out


def test_nothing_at_all(capsys):
    assert main(["count", "~full", "-n", "4"]) == 0
    assert main(["count", "causal", "-n", "0"]) == 0
    assert "saving" not in capsys.readouterr().out
