import json

import pytest
import torch

from regard.paper.pixels import png
from regard.train import open_run
from tests.train.runs.conftest import draw

pytest.importorskip("PIL")


@pytest.fixture
def files(tmp_path):
    out = []
    for i, (rows, cols) in enumerate([(6, 4), (12, 12)]):
        path = tmp_path / f"image{i}.png"
        path.write_bytes(png(torch.randint(0, 256, (rows, cols, 3), generator=draw(i)).to(torch.uint8)))
        out.append(str(path))
    return out


def test_images(image_run, files):
    run = open_run(image_run)
    found = run.look(files, labels=["cat", "emu"], steps=2)
    assert found.images.names == ("image0.png", "image1.png")
    assert found.notices == ("image1.png: 12×12 pixels, cut to the middle 8×12, resized to 4×6",)
    assert found.images.labels.tolist() == [0, 2]
    asked = run.predict(files[:1])[0]
    assert found.images.classes[int(found.images.predicted[0])] == asked.label
    assert float(found.images.probabilities[0].max()) == pytest.approx(asked.probability, abs=1e-5)
    json.dumps(found.as_dict())


def test_texts(text_run, tmp_path):
    run = open_run(text_run)
    (tmp_path / "review.txt").write_text("Not one dull <br/> minute 😀", encoding="utf-8")
    found = run.look(["a dull film", str(tmp_path / "review.txt")], steps=2)
    assert found.texts[0].pieces == ("a", " dull", " film")
    assert found.texts[1].pieces[-1] == " 😀"
    asked = run.predict(["a dull film"])[0]
    assert (found.texts[0].answer, found.texts[0].probability) == (
        asked.label,
        pytest.approx(asked.probability),
    )
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    for given, message in ((str(tmp_path / "bad.txt"), "must be text in UTF-8"), ("no.txt", "cannot be read"),
                           ("", "empty text"), ("qwertz", "that the model knows")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            run.look([given])


def test_completion(completion_run, files):
    found = open_run(completion_run).look(files)
    assert found.completion.truth.shape == (2, 6, 4)
    assert found.completion.known == 3
    again = open_run(completion_run).look(files)
    assert torch.equal(found.completion.completed, again.completion.completed)


def test_errors(image_run, text_run, files, tmp_path):
    run = open_run(image_run)
    with pytest.raises(ValueError, match="labels must be among cat, dog, emu, got 'cow'"):
        run.look(files, labels=["cat", "cow"])
    with pytest.raises(ValueError, match="labels must be one per image, got 1 for 2"):
        run.look(files, labels=["cat"])
    with pytest.raises(ValueError, match="text for a run that reads texts, got none"):
        open_run(text_run).look([])
    with pytest.raises(ValueError, match="labels are for images that are given, got a run for texts"):
        open_run(text_run).look(["dull"], labels=["positive"])
    with pytest.raises(ValueError, match="the zoo has no model 'nothing'"):
        open_run("zoo:nothing")
    with pytest.raises(ValueError, match="holds no run"):
        open_run(tmp_path)
