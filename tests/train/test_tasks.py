"""Each task: its examples, its loss, and a short run."""

import math
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from regard.data import Augment
from regard.layers import Learned, Rotary
from regard.models import Encoder, EncoderConfig, GridCompletionConfig, ViTConfig, load
from regard.pattern import Neighbourhood
from regard.train import (
    AdamW,
    BytePairs,
    ClassifyImages,
    CompleteImages,
    CourseViT,
    MaskedText,
    Words,
    load_run,
    train,
)
from regard.train.task import TaskSetting
from regard.train.tasks.rows import readable
from regard.train.tasks.text_models import fitted
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
    task = small.words().task.build(TaskSetting(CPU, 0))
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
    task = small.language().task.build(TaskSetting(CPU, 0))
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
    short, long = run.predict(["not <b>one</b> dull minute", "far from good " * 20])
    assert short.notice is None
    assert "windows of at most 15 tokens" in long.notice
    assert short.label in ("negative", "positive")
    for empty in ("", "  ", "<br/>"):
        with pytest.raises(ValueError, match="must hold something to read"):
            run.predict([empty])
    assert load_run(tmp_path).evaluate() == pytest.approx(run.description["scores"], abs=1e-5)


def test_hidden_tokens_and_going_on_from_them(tmp_path):
    value = MaskedText(
        data="verdicts",
        model=EncoderConfig(vocab=None, context=16, depth=1, width=16, heads=2),
        tokens=BytePairs(300),
        share=0.25,
        validation=0.01,
    )
    task = value.build(TaskSetting(CPU, 0))
    tokens, places, targets = task.prepare(task.batch(0, 400), torch.Generator().manual_seed(0))
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
        load_run(tmp_path / "before").evaluate()
    with pytest.raises(ValueError, match="this model is for masked"):
        load_run(tmp_path / "before").predict(["x"])


def test_completion_and_the_course_model(tmp_path):
    model = GridCompletionConfig(levels=4, hidden=4, layers=1)
    recipe = small.images(task=CompleteImages(data="digits", model=model), optimizer=AdamW(), steps=3)
    assert 0 < train(recipe, tmp_path / "grid", quiet=True, device="cpu").scores["loss"] < 2
    course = CourseViT(image=8, patch=4, channels=1, depth=1, width=8, heads=2, head_width=4, hidden=8)
    task = ClassifyImages(data="digits", model=course, augment=Augment(classes=10))
    train(small.images(task=task, optimizer=AdamW(), steps=3), tmp_path / "course", quiet=True, device="cpu")
    run = load_run(tmp_path / "course")
    assert type(run.model).__name__ == "ViT"
    assert load_run(tmp_path / "course").evaluate() == pytest.approx(run.description["scores"], abs=1e-4)


def test_tokens_read_as_unknown_and_rare_words_that_count_as_unknown():
    spec = replace(small.words().task, tokens=Words())
    plain = spec.build(TaskSetting(CPU, 0))
    task = replace(spec, hide=0.3, rare=0.5).build(TaskSetting(CPU, 0))
    at, draws = torch.arange(task.examples), torch.Generator().manual_seed(0)
    (tokens, targets), (read, told) = plain.prepare((at,), draws), task.prepare((at,), draws)
    unk, real = task.tokenizer.unk, targets >= 0
    changed = told != targets
    assert torch.equal(told[changed], torch.full_like(told[changed], unk))
    once = plain.once[targets.clamp(min=0)] & real
    assert int(plain.once.sum()) == int((torch.bincount(targets[real]) == 1).sum())
    assert not (changed & ~once).any()
    assert changed[once].float().mean().item() == pytest.approx(0.5, abs=0.1)
    kept = (read == unk).float()[~plain.once[tokens]].mean().item()
    assert kept == pytest.approx(0.3, abs=0.05)
    quiet = task.prepare((at,), torch.Generator().manual_seed(1))[0]
    assert not torch.equal(quiet, read)


@pytest.mark.parametrize("kind", ["images", "language", "words", "texts", "masked", "completion"])
def test_only_a_part_that_nothing_was_chosen_by_is_a_test(kind):
    task = getattr(small, kind)().task.build(TaskSetting(CPU, 0))
    model = task.model(torch.Generator().manual_seed(0)).eval()
    assert task.has_test == (kind in ("images", "texts", "completion"))
    if task.has_test:
        with torch.no_grad():
            assert task.test(model)["loss"] != task.validate(model)["loss"]
    else:
        with pytest.raises(ValueError, match="has no test part"):
            task.test(model)


