"""Teachers: what trained models say of texts is learned in place of labels."""

from dataclasses import replace

import pytest
import torch

from regard.data import load
from regard.models import EncoderConfig
from regard.train import ClassifyTexts, load_run, train
from regard.train.task import TaskSetting
from regard.train.tasks.teachers import cut_out, taught
from tests.train import small


@pytest.fixture(scope="module")
def teachers(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("teacher") for _ in range(2)]
    for seed, folder in enumerate(folders):
        train(small.texts(steps=8, seed=seed), folder, quiet=True, device="cpu")
    return folders


def models(folders):
    return tuple(str(folder / "model") for folder in folders)


def test_what_they_say_is_their_mean(teachers):
    texts = ["not one fine film", "a bore", "far from good, and long " * 4]
    found = taught(models(teachers), texts, classes=("negative", "positive"), device=torch.device("cpu"))
    want = torch.stack([load_run(folder).logits(texts).softmax(1) for folder in teachers]).mean(0)
    torch.testing.assert_close(found, want, atol=1e-5, rtol=1e-4)


def test_a_pupil_learns_what_they_say(teachers, tmp_path):
    task = replace(small.texts().task, teachers=models(teachers), sentences=5)
    value = small.texts(task=task)
    built = task.build(TaskSetting(device=torch.device("cpu"), seed=0))
    assert built.learn_labels.shape == (built.examples, 2)
    plain = small.texts().task.build(TaskSetting(device=torch.device("cpu"), seed=0))
    several = len(cut_out(load(task.data).train.texts, 5))
    assert built.examples - plain.examples <= several
    assert torch.equal(built.held_labels, plain.held_labels)
    train(value, tmp_path, quiet=True, device="cpu")
    run = load_run(tmp_path)
    assert run.recipe.task.teachers == models(teachers)
    assert run.evaluate()["accuracy"] == pytest.approx(run.description["scores"]["accuracy"], abs=1e-5)


def test_sentences_of_longer_texts_alone():
    texts = [f"Film {i} was good. I liked it very much! Yes." for i in range(30)] + ["One of its kind."]
    assert len(cut_out(texts, 100)) == 31  # "I liked it very much!" once, "Yes." too short
    assert cut_out(texts, 7) == cut_out(texts, 7)
    assert len(set(cut_out(texts, 7))) == 7
    assert "One of its kind." not in cut_out(texts, 100)


def test_what_is_refused(teachers):
    model = EncoderConfig(vocab=None, context=8)
    with pytest.raises(ValueError, match="sentences need teachers, got sentences=3"):
        ClassifyTexts(data="verdicts", model=model, sentences=3)
    with pytest.raises(ValueError, match="teachers must know the classes no, yes"):
        taught(models(teachers), ["x y"], classes=("no", "yes"), device=torch.device("cpu"))
