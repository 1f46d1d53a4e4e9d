import sys
from dataclasses import dataclass

import pytest

from regard.importing import Importable, import_file, imported, name_of, root_of


@dataclass(frozen=True)
class Here:
    size: int = 1


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = (", "own_bad.py, line 1: '(' was never closed"),
        ("raise RuntimeError('not\\ntoday')", "RuntimeError: not ("),
        ("import sys; sys.exit(7)", "it ends the program (exit 7)"),
        ("import no_such_library", "it needs the module no_such_library, which is not installed"),
        ("1 / 0", "ZeroDivisionError: division by zero ("),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(source, says, own_place, monkeypatch):
    (own_place / "own_bad.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(own_place))
    with pytest.raises(ValueError, match=r"^own_bad cannot be imported: ") as caught:
        imported("own_bad:thing")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"own_bad.py cannot be imported: "):
        import_file(own_place / "own_bad.py")


@pytest.mark.parametrize(
    "name", ["", ":", "math:", ":tau", "math", "a..b:c", "math:a b", "math:tau()", "a:b:c"]
)
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match="code is named as module:name"):
        imported(name)


def test_names_lead_there_and_back(own_place):
    assert imported(name_of(Here)) is Here
    assert imported("tests.test_importing:Here.size") == 1
    with pytest.raises(ValueError, match=r"math has no 'tua'; did you mean 'tau'\?"):
        imported("math:tua")
    with pytest.raises(ValueError, match="inner cannot be imported: there is no module of this name"):
        imported("no_such.inner:thing")

    def local():
        pass

    for value in (local, lambda: None, 3):
        with pytest.raises(ValueError, match="cannot be written down"):
            name_of(value)
    assert root_of("no_such.inner") is None


def test_a_module_that_prints_leaves_the_output_to_machines(own_place, capsys):
    (own_place / "own_loud.py").write_text("print('hello'); x = 3", encoding="utf-8")
    assert import_file(own_place / "own_loud.py").x == 3
    assert capsys.readouterr() == ("", "hello\n")


def test_a_file_named_again_is_read_again(own_place):
    path = own_place / "own_twice.py"
    path.write_text("x = 3", encoding="utf-8")
    assert import_file(path).x == 3
    path.write_text("x = 3000", encoding="utf-8")
    assert import_file(path).x == 3000
    (own_place / "below").mkdir()
    other = own_place / "below" / "own_twice.py"
    other.write_text("x = 5", encoding="utf-8")
    assert import_file(other).x == 5


def test_a_file_does_not_take_the_name_of_another(own_place):
    for name, says in (("json.py", "'json' is the name of .* already; rename"), ("a.b.py", "has no dot")):
        (own_place / name).write_text("", encoding="utf-8")
        with pytest.raises(ValueError, match=says):
            import_file(own_place / name)
    assert sys.modules["json"].loads("3") == 3


def test_a_name_with_a_space_is_read_but_not_written_down(own_place):
    (own_place / "own file.py").write_text("def f(): pass", encoding="utf-8")
    with pytest.raises(ValueError, match=r"rename the file own file\.py so that it has no space"):
        name_of(import_file(own_place / "own file.py").f)


def test_a_table_of_everything_imports_when_asked():
    assert Importable()["math:tau"] > 6
    assert len(Importable()) == len(list(Importable())) == 0
