import json
from dataclasses import replace

import pytest
import torch

from regard.data import load, split
from regard.data.embedded.pairs import pairs
from regard.train import Characters, load_run, train
from tests.train import small


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "texts"
    task = replace(small.texts().task, tokens=Characters())  # which is quicker than words
    train(small.texts(task=task, steps=4), folder, quiet=True, device="cpu")
    return folder


def test_texts_score_as_evaluate_says(texts):
    run = load_run(texts)
    found = run.report(worst=5)
    assert found.scores == pytest.approx(load_run(texts).evaluate(), abs=1e-6)
    assert (found.name, found.data, found.part) == ("texts", small.FEW, "validation")
    data = load(small.FEW).train
    _, held = split(len(data), small.texts().task.validation, seed=0)
    part = data.take(held)
    assert found.count == len(held)
    surest = found.mistakes[0]
    assert surest.shown == part.texts[surest.index]
    assert surest.label == ("negative", "positive")[int(part.labels[surest.index])] != surest.answer
    (asked,) = run.predict([surest.shown[:23]])  # what training reads of it: the head
    assert (asked.label, asked.probability) == (surest.answer, pytest.approx(surest.probability, abs=1e-5))
    wrong = [one.probability for one in found.mistakes]
    assert wrong == sorted(wrong, reverse=True)


def test_pairs(texts):
    run = load_run(texts)
    found = run.report().pairs
    assert found["all"].count == len(pairs())
    one = [pair for pair in pairs() if pair.kind == "litotes"]
    right = 0
    for pair in one:
        for text, label in ((pair.positive, "positive"), (pair.negative, "negative")):
            right += run.predict([text[:23]])[0].label == label
    assert found["litotes"].sentences == pytest.approx(right / (2 * len(one)))
    other = replace(run, description={**run.description, "classes": ["dull", "lively"]})
    assert other.report().pairs is None


def test_the_test_part_is_recorded(texts):
    found = load_run(texts).report(test=True)
    assert json.loads((texts / "test.json").read_text()) == found.scores
    assert found.scores == pytest.approx(load_run(texts).evaluate(test=True), abs=1e-6)


def test_images(tmp_path):
    train(small.images(steps=3), tmp_path / "run", quiet=True, device="cpu")
    found = load_run(tmp_path / "run").report()
    assert found.scores == pytest.approx(load_run(tmp_path / "run").evaluate(), abs=1e-5)
    assert found.pairs is None
    assert found.pictures.shape == (len(found.mistakes), 1, 8, 8)
    data = load("digits").train
    _, held = split(len(data), 0.1, seed=0)
    assert torch.equal(found.pictures[0], data.take(held).images[found.mistakes[0].index])


def test_errors(tmp_path, texts):
    train(small.language(steps=1), tmp_path / "run", quiet=True, device="cpu")
    with pytest.raises(ValueError, match="needs a classifier of images or texts, this model is for language"):
        load_run(tmp_path / "run").report()
    with pytest.raises(ValueError, match="model has no recipe that tells its validation part; add --test"):
        load_run(texts / "model").report()
