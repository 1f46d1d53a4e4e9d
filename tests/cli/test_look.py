import json

import pytest
import torch
import typer
from typer.testing import CliRunner

from regard.cli.look import look
from regard.data import load, split
from regard.paper.pixels import png
from tests.train.runs.conftest import completion_run, draw, image_run, text_run

__all__ = ["completion_run", "image_run", "text_run"]

pytest.importorskip("PIL")
pytest.importorskip("matplotlib")


def call(*words):
    app = typer.Typer()
    app.command()(look)
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "one.png"
    path.write_bytes(png(torch.randint(0, 256, (8, 8, 3), generator=draw()).to(torch.uint8)))
    return path


def test_images(image_run, image, tmp_path):
    done = call(image_run, image, "--out", tmp_path / "out", "--labels", "dog")
    assert done.exit_code == 0, done.output
    assert "true dog" in done.output
    assert "resized to 4×6" in " ".join(done.output.split())
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"look.html", "look.png", "heads-1.png"}
    assert (tmp_path / "out" / "look.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "out" / "look.html").read_text(encoding="utf-8")
    assert "Inside images" in text
    assert "true dog" in text


def test_texts_for_machines(text_run, tmp_path):
    done = call(text_run, "a dull film", "not one minute", "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert [piece["text"] for piece in found["texts"][0]["pieces"]] == ["a", " dull", " film"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"look.html", "look-1.png", "look-2.png"}
    assert len(found["files"]) == 3


def test_a_text_in_the_terminal(text_run, tmp_path):
    done = call(text_run, "a dull film", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    for word in ("attention", "gradient", "moved the answer", "look.html"):
        assert word in done.output


def test_names_are_no_markup(image_run, image, tmp_path):
    odd = image.rename(tmp_path / "[red]x[bold].png")
    done = call(image_run, odd, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "[red]x[bold].png: 8×8 pixels" in done.output


def test_completion(completion_run, image, tmp_path):
    done = call(completion_run, image, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "% of the made-up pixels" in done.output
    assert (tmp_path / "out" / "look.png").exists()


def test_errors_leave_nothing_behind(image_run, tmp_path):
    done = call(image_run, tmp_path / "no.png", "--out", tmp_path / "out")
    assert isinstance(done.exception, ValueError)
    assert "cannot be read" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_without_inputs_ten_held_out_images_are_shown(tmp_path):
    pytest.importorskip("sklearn")
    done = call("zoo:digits-vit", "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["images"]["names"] == [f"held-out {i}" for i in range(1, 11)]
    assert found["notices"] == ["the first 10 images of digits that training held out"]
    digits = load("digits")
    _, held = split(len(digits.train), 0.1, seed=0)
    true = [digits.classes[i] for i in digits.train.labels[held[:10]]]
    assert found["images"]["labels"] == true
    assert (tmp_path / "out" / "heads-10.png").exists()


def test_without_inputs_a_text_must_be_given(text_run, image_run, tmp_path):
    done = call(text_run, "--out", tmp_path / "out")
    assert str(done.exception) == "inputs must be at least one text for a run that reads texts, got none"
    done = call(image_run, "--labels", "dog", "--out", tmp_path / "out")
    assert "labels are for images that are given" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_pattern_for_a_folder_of_transformers(tmp_path, image):
    pytest.importorskip("transformers")
    from regard.train import open_run
    from regard.train.export import export_huggingface

    export_huggingface(open_run("zoo:digits-vit"), tmp_path / "vit")
    done = call(tmp_path / "vit", image, "--out", tmp_path / "out", "--pattern", "windowed(3); ", "--json")
    assert "one for each of the" in str(done.exception)
    done = call(tmp_path / "vit", image, "--out", tmp_path / "out", "--pattern", "windowed(3)", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["notices"] == ["its layers look by windowed(3)"]
    assert "windowed(3)" in (tmp_path / "out" / "look.html").read_text(encoding="utf-8")
    done = call("zoo:digits-vit", image, "--out", tmp_path / "out", "--pattern", "causal")
    assert "digits-vit is a run of Regard" in str(done.exception)
