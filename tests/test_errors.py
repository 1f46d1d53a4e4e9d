import re
from pathlib import Path

import pytest

from regard import errors
from regard.errors import check_int, how_to_install, need


@pytest.mark.parametrize("value", [0, 5, 9])
def test_what_is_in_range_passes(value):
    check_int("size", value, 0, 9)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "size must be at least 0, got size=-1"),
        (1000, "size must be at most 999, got size=1000"),
        (2.0, "size must be an integer, got size=2.0"),
        (True, "size must be an integer, got size=True"),
        (None, "size must be an integer, got size=None"),
        ("3", "size must be an integer, got size='3'"),
    ],
)
def test_what_is_not_is_named(value, message):
    with pytest.raises(ValueError, match="size must be") as caught:
        check_int("size", value, 0, 999)
    assert str(caught.value) == message


def test_a_missing_library_names_its_extra():
    assert need("json", "plot").dumps([1]) == "[1]"
    said = re.escape(f"no_such_library is not installed: {how_to_install('plot')}")
    with pytest.raises(ImportError, match=said):
        need("no_such_library", "plot")


def test_the_command_is_the_one_that_works(monkeypatch, tmp_path):
    checkout = Path(errors.__file__).parents[2]
    monkeypatch.chdir(checkout)
    assert how_to_install("plot") == 'pip install -e ".[plot]"'
    monkeypatch.chdir(tmp_path)
    assert how_to_install("plot") == f'pip install -e "{checkout}[plot]"'
    # Where pip puts packages there is no pyproject.toml two folders up.
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "lib" / "site-packages" / "regard" / "errors.py"))
    assert how_to_install("plot") == 'pip install "regard[plot]"'
