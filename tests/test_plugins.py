import json
from importlib.metadata import EntryPoint

import pytest

from regard import plugins, recipes
from regard.cli.main import main
from regard.data import load
from tests.owning import wrote

PLUGINS = (
    EntryPoint("mine", "own_recipe:recipe", plugins.RECIPES),
    EntryPoint("broken", "no_such:recipe", plugins.RECIPES),
    EntryPoint("more-digits", "own_data:digits", plugins.DATA),
    EntryPoint("none", "own_data:none", plugins.DATA),
    EntryPoint("raising", "own_data:raising", plugins.DATA),
)
DATA = """
from regard.data import load
def digits(): return load("digits")
def none(): return 3
def raising(): return {}["x"]
"""


@pytest.fixture(autouse=True)
def _brought(own_place, monkeypatch):
    wrote(own_place)
    (own_place / "own_data.py").write_text(DATA, encoding="utf-8")
    monkeypatch.syspath_prepend(str(own_place))
    monkeypatch.setattr(plugins, "entry_points", lambda group: [one for one in PLUGINS if one.group == group])


def test_recipes_of_other_packages_are_listed_and_found(capsys):
    assert main(["train", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mine"] == "of another package: own_recipe:recipe"
    assert recipes.get("mine").name == "mine"
    with pytest.raises(ValueError, match="no_such cannot be imported"):
        recipes.get("broken")


def test_data_of_other_packages_are_found():
    assert load("more-digits").name == "digits"
    with pytest.raises(ValueError, match="own_data:none must give Images, Reviews or a Corpus"):
        load("none")
    with pytest.raises(ValueError, match="the data set raising of own_data:raising fails: KeyError: 'x'"):
        load("raising")
