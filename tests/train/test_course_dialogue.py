"""The textbook's dialogue model by the loop: its own tokenizer, data set and loss, and what comes of it."""

from dataclasses import replace

import pytest
import torch

from regard.course import DialogueGPT, DialogueLoss, MyTokenizer
from regard.data import load
from regard.models import GPT
from regard.train import (
    AdamW,
    Characters,
    Checks,
    CourseGPT,
    Execution,
    Language,
    Recipe,
    Words,
    load_run,
    train,
)
from regard.train.task import TaskSetting
from tests.train import small

CPU = torch.device("cpu")


def dialogue(**changes: object) -> Recipe:
    recipe = Recipe(
        name="small-course-dialogue",
        task=Language(
            data="play",
            model=CourseGPT(context=24, depth=1, width=16, heads=2, head_width=8, hidden=16),
            tokens=Words(),
            cut="dialogues",
            validation=0.05,
            prompt="TAMSIN:",
            sample=5,
        ),
        batch=8,
        steps=6,
        execution=Execution(compile="none"),
        checks=Checks(validate_every=3),
    )
    return recipe.but(**changes)


def test_examples_are_the_courses_and_the_loss_too():
    task = dialogue().task.build(TaskSetting(CPU, 0))
    lines = load("play").dialogues()[: task.examples]
    course = MyTokenizer("\n\n".join(lines))
    assert task.tokenizer.words == course.id_to_tok
    ids, mask = inputs = task.prepare((torch.tensor([3, 0]),), torch.Generator())
    assert ids[0, : mask[0].sum()].tolist() == course.encode(lines[3])[:24].tolist()
    model = task.model(torch.Generator().manual_seed(0))
    assert isinstance(model, DialogueGPT)
    total, count = task.loss(model, inputs, None)
    assert count == mask[:, 1:].sum()
    torch.testing.assert_close(total / count, DialogueLoss()(model(ids)[0], ids, mask))


def test_held_out_dialogues_are_scored_as_those_of_every_language_model(tmp_path):
    best = train(dialogue(), tmp_path, quiet=True).scores["perplexity"]
    run = load_run(tmp_path)
    assert isinstance(run.model, GPT)
    assert load_run(tmp_path).evaluate()["perplexity"] == pytest.approx(best, rel=1e-4)
    plain = small.words().task
    model = replace(plain.model, context=24)
    task = replace(plain, model=model, tokens=Words(), validation=0.05).build(TaskSetting(CPU, 0))
    assert task.validate(run.model)["perplexity"] == pytest.approx(best, rel=1e-4)


def test_ten_dialogues_by_heart_and_then_said_again(tmp_path, capsys):
    """The sheet's own check: a model that overfits ten dialogues continues them from an encoded beginning."""
    from regard.cli.main import main

    often = {"steps": 120, "validate_every": 40, "save_every": 200}
    recipe = dialogue(overfit=10, batch=10, optimizer=AdamW(lr=1e-2, decay=0.0), **often)
    train(recipe, tmp_path, quiet=True)
    run = load_run(tmp_path)
    words = run.tokenizer.decode(run.tokenizer.encode(load("play").dialogues()[0])).split()[:12]
    rules = recipe.task.build(TaskSetting(CPU, 0, None, 10)).rules
    said = run.model.generate(rules.encode("BELLMAN: The")[None], max_new_tokens=9)[0]
    assert rules.decode(said).split() == ["<START>", *words]
    given = ["generate", str(tmp_path), "--prompt", "BELLMAN: The", "--tokens", "9", "--temperature", "0"]
    assert main(given) == 0
    shown = run.tokenizer.shown(run.tokenizer.encode(load("play").dialogues()[0])[:12])
    assert capsys.readouterr().out.strip() == shown


def test_a_sample_after_each_epoch_is_recorded(tmp_path):
    from regard.train.metrics import read_rows

    train(dialogue(), tmp_path, quiet=True)
    samples = [row["sample"] for row in read_rows(tmp_path) if row["kind"] == "validation"]
    assert len(samples) == 2
    assert all(sample.startswith("TAMSIN : ") and len(sample.split()) == 7 for sample in samples)


def test_the_textbook_reads_dialogues_by_words():
    with pytest.raises(ValueError, match=r"a CourseGPT needs tokens=Words\(\), cut='dialogues'"):
        replace(dialogue().task, tokens=Characters())
    with pytest.raises(ValueError, match="hide=0 and rare=0"):
        replace(dialogue().task, hide=0.1)
