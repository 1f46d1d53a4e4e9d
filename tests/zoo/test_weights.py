"""What ships: every model loads, keeps within the size, and reaches its score on a sample of the test set."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard import data, recipes, zoo
from regard.train.runs.images import ImageRun
from regard.train.runs.opening import WEIGHTS
from regard.train.task import TaskSetting

ROOT = Path(__file__).parents[2]
EMBEDDED = ("digits", "play", "verdicts")
SAMPLE = 400


def test_the_zoo_is_small():
    assert zoo.size() <= zoo.MOST_BYTES if WEIGHTS.exists() else zoo.names() == ()


@pytest.mark.parametrize("name", zoo.names())
def test_every_model_loads_and_has_a_card(name):
    entry = zoo.load(name)
    assert all(bool(torch.isfinite(weight).all()) for weight in entry.model.parameters())
    for word in ("data", "command", "seed", "training"):
        assert f"| {word} |" in entry.card, f"the card of {name} does not say its {word}"
    assert not re.search(r"/(home|work|root|tmp|srv)/", entry.card), "a path of some machine"


FOLDERS = {"cifar10": "cifar-10-batches-bin", "imdb": "aclImdb"}  # where a set is not called as it is


def folder_of(name, temporary):
    """Where a data set lies in its standard form, or None: no test downloads anything."""
    given, unpack = os.environ.get("REGARD_DATA"), ROOT.parent / "shared" / "data" / "unpack.py"
    if given:
        return Path(given) if (Path(given) / FOLDERS.get(name, name)).is_dir() else None
    if not unpack.exists():
        return None
    subprocess.run([sys.executable, str(unpack), str(temporary), name], check=True, capture_output=True)
    return temporary


@pytest.mark.parametrize("name", zoo.names())
def test_its_score_is_reproduced_on_a_sample(name, tmp_path):
    entry = zoo.load(name)
    score, source = entry.description.get("test", {}).get("accuracy"), entry.description["data"]
    if score is None:
        pytest.skip("no test accuracy was recorded")
    folder = None if source in EMBEDDED else folder_of(source, tmp_path)
    if folder is None and source not in EMBEDDED:
        pytest.skip(f"{source} is not here")
    test = data.load(source, folder=folder).test
    sample = SAMPLE if isinstance(entry, ImageRun) else SAMPLE // 4  # texts are read one by one
    pick = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))[:sample]
    part = test.take(pick)
    if isinstance(entry, ImageRun):
        found = entry.logits(part.images).argmax(1)
    else:
        classes = entry.description["classes"]
        found = torch.tensor([classes.index(one.label) for one in entry.predict(list(part.texts))])
    right = float((found == part.labels).float().mean())
    # Four standard errors of a sample of this size, and half a point for the smaller weights.
    assert abs(right - score) < 4 * (score * (1 - score) / len(pick)) ** 0.5 + 0.005


@pytest.mark.parametrize("name", ["dialogue", "play-gpt"])
def test_its_loss_is_reproduced_on_the_held_out_part(name, tmp_path):
    entry = zoo.load(name)
    source = entry.description["data"]
    folder = None if source in EMBEDDED else folder_of(source, tmp_path)
    if folder is None and source not in EMBEDDED:
        pytest.skip(f"{source} is not here")
    task = recipes.get(name).task.build(TaskSetting(torch.device("cpu"), 0, folder))
    assert task.tokenizer.vocab == entry.tokenizer.vocab
    found, told = task.validate(entry.model), entry.description["scores"]
    assert found["loss"] == pytest.approx(told["loss"], abs=0.02)  # the smaller weights' share
    assert found["bits_per_character"] == pytest.approx(told["bits_per_character"], abs=0.01)
