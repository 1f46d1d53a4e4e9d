import json

import pytest

from regard import recipes
from regard.cli.main import main
from regard.train.explaining import explain, explain_kind
from regard.train.finding import find_recipe
from regard.train.meanings import meaning
from regard.train.recipe_data import KINDS
from regard.train.writing import as_python
from tests.owning import wrote


@pytest.mark.parametrize("name", recipes.shipped())
def test_the_file_gives_the_equal_recipe(name, own_place, capsys):
    assert main(["recipe", name]) == 0
    text = capsys.readouterr().out
    (own_place / "own_copy.py").write_text(text, encoding="utf-8")
    assert find_recipe(own_place / "own_copy.py") == recipes.get(name)
    assert text.count("# ") >= 5  # it is commented
    assert max(map(len, text.splitlines())) <= 120


def test_the_file_trains(own_place, capsys):
    assert main(["recipe", "digits-vit"]) == 0
    (own_place / "own_copy.py").write_text(capsys.readouterr().out, encoding="utf-8")
    words = ["--set", "model.depth=1", "--set", "steps=2", "--device", "cpu", "--json"]
    assert main(["train", "own_copy.py", *words]) == 0
    assert json.loads(capsys.readouterr().out)["folder"] == "runs/digits-vit"


def test_a_recipe_of_ones_own_is_written_too(own_place):
    recipe = find_recipe(wrote(own_place))
    assert "from own_nets import small\n" in as_python(recipe)
    (own_place / "own_copy.py").write_text(as_python(recipe), encoding="utf-8")
    assert find_recipe(own_place / "own_copy.py") == recipe


def test_every_field_of_every_part_has_a_meaning():
    for name, kind in KINDS.items():
        for entry in explain_kind(kind):
            assert meaning(name, entry.path), (name, entry.path)


def test_fields_are_explained(capsys):
    assert main(["recipe", "--explain"]) == 0
    assert "batch: int, must be given\n    examples of one step" in capsys.readouterr().out
    assert main(["recipe", "--explain", "AdamW", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["fields"]
    assert found[0] == {
        "path": "lr",
        "type": "float",
        "default": "0.001",
        "meaning": "the highest learning rate",
    }
    assert main(["recipe", "--explain", "digits-vit"]) == 0
    out = capsys.readouterr().out
    assert "keep: int, default 2, here 2\n    how many checkpoints stay" in out
    assert "model.depth: int, default" in out
    assert {entry.path for _, entry, _ in explain(recipes.get("digits-vit"))} >= {
        "batch",
        "lr",
        "model.width",
    } - {"lr"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["recipe"], "name a RECIPE; recipes: "),
        (["recipe", "digit-vit"], "did you mean 'digits-vit'?"),
        (["recipe", "--explain", "digit-vit"], "did you mean 'digits-vit'?"),
        (["recipe", "no_such.py"], "no_such.py cannot be read"),
    ],
)
def test_errors_are_one_line(words, says, own_place, capsys):
    assert main(words) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
