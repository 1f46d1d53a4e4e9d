import pytest

from regard.errors import check_int, need


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
    with pytest.raises(ImportError, match=r"no_such_library is not installed: pip install 'regard\[plot\]'"):
        need("no_such_library", "plot")
