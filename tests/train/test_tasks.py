"""Each task: its examples, its loss, and a short run."""

import math
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from regard.data import Augment
from regard.models import EncoderConfig, GridCompletionConfig, load
from regard.train import (
    AdamW,
    BytePairs,
    ClassifyImages,
    CompleteImages,
    CourseViT,
    MaskedText,
    evaluate,
    load_run,
    predict,
    train,
)
from regard.train.task import Setting
from regard.train.tasks.windows import Windows, consecutive
from tests.train import small

CPU = torch.device("cpu")


def test_windows_cover_the_text_without_overlap():
    windows = Windows(torch.arange(103), length=10, seed=0)
    for epoch in range(4):
        starts = windows._starts(epoch)
        rows = windows.rows(starts, extra=1)
        assert rows.shape == (9, 11)
        assert rows.max() < 103
        inside = rows[:, :-1].flatten()
        assert len(inside.unique()) == len(inside)
    assert len({int(windows._starts(epoch).min()) for epoch in range(20)}) > 3


@pytest.mark.parametrize("count", [2, 5, 10, 11, 12])
def test_every_held_out_token_is_a_target_once(count):
    targets = torch.cat([rows[:, 1:].flatten() for rows in consecutive(torch.arange(count), 5, batch=2)])
    assert targets.tolist() == list(range(1, count))


def test_dialogues_have_padding_that_no_loss_counts():
    task = small.words().task.build(Setting(CPU, 0))
    tokens, targets = inputs = task.prepare((torch.arange(24),), torch.Generator())
    model = task.model(torch.Generator().manual_seed(0))
    total, count = task.loss(model, inputs, None)
    logits = model(tokens)
    want = [
        cross_entropy(logits[b, n], targets[b, n])
        for b in range(24)
        for n in range(tokens.shape[1])
        if targets[b, n] >= 0
    ]
    assert count == len(want) < targets.numel()
    assert total.item() == pytest.approx(sum(want).item(), rel=1e-5)
    # the padding itself must not matter
    changed = torch.cat([tokens[:, :1], torch.where(targets < 0, 7, targets)], 1)[:, :-1]
    assert task.loss(model, (changed, targets), None)[0].item() == pytest.approx(total.item(), rel=1e-5)


def test_validation_is_over_the_whole_held_out_part():
    task = small.language().task.build(Setting(CPU, 0))
    model = task.model(torch.Generator().manual_seed(0)).eval()
    scores = task.validate(model)
    held = task.held.tolist()
    nats = []
    for start in range(0, len(held) - 1, 16):
        row = torch.tensor([held[start : start + 17]])
        nats += cross_entropy(model(row[:, :-1])[0], row[0, 1:], reduction="none").tolist()
    assert len(nats) == len(held) - 1
    assert scores["loss"] == pytest.approx(sum(nats) / len(nats), rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["bits_per_character"] == pytest.approx(sum(nats) / math.log(2) / task.held_characters)


def test_texts_and_what_predicting_them_says(tmp_path):
    task = replace(
        small.texts().task, tokens=BytePairs(300), model=replace(small.texts().task.model, context=16)
    )
    train(small.texts(task=task, steps=4), tmp_path, quiet=True, device="cpu")
    run = load_run(tmp_path)
    short, long = predict(run, ["not <b>one</b> dull minute", "far from good " * 20])
    assert short.notice is None
    assert "windows of 15 tokens" in long.notice
    assert short.label in ("negative", "positive")
    for empty in ("", "  ", "<br/>"):
        with pytest.raises(ValueError, match="must hold something to read"):
            predict(run, [empty])
    assert evaluate(tmp_path, device="cpu") == pytest.approx(run.description["scores"], abs=1e-5)


def test_hidden_tokens_and_going_on_from_them(tmp_path):
    value = MaskedText(
        data="verdicts",
        model=EncoderConfig(vocab=1, context=16, depth=1, width=16, heads=2),
        tokens=BytePairs(300),
        share=0.25,
        validation=0.01,
    )
    task = value.build(Setting(CPU, 0))
    tokens, places, targets = task.prepare(task.batch(0, 0, 1, 400), torch.Generator().manual_seed(0))
    assert places.shape == targets.shape == (400, 4)
    assert all(len(row.unique()) == 4 for row in places)
    seen = tokens.gather(1, places)
    assert float((seen == task.mask).float().mean()) == pytest.approx(0.8, abs=0.05)
    assert float((seen == targets).float().mean()) == pytest.approx(0.1, abs=0.05)
    first = small.language(task=value, steps=4)
    second = small.texts(
        task=replace(small.texts().task, model=replace(value.model, pool="mean")), steps=3, before=first
    )
    result = train(second, tmp_path, quiet=True, device="cpu")
    begun = load(tmp_path / "before" / "model" / "model.safetensors")
    assert load_run(tmp_path).model.config.vocab == begun.config.vocab == task.mask + 1
    assert result.steps == 3
    with pytest.raises(ValueError, match="is a pretraining"):
        evaluate(tmp_path / "before", device="cpu")
    with pytest.raises(ValueError, match="this model is for masked"):
        predict(load_run(tmp_path / "before"), ["x"])


def test_completion_and_the_course_model(tmp_path):
    model = GridCompletionConfig(levels=4, hidden=4, layers=1)
    recipe = small.images(task=CompleteImages(data="digits", model=model), optimizer=AdamW(), steps=3)
    assert 0 < train(recipe, tmp_path / "grid", quiet=True, device="cpu").scores["loss"] < 2
    course = CourseViT(image=8, patch=4, channels=1, depth=1, width=8, heads=2, head_width=4, hidden=8)
    task = ClassifyImages(data="digits", model=course, augment=Augment(classes=10))
    train(small.images(task=task, optimizer=AdamW(), steps=3), tmp_path / "course", quiet=True, device="cpu")
    run = load_run(tmp_path / "course")
    assert type(run.model).__name__ == "ViT"
    assert evaluate(tmp_path / "course", device="cpu") == pytest.approx(run.description["scores"], abs=1e-4)
