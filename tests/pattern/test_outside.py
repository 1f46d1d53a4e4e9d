"""Patterns from outside the package in texts: `my.module:Around(3)`."""

import pytest

from regard.cli.main import main
from regard.importing import Importable, import_file
from regard.pattern import Causal, Global, parse
from regard.pattern.text import outside_names
from tests.owning import fresh, wrote
from tests.pattern.own import Near


def test_it_prints_so_that_it_parses_back():
    pattern = ~Near(3) & Causal() | Global(4)
    assert str(pattern) == "~tests.pattern.own:Near(3) & causal | global(4)"
    assert parse(str(pattern)) == pattern
    assert parse("tests.pattern.own:Near(reach=3)") == parse("near(3)") == Near(3)
    assert outside_names(str(pattern)) == ["tests.pattern.own:Near"]


def test_a_text_imports_nothing_unless_asked(own_place):
    wrote(own_place)
    with pytest.raises(ValueError, match="own_nets:Around is not known here: import own_nets before"):
        parse("own_nets:Around(3) | global(4)")
    import_file(own_place / "own_nets.py")
    assert str(parse("own_nets:Around(3) | global(4)")) == "own_nets:Around(3) | global(4)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("math:tau", "math:tau is no pattern: a pattern is a frozen dataclass below regard.pattern.Atom"),
        ("os:abort(3)", "os:abort is no pattern"),
        ("no_such:Around(3)", "no_such cannot be imported: there is no module of this name"),
        ("own_nets:Aruond(3)", "own_nets has no 'Aruond'; did you mean 'Around'?"),
        ("own_nets:Around", "own_nets:Around needs (reach)"),
        ("own_nets:Around(3, 4)", "too many arguments; the fields are: reach"),
        ("own_nets:(3)", "no pattern is called 'own_nets'"),
        (":Around(3)", "':' has no meaning here"),
    ],
)
def test_faults_are_told(text, says, own_place, monkeypatch, capsys):
    wrote(own_place)
    monkeypatch.syspath_prepend(str(own_place))
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - looked at below
        parse(text, Importable())
    assert says in str(caught.value).splitlines()[0]
    assert main(["count", text]) == 2
    assert says in capsys.readouterr().err


def test_the_command_finds_it_in_the_current_directory(own_place, monkeypatch, capsys):
    wrote(own_place)
    done = fresh(own_place, "draw", "own_nets:Around(1) | global(1)", "-n", "4")
    assert done.stdout.startswith("####\n###.\n####\n#.##\n"), done.stderr
    (own_place / "away").mkdir()
    monkeypatch.chdir(own_place / "away")
    assert main(["draw", "own_nets:Around(1)", "-n", "4"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: own_nets cannot be imported: there is no module of this name")
    assert err.count("\n") == 1
