import json

import pytest
import torch

from regard import zoo
from regard.files import seal
from regard.train import load_run
from regard.zoo import adding


@pytest.fixture
def zoo_folder(tmp_path):
    return tmp_path / "weights"


@pytest.mark.parametrize(("dtype", "near"), [("bfloat16", 0.01), ("int8", 0.02)])
def test_a_run_is_added_and_comes_back(image_run, zoo_folder, dtype, near):
    (image_run / "test.json").write_text(json.dumps({"accuracy": 0.625}), encoding="utf-8")
    found = zoo.add(image_run, "vit-small", dtype=dtype, folder=zoo_folder)
    assert zoo.names(zoo_folder) == ("vit-small",)
    run, images = load_run(image_run), torch.randn(5, 3, 6, 4)
    again = zoo.load("vit-small", zoo_folder)
    assert torch.equal(again.model(images), found.model(images))
    assert torch.allclose(again.model(images), run.model(images), atol=near)
    assert not torch.equal(again.model(images), run.model(images))
    assert again.model.config == run.model.config
    assert not again.model.training
    assert next(again.model.parameters()).dtype == torch.float32
    assert again.description == run.description | {"test": {"accuracy": 0.625}}
    assert "| validation, float32 | accuracy 0.5000 |" in again.card
    assert "| test, float32 | accuracy 0.6250 |" in again.card
    assert zoo.card("vit-small", zoo_folder) == again.card
    files = {path.name for path in (zoo_folder / "vit-small").iterdir()}
    assert files == {"config.json", "model.safetensors", "task.json", "card.md", "checksums.json"}
    assert {path.name for path in zoo_folder.iterdir()} == {"vit-small"}
    json.dumps(again.as_dict())


def test_int8_takes_a_quarter(image_run, zoo_folder):
    whole = (image_run / "model" / "model.safetensors").stat().st_size
    small = zoo.add(image_run, "a", dtype="int8", folder=zoo_folder)
    half = zoo.add(image_run, "b", dtype="bfloat16", folder=zoo_folder)
    sizes = [(entry.folder / "model.safetensors").stat().st_size for entry in (small, half)]
    assert sizes[0] < 0.62 * whole  # of a model so small, biases and names are a large part
    assert sizes[1] < 0.75 * whole


def test_texts_bring_their_tokenizer(text_run, zoo_folder):
    entry = zoo.add(text_run, "sentiment", folder=zoo_folder)
    (found,) = entry.predict(["not one dull film"])
    assert found.label in ("negative", "positive")
    assert entry.tokenizer.encode("dull") == load_run(text_run).tokenizer.encode("dull")


def test_an_entry_is_replaced_whole_or_not_at_all(image_run, zoo_folder, monkeypatch):
    zoo.add(image_run, "a", folder=zoo_folder, card="first")
    assert zoo.add(image_run, "a", folder=zoo_folder, card="second").card == "second\n"
    monkeypatch.setattr(adding, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match="the zoo may hold 100 bytes, with 'a' it would hold"):
        zoo.add(image_run, "a", folder=zoo_folder, card="third")
    assert zoo.card("a", zoo_folder) == "second\n"
    assert [path.name for path in zoo_folder.iterdir()] == ["a"]
    zoo.load("a", zoo_folder)


def test_the_old_one_comes_back_where_the_new_one_cannot_be_placed(image_run, zoo_folder, monkeypatch):
    zoo.add(image_run, "a", folder=zoo_folder, card="first")
    rename = adding.Path.rename

    def failing(self, target):
        if target.name == "a" and (self / "card.md").read_text() == "second\n":
            raise OSError("no space")
        return rename(self, target)

    monkeypatch.setattr(adding.Path, "rename", failing)
    with pytest.raises(OSError, match="no space"):
        zoo.add(image_run, "a", folder=zoo_folder, card="second")
    monkeypatch.undo()
    assert zoo.load("a", zoo_folder).card == "first\n"
    assert [path.name for path in zoo_folder.iterdir()] == ["a"]


def test_unknown_names(image_run, zoo_folder):
    with pytest.raises(ValueError, match="the zoo has no model 'vit': it is empty"):
        zoo.load("vit", zoo_folder)
    zoo.add(image_run, "vit-cifar10", folder=zoo_folder)
    for name in ("vit-cifar", "zoo:vit-cifar11"):
        with pytest.raises(ValueError, match=r"did you mean 'vit-cifar10'\? there are vit-cifar10"):
            zoo.load(name, zoo_folder)
    with pytest.raises(ValueError, match=r"no model '\.\./vit-cifar10'"):
        zoo.load("../vit-cifar10", zoo_folder)
    for name in ("../a", "A", "a b", "", "a--b", ".a"):
        with pytest.raises(ValueError, match="name must be small letters"):
            zoo.add(image_run, name, folder=zoo_folder)


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "flip":
        data[-1] ^= 1
        path.write_bytes(data)
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["cut", "flip", "gone"])
@pytest.mark.parametrize(
    "file", ["model.safetensors", "config.json", "task.json", "card.md", "tokenizer.json", "checksums.json"]
)
def test_damage_is_one_clear_error(text_run, zoo_folder, file, how):
    zoo.add(text_run, "vit", folder=zoo_folder)
    damage(zoo_folder / "vit" / file, how)
    message = "no model 'vit'" if (file, how) == ("config.json", "gone") else "zoo:vit is damaged"
    with pytest.raises(ValueError, match=message) as error:
        zoo.load("vit", zoo_folder)
    assert "\n" not in str(error.value)


def test_a_config_that_does_not_fit_its_weights(image_run, zoo_folder):
    zoo.add(image_run, "vit", folder=zoo_folder)
    path = zoo_folder / "vit" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for change, message in (
        ({"model": "Oracle"}, "zoo:vit is damaged: model must be one of .* got 'Oracle'"),
        ({"config": config["config"] | {"width": 32}}, "zoo:vit is damaged: .*does not fit ViT"),
        ({"config": config["config"] | {"wings": 2}}, "ViTConfig has no field wings"),
    ):
        path.write_text(json.dumps(config | change), encoding="utf-8")
        seal(path.parent)
        with pytest.raises(ValueError, match=message):
            zoo.load("vit", zoo_folder)


def test_cards_hold_no_folder_of_this_machine(image_run, zoo_folder):
    facts = {"command": ["regard", "train", "vit", "--data-dir", "/srv/data", "--out=/srv/run"]}
    facts |= {"device": "H200", "date": "2026-11-16", "regard": "0.1", "torch": "2.13"}
    (image_run / "environment.json").write_text(json.dumps(facts), encoding="utf-8")
    summary = {"steps": 1200, "seconds": {"training": 61.234, "setup": 9.0}}
    (image_run / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    card = zoo.add(image_run, "vit", folder=zoo_folder).card
    assert "`regard train vit --data-dir data --out=run`" in card
    assert "training 61.2 s, setup 9.0 s; 1,200 steps on H200" in card
    assert "/srv" not in card
