import json

import pytest

from regard import recipes
from regard.train.recipe_data import from_data, to_data

WANTED = {
    *("digits-vit", "play-gpt", "verdicts-encoder"),
    *("vit-fashion-mnist", "mlp-fashion-mnist", "convnet-fashion-mnist", "grid-fashion-mnist"),
    *("vit-fashion-mnist-cpu", "vit-cifar10", "vit-cifar10-cpu", "course-cifar10"),
    *("shakespeare-char", "shakespeare-char-cpu", "dialogue", "dialogue-textbook"),
    *("sentiment-imdb", "sentiment-imdb-cpu", "sentiment-imdb-pretrained-here"),
}


def test_the_recipes():
    assert set(recipes.names()) >= WANTED


@pytest.mark.parametrize("name", recipes.names())
def test_each_says_what_to_expect_and_can_be_written_down(name):
    recipe = recipes.get(name)
    assert recipe.name == name
    assert from_data(json.loads(json.dumps(to_data(recipe)))) == recipe
    text = recipes._module(name).__doc__
    assert f"Command: regard train {name}\n" in text
    for word in ("Hardware: ", "Minutes: ", "Score: "):
        assert word in text


def test_a_name_that_is_nearly_one():
    with pytest.raises(ValueError, match="no recipe is called 'digit-vit'; did you mean 'digits-vit'"):
        recipes.get("digit-vit")
