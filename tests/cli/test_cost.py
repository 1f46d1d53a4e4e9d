import json

import pytest

from regard import recipes
from regard.cli import main as command
from regard.cli.cost import cost
from regard.cost import price
from regard.models.presets import PRESETS, preset

if not any(one.callback is cost for one in command.app.registered_commands):
    command.app.command()(cost)
main = command.main


def test_totals_tree_and_formulas(capsys):
    assert main(["cost", "gpt2", "--tokens", "1k", "--tree", "--formula"]) == 0
    out = capsys.readouterr().out
    asked = price(preset("gpt2"), tokens=1024)
    assert f"{asked.flops:,}" in out
    assert "124,439,808" in out
    assert "blocks ×12" in out
    assert "18,432Bn² + 247,042,223Bn" in out
    assert "O(Bn²)" in out
    assert "Counted so" in out


def test_json(capsys):
    assert main(["cost", "attention", "--tokens", "8", "--batch", "2", "--letters", "n,width", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["flops"] == price(preset("attention"), tokens=8, batch=2).flops
    assert data["formulas"]["pairs"] == "16n²"
    assert data["parts"][0]["name"] == "qkv"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--training"], {"training": True}),
        (["--decode", "--dtype", "bfloat16"], {"decode": True}),
    ],
)
def test_modes(arguments, expected, capsys):
    assert main(["cost", "gpt-small", "--tokens", "16", "--json", *arguments]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["macs"] == price(preset("gpt-small"), tokens=16, **expected).macs
    assert (data["weight_bytes"] == 2 * data["parameters"]) == ("bfloat16" in arguments)


def test_fields_can_be_set(capsys):
    arguments = ["--set", "pattern=strided(3)", "--set", "depth=2", "--tokens", "64", "--json"]
    assert main(["cost", "gpt-small", *arguments]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["pairs"] == 2 * 6 * (4 * 64 - 6)


def test_images(capsys):
    assert main(["cost", "grid-rnn", "--image", "4x6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["depth"] == 9
    assert main(["cost", "vit-fashion-mnist", "--tokens", "9"]) == 0
    assert "notice: tokens is ignored" in capsys.readouterr().out


def test_recipes_and_folders(tmp_path, capsys):
    assert main(["cost", "digits-vit", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["what"] == "recipe digits-vit"
    config = {"model_type": "bert", "vocab_size": 30522, "max_position_embeddings": 512,
              "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
              "intermediate_size": 3072, "architectures": ["BertForMaskedLM"]}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    for path in (tmp_path, tmp_path / "config.json"):
        assert main(["cost", str(path)]) == 0
        out = capsys.readouterr().out
        assert "109,514,298" in out
        assert "masked-LM head" in out


def test_run_folders(tmp_path, capsys):
    from regard import recipes
    from regard.train.recipe_data import to_data

    (tmp_path / "recipe.json").write_text(json.dumps(to_data(recipes.get("digits-vit"))))
    assert main(["cost", str(tmp_path), "--json"]) == 0
    by_recipe = json.loads(capsys.readouterr().out)
    (tmp_path / "model").mkdir()
    from regard.models.files import PARTS
    from regard.values import fields_of

    model = {"model": "ViT", "config": fields_of(recipes.get("digits-vit").task.model, PARTS)}
    (tmp_path / "model" / "config.json").write_text(json.dumps(model))
    assert main(["cost", str(tmp_path), "--json"]) == 0
    by_model = json.loads(capsys.readouterr().out)
    assert by_model["flops"] == by_recipe["flops"] > 0


def test_parts_by_name(capsys):
    found = {}
    for changes in ("mixer=LinearAttention", "mixer=Softmax; LinearAttention()", "mixer=Softmax"):
        assert main(["cost", "gpt2", "--set", changes, "--tree", "--json"]) == 0
        found[changes] = json.loads(capsys.readouterr().out)["flops"]
    alone, mixed, soft = found.values()
    assert alone < mixed < soft
    assert 2 * mixed == alone + soft
    both = ["--set", "pattern=strided(9); causal", "--set", "position=Rotary(base=5.0)"]
    assert main(["cost", "gpt2", *both]) == 0
    assert main(["cost", "gpt2", "--set", "mixer=Softmax; LinearAttention", "--tree"]) == 0
    out = capsys.readouterr().out
    assert "blocks causal ×6" in out
    assert "blocks linear causal ×6" in out
    assert main(["cost", "gpt2", "--set", "pattern=linear"]) == 2
    assert "no pattern: a model says mixer=LinearAttention()" in capsys.readouterr().err.splitlines()[0]


def test_sweep(tmp_path, capsys):
    out = tmp_path / "sweep.svg"
    arguments = ["--sweep", "n=64:1k", "--curve", "causal", "--curve", "linear", "--out", str(out)]
    assert main(["cost", *arguments]) == 0
    assert "linear is cheaper than causal" in capsys.readouterr().out
    assert out.read_text().startswith("<?xml")
    assert main(["cost", "gpt-small", "--sweep", "n=64:1k", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lengths"][0] == 64


def test_compare(tmp_path, monkeypatch, capsys):
    import torch
    from torch import nn

    from regard.cost.compare import counters, models

    found = [counters.compare("layer", nn.Linear(3, 3), torch.zeros(2, 3))]
    monkeypatch.setattr(models, "comparisons", lambda: found)
    assert main(["cost", "--compare", "--out", str(tmp_path / "t.md")]) == 0
    assert "## layer" in (tmp_path / "t.md").read_text()
    assert main(["cost", "--compare", "--json"]) == 0
    text = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(text)["comparisons"][0]["model"] == "layer"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name must be given"),
        (["gpt"], "did you mean"),
        (["gpt2", "--tokens", "-4"], "tokens must be a whole number"),
        (["gpt2", "--batch", "-3"], "batch must be at least 1, got batch=-3"),
        (["gpt2", "--set", "widht=3"], "has no field 'widht'; did you mean 'width'?"),
        (["gpt2", "--set", "width=-3"], "width must be at least 1"),
        (["vit-fashion-mnist", "--set", "pattern=axial(3, 3)"], "covers 9 positions"),
        (
            ["gpt2", "--set", "mixer=LinearAttention", "--set", "pattern=strided(9)"],
            "must be Causal() or Full()",
        ),
        (["gpt2", "--set", "position=Alibi", "--set", "mixer=LinearAttention"], "adds to the scores"),
        (["gpt2", "--letters", "q"], "no size is called 'q'"),
        (["gpt2", "--dtype", "float3"], "dtype must be one of"),
        (["grid-rnn", "--image", "4x5x6"], "image must be a number or ROWSxCOLS"),
        (["--sweep", "d=1:2"], "sweep must be n=FIRST:LAST"),
        (["--sweep", "n=1:64", "--out", "x.txt"], "out must end in .png or .svg"),
    ],
)
def test_bad_input_is_one_line(arguments, message, capsys):
    assert main(["cost", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_bad_files_are_one_line(tmp_path, capsys):
    assert main(["cost", str(tmp_path)]) == 2
    assert "holds no run and no config.json" in capsys.readouterr().err
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_layer": 2}')
    assert main(["cost", str(tmp_path)]) == 2
    assert "the key vocab_size is missing" in capsys.readouterr().err
    for text, message in (("{", "is no JSON"), ("[1]", "must hold an object, got a list")):
        (tmp_path / "config.json").write_text(text)
        assert main(["cost", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err


def test_help_has_an_example(capsys):
    main(["cost", "--help"])
    assert "regard cost gpt2 --tokens 1024 --tree" in " ".join(capsys.readouterr().out.split())


def test_a_preset_never_hides_a_recipe():
    assert not set(PRESETS) & set(recipes.names())


def test_ranks(capsys):
    assert command.main(["cost", "gpt2", "--tokens", "1024", "--ranks", "8"]) == 0
    out = capsys.readouterr().out
    assert "exchanged bytes" in out
    assert "12 layers: causal at n = 1,024 on 8 ranks, dealt zigzag" in out
    assert "75 % of a ring's; the busiest rank has 1.000 times the mean of pairs" in out
    assert command.main(["cost", "gpt2", "--tokens", "1024", "--ranks", "8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["exchanged_bytes"] == price(preset("gpt2"), tokens=1024, ranks=8).exchanged_bytes
    assert 12 * found["exchanges"][0]["exchanged_bytes"] == found["exchanged_bytes"]
    assert command.main(["cost", "gpt2", "--tokens", "1024"]) == 0
    assert "exchanged" not in capsys.readouterr().out
