"""Recipes wherever they are: files, functions, runs."""

import json
import os

import pytest

from regard import recipes
from regard.cli.main import main
from regard.train import Recipe, train
from regard.train.finding import find_recipe
from regard.train.recipe_data import to_data
from tests.owning import wrote
from tests.train import small

HEAD = "from regard.train import Recipe\n"
GOOD = HEAD + "def recipe():\n    return Recipe(name='mine', task=None, batch=8, steps=3)\n"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "must define recipe(), a function that returns a Recipe"),
        (
            HEAD + "def one() -> Recipe: ...\ndef two() -> Recipe: ...",
            "name one of them: own_odd:one, own_odd:two",
        ),
        ("def recipe(): return 3", "must return a Recipe, it returned int"),
        ("def recipe(): pass", "must return a Recipe, it returned NoneType"),
        ("def recipe(width, *, depth): pass", "must need no arguments, it needs width, depth"),
        ("def recipe(): raise KeyError('x')", "fails: KeyError: 'x' ("),
        ("def recipe(): raise SystemExit(3)", "fails: it ends the program (exit 3)"),
        ("recipe = 3", "must be a function that returns a Recipe, got int"),
        ("import sys; sys.exit()", "cannot be imported: it ends the program"),
        ("def recipe(:", "cannot be imported: "),
        (
            HEAD + "def recipe(): return Recipe(name='x', task=None, batch=0, steps=1)",
            "batch must be at least 1",
        ),
    ],
)
def test_files_that_are_no_recipes_are_told_so_in_one_line(source, says, own_place, capsys):
    (own_place / "own_odd.py").write_text(source, encoding="utf-8")
    assert main(["train", "own_odd.py"]) == 2
    out, err = capsys.readouterr()
    assert says in err
    assert out == ""
    assert err.count("\n") == 1
    assert not (own_place / "runs").exists()


def test_places_that_hold_none(own_place):
    (own_place / "folder").mkdir()
    (own_place / "folder.py").mkdir()
    (own_place / "bytes.py").write_bytes(b"\xff\xfe\x00")
    for name, says in (
        ("no_such.py", "no_such.py cannot be read: No such file"),
        ("folder", "folder is a folder without a recipe.json"),
        ("folder.py", "folder.py is a folder without"),
        ("bytes.py", "cannot be imported"),
        ("no/such/place", "a recipe is my_recipe.py, module:function or a run's recipe.json"),
        ("no_such:f", "no_such cannot be imported"),
        ("math:tau", "math:tau must be a function that returns a Recipe, got float"),
        ("nothing.json", "nothing.json cannot be read"),
    ):
        with pytest.raises(ValueError, match=says):
            recipes.get(name)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
def test_a_file_that_may_not_be_read(own_place):
    path = own_place / "own_secret.py"
    path.write_text(GOOD, encoding="utf-8")
    path.chmod(0)
    with pytest.raises(ValueError, match="cannot be read: Permission denied"):
        find_recipe(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no recipe that this version reads"),
        ('{"part": "Recipe", "name": "x", "task": null, "batch": 1, "steps": 1, "warp": 9}', "no field warp"),
        ('{"part": "Future"}', "a part must be one of"),
        (
            '{"part": "Recipe", "name": "x", "task": {"import": 3}, "batch": 1, "steps": 1}',
            "must be a function",
        ),
    ],
)
def test_json_that_is_none(text, says, own_place):
    (own_place / "recipe.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        find_recipe("recipe.json")
    with pytest.raises(ValueError, match=says):
        find_recipe(own_place)


def test_files_functions_and_runs_give_it(own_place, monkeypatch):
    for name in ("own recipe.py", "own-recipe.py", "own_recipe.py"):
        (own_place / name).write_text(GOOD, encoding="utf-8")
        assert find_recipe(own_place / name) == Recipe(name="mine", task=None, batch=8, steps=3)
    monkeypatch.syspath_prepend(str(own_place))
    assert recipes.get("own_recipe:recipe").name == "mine"
    (own_place / "recipe.json").write_text(json.dumps(to_data(small.images())), encoding="utf-8")
    assert recipes.get("recipe.json") == recipes.get(str(own_place)) == small.images()


def test_python_takes_a_place_too(own_place):
    result = train(wrote(own_place), own_place / "run", device="cpu", quiet=True)
    assert (result.recipe, result.steps) == ("mine", 8)
    data = json.loads((own_place / "run" / "recipe.json").read_text(encoding="utf-8"))
    assert data["task"]["model"] == {"import": "own_nets:small"}
    assert not list((own_place / "run").rglob("*.py"))  # nothing else is copied
