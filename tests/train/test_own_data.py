"""Runs on data of one's own: what follows from them, what goes on, and what is noticed."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from regard import recipes
from regard.data import Images, Pictures, Source, load
from regard.data.own.images import measured
from regard.data.own.survey import survey
from regard.models import GPTConfig
from regard.train import Language, override, read_recipe, train
from regard.train.data_notes import told_parts
from regard.train.own_data import on_data, run_name
from regard.train.recipe_data import from_data, to_data
from regard.train.runs.opening import open_run
from regard.train.task import TaskSetting
from tests.data.own.making import photos, picture, table


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def quick(name, path, *settings, **how):
    settings = ["steps=2", "batch=4", *settings]
    recipe = override(recipes.get(name), settings)
    return on_data(recipe, Source(str(path), **how), settings)


def run(recipe, folder, **how):
    return train(recipe, folder, device="cpu", quiet=True, **how)


def test_images_from_nothing_to_a_heat_map(tmp_path):
    root = photos(tmp_path / "my photos", ("ant", "bee", "cow"), count=12)
    recipe = quick("digits-vit", root)
    assert recipe.name == "digits-vit-my-photos" == run_name(recipes.get("digits-vit"), str(root))
    assert (recipe.task.model.image, recipe.task.model.channels, recipe.task.model.classes) == ((6, 8), 3, 3)
    found = load(root)
    assert (recipe.task.augment.mean, recipe.task.augment.std) == measured(found.train.images)
    assert from_data(json.loads(json.dumps(to_data(recipe)))) == recipe
    run(recipe, tmp_path / "run")
    told = json.loads((tmp_path / "run" / "data.json").read_text())
    assert sum(told["parts"].values()) == 36
    assert told["source"]["path"] == str(root)
    opened = open_run(tmp_path / "run")
    scores = opened.evaluate()
    assert opened.report().scores["accuracy"] == pytest.approx(scores["accuracy"])
    opened.evaluate(test=True)
    assert len(opened.held_out()) == told["parts"]["validation"]
    shutil.rmtree(root)
    picture().save(tmp_path / "new.png")
    assert opened.predict([str(tmp_path / "new.png")])[0].label in ("ant", "bee", "cow")
    assert opened.look([str(tmp_path / "new.png")]).images is not None
    with pytest.raises(ValueError, match=r"there is no file or folder .*my photos; if it has moved"):
        opened.evaluate()
    with pytest.raises(ValueError, match="there is no file or folder"):
        run(read_recipe(tmp_path / "run"), tmp_path / "run", resume=True)


def test_what_is_set_by_hand_wins(tmp_path):
    root = photos(tmp_path / "photos", count=6)
    by_hand = ("model.channels=1", "augment.classes=2", "model.classes=2", "augment.mean=(0.5,)",
               "augment.std=(0.1,)", "model.image=(4, 4)")  # fmt: skip
    task = quick("digits-vit", root, *by_hand).task
    assert (task.model.image, task.model.channels) == ((4, 4), 1)
    assert task.augment.mean == (0.5,)
    assert (task.data.size, task.data.channels) == ((4, 4), 1)


@pytest.mark.parametrize(
    ("sizes", "asked", "becomes"),
    [([(6, 8)], None, (6, 8)), ([(7, 9)], None, (8, 8)), ([(6, 8), (9, 30)], None, (8, 8)),
     ([(120, 100)], None, (8, 8)), ([(6, 8), (9, 30)], (10, 12), (10, 12))],
)  # fmt: skip
def test_the_size_follows_from_the_data_or_else_the_recipe(sizes, asked, becomes, tmp_path):
    for at, size in enumerate(sizes):
        photos(tmp_path / "photos", (f"a{at}", f"b{at}"), count=4, size=size)
    recipe = quick("digits-vit", tmp_path / "photos", size=asked)
    assert recipe.task.model.image == becomes == recipe.task.data.size


def test_a_changed_set_is_noticed_at_resume_and_named(tmp_path):
    root = photos(tmp_path / "photos", count=20)
    recipe = quick("digits-vit", root)
    run(recipe, tmp_path / "run")
    longer = override(recipe, ["steps=3"])
    for i in range(5):
        picture(700 + i).save(root / "cat" / f"more-{i}.png")
    with pytest.raises(
        ValueError, match=r"photos is not what this run was trained on .*has \d+ where it had"
    ):
        run(longer, tmp_path / "run", resume=True)
    for i in range(5):
        (root / "cat" / f"more-{i}.png").unlink()
    picture(900).save(root / "cat" / "0.png")
    with pytest.raises(ValueError, match="as many examples, with other content"):
        run(longer, tmp_path / "run", resume=True)
    picture(0).save(root / "cat" / "0.png")
    assert run(longer, tmp_path / "run", resume=True).steps == 3
    again = on_data(recipes.get("digits-vit"), Source(str(root)), ["steps=4"], tmp_path / "run")
    assert run(again, tmp_path / "run", resume=True).steps == 4
    with pytest.raises(ValueError, match=r"was trained on .*photos, got .*other"):
        on_data(recipe, Source(str(photos(tmp_path / "other"))), [], tmp_path / "run")


def test_text_from_nothing_to_a_sample(tmp_path):
    (tmp_path / "book.txt").write_text("To be, or not to be: that is the question.\n" * 40)
    recipe = quick("play-gpt", tmp_path / "book.txt")
    assert recipe.task.model.context < 128  # the held-out part is short
    run(recipe, tmp_path / "run")
    opened = open_run(tmp_path / "run")
    assert opened.generate("To be", 5).startswith("To be")
    assert opened.evaluate()["loss"] > 0
    with pytest.raises(ValueError, match=r"book.txt has no test part"):
        opened.evaluate(test=True)
    kept = quick("play-gpt", tmp_path / "book.txt", "model.context=16")
    assert kept.task.model.context == 16


def test_a_corpus_on_the_disk_trains_as_one_in_memory(tmp_path, monkeypatch):
    text = "".join(f"line {i}: all work and no play, müde.\n" for i in range(300))
    (tmp_path / "book.txt").write_text(text)
    model = GPTConfig(vocab=None, context=16, depth=1, width=8, heads=2)
    from regard.data import Corpus
    from regard.train.tasks import language

    recipe = quick("play-gpt", tmp_path / "book.txt")
    task = Language(data=recipe.task.data, model=model, validation=0.1)
    own = run(override(recipe.but(task=task), []), tmp_path / "own")
    cut = "".join(load(tmp_path / "book.txt").stretches(0.1, held=False))
    monkeypatch.setattr(language, "load", lambda *_, **__: Corpus("x", text))
    monkeypatch.setattr(language, "_parted", lambda *_: ([cut], [text[len(cut) :]]))
    memory = run(override(recipe.but(task=task), []), tmp_path / "memory")
    assert own.scores == memory.scores


@pytest.mark.parametrize("kind", ["words", "pairs", "rows", "dialogues"])
def test_other_ways_to_read_a_corpus(kind, tmp_path):
    lines = [f"ALICE: well, {i} it is.\nBOB: so it is.\n" for i in range(60)]
    (tmp_path / "book.txt").write_text("\n".join(lines))
    path, settings = tmp_path / "book.txt", ["model.context=8"]
    if kind == "rows":
        path = tmp_path / "rows.jsonl"
        path.write_text("\n".join(json.dumps({"text": line, "label": 1}) for line in lines))
    elif kind == "dialogues":
        settings.append("cut=dialogues")
    else:
        settings.append("tokens=Words()" if kind == "words" else "tokens=BytePairs(vocab=300)")
    run(quick("play-gpt", path, *settings), tmp_path / "run")
    assert open_run(tmp_path / "run").evaluate()["loss"] > 0


def test_a_table_from_nothing_to_a_prediction(tmp_path):
    path = table(tmp_path / "reviews.csv", header="review,stars", count=60)
    recipe = quick("verdicts-encoder", path, text="review", label="stars")
    run(recipe, tmp_path / "run")
    opened = open_run(tmp_path / "run")
    assert opened.predict(["this is text 3"])[0].label in ("good", "bad")
    assert opened.explain(["this is text 3"])[0].words
    assert opened.report().scores["accuracy"] == pytest.approx(opened.evaluate()["accuracy"])


def test_known_names_and_functions(own_place, monkeypatch):
    assert quick("vit-fashion-mnist-cpu", "digits").task.model.image == (8, 8)
    (own_place / "mine.py").write_text(
        "import torch\nfrom regard.data import Images, Pictures\n"
        "def pictures():\n"
        "    part = Pictures(torch.zeros(20, 1, 4, 6, dtype=torch.uint8), torch.arange(20) % 2)\n"
        "    return Images('mine', ('a', 'b'), part, part)\n"
    )
    monkeypatch.syspath_prepend(str(own_place))  # the command looks in the current directory by itself
    found = load("mine:pictures")
    assert isinstance(found, Images)
    assert isinstance(found.train, Pictures)
    assert load(found) is found
    recipe = quick("digits-vit", "mine:pictures")
    assert recipe.task.model.image == (4, 6)
    run(recipe, own_place / "run")
    with pytest.raises(ValueError, match="mine has no 'no'"):
        load("mine:no")
    with pytest.raises(ValueError, match=r"no_such_module cannot be imported"):
        load("no_such_module:x")


def test_recipes_say_what_they_need(tmp_path):
    path = table(tmp_path / "r.csv")
    with pytest.raises(ValueError, match="which column holds the paths of the images"):
        quick("digits-vit", path)
    with pytest.raises(ValueError, match="holds images, where text is wanted"):
        quick("play-gpt", photos(tmp_path / "photos"))


def test_scores_on_other_data_are_noticed_and_not_recorded(tmp_path):
    source = photos(tmp_path / "photos")
    run(quick("digits-vit", source), tmp_path / "run")
    opened = open_run(tmp_path / "run")
    opened.evaluate(test=True)
    recorded = (tmp_path / "run" / "test.json").read_bytes()
    some = sorted(Path(source).rglob("*.png"))
    some[0].write_bytes(some[-1].read_bytes())
    with pytest.warns(UserWarning, match="is not what this run was trained on .* not recorded"):
        open_run(tmp_path / "run").evaluate(test=True)
    assert (tmp_path / "run" / "test.json").read_bytes() == recorded


def test_where_nothing_is_left_skipping_is_not_advised(tmp_path):
    (tmp_path / "latin.txt").write_bytes("é".encode("latin-1"))
    with pytest.raises(ValueError, match="without these nothing is left"):
        load(tmp_path / "latin.txt", skip_bad=True)


def test_the_survey_holds_out_what_a_run_does_and_few_are_noted(tmp_path):
    photos(tmp_path / "photos", count=30)
    recipe = on_data(recipes.get("vit-cifar10-cpu"), Source(str(tmp_path / "photos")))
    task = recipe.task.build(TaskSetting(torch.device("cpu"), 0, None))
    assert task.parts == survey(Source(str(tmp_path / "photos")))[0].parts
    assert "note: " in told_parts(task.describe())
    by_hand = on_data(recipes.get("vit-cifar10-cpu"), Source(str(tmp_path / "photos")), ["validation=0.05"])
    assert by_hand.task.validation == 0.05


def test_a_short_run_is_not_compiled_and_a_long_one_is(tmp_path):
    source = Source(str(photos(tmp_path / "photos")))

    def how(*settings):
        recipe = override(recipes.get("vit-cifar10-cpu"), list(settings))
        return on_data(recipe, source, list(settings)).execution.compile

    assert how("minutes=3") == "auto"
    assert how("minutes=30") == how("minutes=3", "compile=compile") == "compile"
    assert how("minutes=3", "compile=none") == "none"
