import pytest

from regard.importing import root_of
from regard.trust import Untrusted, granted, known, roots_of, vouch
from tests.owning import wrote


def test_nothing_is_imported_unasked(own_place, monkeypatch):
    (own_place / "own_evil.py").write_text("raise SystemExit('it ran')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(own_place))
    with pytest.raises(Untrusted, match=rf"would import .*own_evil:f from {own_place}; .*--trust") as caught:
        granted(["own_evil:f"], "runs/a")
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="own_evil cannot be imported: it ends the program"):
        granted(["own_evil:f"], "runs/a", trust=True)
    assert not known("own_evil:f", str(own_place))
    with pytest.raises(Untrusted):
        granted(["os:abort", "math:tau"], "runs/a")  # what is loaded already is no exception
    assert granted([], "runs/a") == {}


def test_the_users_word_is_kept_by_name_and_place(own_place, monkeypatch):
    wrote(own_place)
    found = granted(["own_nets:small"], "runs/a", roots={"own_nets": str(own_place)}, trust=True)
    assert found["own_nets:small"].__name__ == "small"
    assert known("own_nets:small", str(own_place))
    assert not known("own_nets:other", str(own_place))
    monkeypatch.setattr("regard.trust._VOUCHED", set())  # the next process
    assert granted(["own_nets:small"], "runs/a") == found
    with pytest.raises(Untrusted):
        granted(["own_nets:other"], "runs/a")
    assert roots_of(found) == {"own_nets": str(own_place)}


def test_a_hint_at_another_place_is_no_permission(own_place):
    wrote(own_place)
    granted(["own_nets:small"], "runs/a", roots={"own_nets": str(own_place)}, trust=True)
    theirs = own_place / "theirs"
    theirs.mkdir()
    wrote(theirs)
    with pytest.raises(Untrusted, match=str(theirs)):
        granted(["own_nets:small"], "runs/a", roots={"own_nets": str(theirs)})


def test_what_is_gone_is_said_in_one_line(own_place):
    with pytest.raises(ValueError, match=r"names own_gone:f, but there is no module own_gone .*/no/such"):
        granted(["own_gone:f"], "runs/a", roots={"own_gone": "/no/such"}, trust=True)


def test_without_a_place_to_write_the_word_holds_for_the_process(own_place, monkeypatch):
    (own_place / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(own_place / "file"))
    vouch("math:tau")
    assert known("math:tau", root_of("math") or "") or root_of("math") is None
