"""Runs as folders for transformers: its pipelines run on them and say what the runs say."""

import json

import pytest
import torch

from regard.models import ViT, ViTConfig
from regard.models.huggingface import folders
from regard.train import open_run
from regard.train.export import coloured, export_huggingface


@pytest.mark.parametrize("name", ["digits-vit", "vit-cifar10"])
def test_a_pipeline_sees_what_the_run_sees(name, tmp_path):
    transformers = pytest.importorskip("transformers")
    image = pytest.importorskip("PIL.Image")
    run = open_run(f"zoo:{name}")
    assert export_huggingface(run, tmp_path / "out") is False  # there is no tokenizer
    pixels = torch.randint(
        256, (*run.description["image"][1:], 3), generator=torch.Generator().manual_seed(0)
    )
    picture = image.fromarray(pixels.byte().numpy())
    picture.save(tmp_path / "picture.png")
    found = transformers.pipeline("image-classification", model=str(tmp_path / "out"))(picture, top_k=10)
    want = run.predict([str(tmp_path / "picture.png")])[0].as_dict()["probabilities"]
    assert {one["label"] for one in found} == set(want)
    for one in found:  # our grey levels are rounded to whole ones first
        assert one["score"] == pytest.approx(want[one["label"]], abs=1e-5 if name == "vit-cifar10" else 5e-3)


def test_the_dialogue_model_is_a_gpt_neox(tmp_path):
    transformers = pytest.importorskip("transformers")
    run = open_run("zoo:dialogue")
    export_huggingface(run, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model_type"] == "gpt_neox"
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    x = torch.randint(3, 900, (2, 20), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(theirs(x).logits, run.model(x), atol=1e-5, rtol=1e-5)


def test_grey_pictures_are_colours_that_agree():
    model = ViT(ViTConfig(image=(8, 12), patch=4, channels=1, classes=3, depth=1, width=12, heads=3)).eval()
    grey = torch.randn(2, 1, 8, 12)
    torch.testing.assert_close(coloured(model)(grey.expand(-1, 3, -1, -1)), model(grey))


def test_an_export_that_fails_leaves_nothing(tmp_path, monkeypatch):
    run = open_run("zoo:digits-vit")

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "write", full)
    with pytest.raises(OSError, match="No space left"):
        export_huggingface(run, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
