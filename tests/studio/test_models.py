"""Which models the studio shows, and which first."""

import pytest

from regard.studio.models import Models, gather, kind
from regard.train import load_run
from regard.train.runs.images import ImageRun
from regard.train.runs.language import LanguageRun
from regard.train.runs.texts import TextRun


def test_a_room_begins_with_the_model_made_for_it(runs):
    for folder, of, wanted in ((runs[1], LanguageRun, "zoo:dialogue"), (runs[2], TextRun, "zoo:sentiment")):
        run = load_run(folder)
        models = Models(dict.fromkeys(("zoo:another", wanted), run))
        assert models.first(of, wanted) == wanted
        assert Models({"mine": run, **models.runs}).first(of, wanted) == "mine"


def test_the_page_is_told_which_models_there_are(studio):
    said = studio.ask("shell/models")[1]
    found = {one["name"]: one["kind"] for one in said["models"]}
    assert (found["digits-vit"], found["play-gpt"], found["verdicts-encoder"]) == (
        "images",
        "dialogues",
        "sentiment",
    )
    assert list(found)[:3] == ["digits-vit", "play-gpt", "verdicts-encoder"]
    assert said["faults"] == []


def test_a_model_that_is_not_there_is_named(runs):
    models = gather(runs[:1])
    assert kind(models.open("digits-vit", ImageRun)) == "images"
    with pytest.raises(ValueError, match="no model for dialogues is called 'digits-vit'"):
        models.open("digits-vit", LanguageRun)