def test_unknown_tokens_need_a_tokenizer_that_has_one():
    with pytest.raises(ValueError, match="BytePairs has none"):
        replace(small.language().task, tokens=BytePairs(300), hide=0.1)


def test_validation_of_the_known_words_alone():
    task = replace(small.words().task, tokens=Words(), validation=0.3).build(TaskSetting(CPU, 0))
    assert task.unknown > 0
    model = task.model(torch.Generator().manual_seed(0)).eval()
    nats = []
    for tokens, targets in task._held_batches():
        losses = cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="none")
        known = (targets.flatten() >= 0) & (targets.flatten() != task.tokenizer.unk)
        nats += losses[known].tolist()
    found = task.validate(model)["perplexity_of_known"]
    assert found == pytest.approx(math.exp(sum(nats) / len(nats)), rel=1e-4)


def test_hidden_words_are_padding_to_the_model():
    task = replace(small.texts().task, hide=0.4).build(TaskSetting(CPU, 0))
    tokens, segments, _ = task.prepare((torch.arange(64),), torch.Generator().manual_seed(0))
    plain = small.texts().task.build(TaskSetting(CPU, 0)).prepare((torch.arange(64),), torch.Generator())
    assert torch.equal(tokens, plain[0])
    assert (segments[:, 0] == 0).all()
    assert (segments <= plain[1]).all()
    real = plain[1][:, 1:] == 0
    assert (segments[:, 1:][real] == -1).float().mean().item() == pytest.approx(0.4, abs=0.05)
    model = task.model(torch.Generator().manual_seed(0)).eval()
    swapped = torch.where(segments < 0, 5, tokens)
    torch.testing.assert_close(model(swapped, segments=segments), model(tokens, segments=segments))


def test_texts_are_read_without_html_and_in_small_letters():
    tokens = BytePairs(400, lower=True).train(["Good <b>FILM</b>"])
    assert tokens.encode("GOOD film") == tokens.encode("good FILM")
    texts = readable(["Good.<br /><br />Very &amp; much"])
    assert texts == ["Good.\nVery & much"]


def test_pretraining_on_the_labelled_texts_alone():
    model = EncoderConfig(vocab=None, context=16, depth=1, width=16, heads=2)
    few = MaskedText(data="verdicts", model=model, tokens=BytePairs(300), unlabelled=False)
    many = replace(few, unlabelled=True)
    counts = [len(spec.build(TaskSetting(CPU, 0)).windows.tokens) for spec in (few, many)]
    assert counts[0] <= counts[1]


def test_a_context_may_grow_where_positions_have_no_table():
    config = EncoderConfig(vocab=50, context=16, depth=1, width=16, heads=2, position=Rotary())
    longer = replace(config, context=64)
    assert fitted(longer, Encoder(config), vocab=9, context=64, classes=2).context == 64
    fixed = replace(config, position=Learned())
    assert fitted(replace(fixed, context=64), Encoder(fixed), vocab=9, context=64, classes=2).context == 16


def test_a_step_leaves_patches_out_and_answers_see_all():
    model = ViTConfig(image=8, patch=2, channels=1, classes=10, depth=1, width=16, heads=2, pool="mean")
    spec = ClassifyImages(data="digits", model=model, augment=Augment(classes=10), drop_patches=0.7)
    task, seen = spec.build(TaskSetting(CPU, 0)), []
    vit = task.model(torch.Generator().manual_seed(0))
    vit.blocks[0].register_forward_pre_hook(lambda _, given: seen.append(given[0].shape[1]))
    batch = task.prepare((torch.arange(6),), torch.Generator().manual_seed(1))
    with torch.no_grad():
        losses = [float(task.loss(vit, batch, torch.Generator().manual_seed(i))[0]) for i in (2, 3, 3)]
        assert losses[0] != losses[1] == losses[2]
        task.validate(vit)
    assert seen[:3] == [5, 5, 5]  # 16 patches, 4.8 of them
    assert set(seen[3:]) == {16}
    with pytest.raises(ValueError, match="drop_patches is for a ViT with the pattern full"):
        replace(spec, model=replace(model, pattern=Neighbourhood(4, 4, 3)))
    with pytest.raises(ValueError, match="drop_patches must be a share"):
        replace(spec, drop_patches=-0.1)
