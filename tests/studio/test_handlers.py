"""What the rooms answer, without a server."""

import asyncio
import re
import time
from html import unescape

import pytest
import torch

from regard import zoo
from regard.data.fetch import VARIABLE
from regard.models.sampling import Sampling
from regard.paper import plot
from regard.pattern import parse
from regard.studio import limits, show
from regard.studio.models import Models, gather
from regard.studio.rooms import costs, dialogue, lessons, patterns, recurrence, sentiment, sharing, vision
from regard.studio.sketches import sketches
from regard.studio.writing import Continuation, Decoding, prompt, speeds, write
from regard.train import load_run
from regard.train.runs.images import ImageRun


@pytest.fixture
def models(runs):
    return gather(runs)


KINDS = [kind for kind in patterns.KINDS if kind != patterns.TYPED]
MIXED = ["windowed(7) | windowed(9) | strided(5)", "~(strided(12) | windowed(30)) & causal"]


@pytest.mark.parametrize("text", [*(patterns.expression(kind, 5, 8, 256) for kind in KINDS), *MIXED])
def test_a_redraw_takes_less_than_150_ms(text):
    patterns.answer("causal", 2)  # the first call imports
    lengths = (256,) if "(16, 16" in text else (256, 255, 254)  # a grid has its own length
    spent = []
    for n in lengths:
        patterns.drawn.cache_clear()
        begin = time.thread_time()  # what else the machine does is not counted
        out = patterns.answer(text, n)
        spent.append(time.thread_time() - begin)
        assert f"{parse(text).pairs(n):,} of {n * n:,}" in out
    assert min(spent) < 0.15


def test_every_kind_fits_every_length():
    for kind in patterns.KINDS:
        for n in (2, 7, 24) if kind != patterns.TYPED else ():
            text, out = patterns.slide(kind, 3, 4, n, "")
            assert f"{parse(text).pairs(n):,} of {n * n:,}" in out, (kind, n, out[:200])
    assert patterns.slide(patterns.TYPED, 1, 1, 8, "causal")[0] == "causal"
    assert "kind must be one of" in patterns.slide("nonsense", 1, 1, 8, "causal")[1]


def test_formulas_come_where_they_are_quick():
    assert "6n − 15 for n &gt; 5" in patterns.closed("strided(5)", 24)
    assert "repeats after 5,040" in patterns.closed("windowed(63) | windowed(80)", 24)
    assert "none: " in patterns.closed("randomblocks(4, 3, 7)", 24)
    assert patterns.closed("nonsense", 24) == ""


def test_the_picture_shown_has_the_page_s_colours_and_the_file_its_own():
    out = patterns.answer("strided(2) | global(1) & causal", 9)
    assert "var(--seen)" in out
    assert "data:image/svg+xml;base64," in out
    assert "strided(2) | global(1) &amp; causal" in out


def test_numbers_within_limits():
    for bad in (float("nan"), float("inf"), "7", None, True, 1.5, [], 0, 11):
        with pytest.raises(ValueError, match="must be a whole number from 1 to 10"):
            limits.whole("n", bad, 1, 10)
    for bad in (float("nan"), "7", None, True, 11.0):
        with pytest.raises(ValueError, match="must be a number from 0 to 10"):
            limits.real("x", bad, 0, 10)


def test_without_models_there_are_rooms_that_say_so():
    from regard.studio.page import blocks

    async def page():  # inside a loop, for Gradio leaves one open that it makes
        return str(blocks(Models({}, ("zoo:old is damaged",))).get_config_file())

    said = asyncio.run(page())
    for name in ("digits-vit", "play-gpt", "verdicts-encoder"):
        assert f"regard train {name}" in said
    assert "zoo:old is damaged" in said


def test_the_models(runs):
    models = gather([runs[0], runs[0]])
    assert models.names(ImageRun)[:2] == ["digits-vit", "digits-vit-2"]
    with pytest.raises(ValueError, match="no model for images is called 'x'; there are"):
        models.open("x", ImageRun)
    with pytest.raises(ValueError, match="holds no run"):
        gather([runs[0].parent])


def test_curves_of_every_preset_with_attention(models):
    for name in ("gpt2", "bert-base", "vit-b16", "llama-3-8b"):
        shape = costs.swept_shape(costs.described(name, "")[0])
        out = costs.curves(costs.swept(shape, 65_536, ("causal", "windowed(256)")))
        assert out.count("<polyline") == 4
        assert "windowed(256) is cheaper than causal" in out
    with pytest.raises(ValueError, match="no attention"):
        costs.swept_shape(costs.described("rnn", "")[0])


def test_runs_are_priced_too(models):
    found = costs.priced("play-gpt", "", 64, 1, costs.WAYS[0], "bfloat16", costs.own("play-gpt", models))
    assert found.parameters == sum(x.numel() for x in models.runs["play-gpt"].model.parameters())


def test_pictures_that_are_not_here(runs, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path)
    vision.pictures.cache_clear()
    run = load_run(runs[0])
    run.description["data"] = "cifar10"
    images, words = vision.samples(run)
    assert images.classes == ("airplane", "ship", "automobile", "truck", "horse")
    assert words == "the pictures of cifar10 are not on this machine: this is a sketch drawn in code"
    asked = vision.from_sample("m", run, 1)
    *_, last = vision.hidden(asked, run)
    assert "answer unchanged" in last
    vision.pictures.cache_clear()


@pytest.mark.parametrize(("name", "least"), [("vit-fashion-mnist", 5), ("vit-cifar10", 3)])
def test_the_zoo_knows_what_the_sketches_are(name, least):
    if name not in zoo.names():
        pytest.skip(f"zoo:{name} is not in this checkout")
    run = zoo.load(name)
    drawn = sketches(run.description["data"])
    names = [run.classes[int(i)] for i in run.logits(drawn.test.images).argmax(1)]
    assert sum(a == b for a, b in zip(names, drawn.classes, strict=True)) >= least


def test_pictures_are_fitted():
    picture = torch.randint(0, 256, (1, 8, 8)).byte()
    assert vision.fitted(picture, [1, 8, 8]) is picture
    assert vision.fitted(picture, [3, 32, 28]).shape == (3, 32, 28)


def test_without_a_cache_the_same_is_written(runs):
    run = load_run(runs[1])
    asked = prompt(run, "PORTIA:", 30)
    texts = [list(write(run, asked, Decoding(Sampling(), cached=c))) for c in (True, False)]
    assert len(texts[0]) == 30
    assert texts[0] == texts[1]
    drawn = [
        list(write(run, asked, Decoding(run.sampling(temperature=1.0), cached=c, seed=3)))
        for c in (True, False)
    ]
    assert drawn[0] == drawn[1]
    assert [kind for kind, rate, _ in speeds(run, asked) if rate > 0] == ["with", "without"]


def test_prompts(runs):
    run = load_run(runs[1])
    cut = prompt(run, "A" * 1000, 300)
    ids, room = cut.ids, cut.tokens
    assert len(ids) + room <= 320
    assert cut.notice == f"its positions end at 320, so {len(ids)} tokens of the prompt and {room} more fit"
    assert prompt(run, "A🦁", 10).notice == "1 of 2 tokens of the prompt are unknown"
    for text, message in (
        ("", "no tokens"),
        ("🦁", "all 1 tokens of the prompt are unknown to this model"),
        ("x" * 5000, "at most 4,000 characters"),
    ):
        with pytest.raises(ValueError, match=message):
            prompt(run, text, 10)


def test_attention_of_a_long_text(runs):
    run = load_run(runs[1])
    ids = prompt(run, "to be or not to be. " * 15, 1).ids
    tokens, picture = dialogue.attended(run, Continuation("play-gpt", ids, len(ids)), 1, 2)
    assert tokens.count("data-i=") == dialogue.SHOWN
    assert f"the first {len(ids) - dialogue.SHOWN} left out" in picture
    assert "layer 1, head 2" in picture
    with pytest.raises(ValueError, match="layer must be a whole number from 0 to 2"):
        dialogue.attended(run, Continuation("play-gpt", ids, 1), 3, 0)


def test_verdicts_are_remembered_by_text(runs):
    run = load_run(runs[2])
    past = ()
    for text in ("the a", "the acting", "the acting is dull", "not dull"):
        past = sentiment.remember(past, run, text)
    assert [one.input for one in past] == ["not dull", "the acting is dull"]
    assert "“dull”" in sentiment.without(run, "the acting is dull")
    assert "this one has 1" in sentiment.without(run, "dull")


def test_a_text_that_names_a_file_is_not_read_from_it(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "the").write_text("the password is swordfish")
    found = sentiment.answer(load_run(runs[2]), "the")
    assert ">the<" in found
    assert "swordfish" not in found


def test_the_examples_are_judged_right_by_the_model_that_ships():
    texts, labels = zip(*sentiment.EXAMPLES, strict=True)
    assert [found.label for found in zoo.load("sentiment").predict(texts)] == list(labels)


def test_both_orders_of_a_grid():
    out = recurrence.grids(3, 4, 3, False)
    assert "3 of 12 cells after 3 of 12 steps" in out
    assert "6 of 12 cells after 3 of 6 steps" in out
    assert recurrence.paths(3, 4)[2] == (1, 3, 6, 10)
    assert "@keyframes" in recurrence.grids(3, 4, 3, True)


@pytest.mark.parametrize(("radius", "verdict"), [(0.5, "vanishes"), (1.0, "stays"), (1.5, "explodes")])
def test_the_share_of_the_first_input(radius, verdict):
    assert f"x_1 {verdict}" in recurrence.share(radius, 30)


def test_a_filter_beyond_the_end_begins_again():
    assert "place 2 of 7" in sharing.slid(9, 3, 1, 0, 9)
    with pytest.raises(ValueError, match="the filter must be a whole number from 1 to 7"):
        sharing.slid(9, 8, 1, 0, 1)


def test_answers_are_judged_not_run():
    assert "right on the domain" in lessons.verdict("counting-attention", "autoregressive", "n(n+1)/2")
    with pytest.raises(ValueError, match="at most 300 characters"):
        lessons.verdict("counting-attention", "autoregressive", "n" * 301)
    with pytest.raises(ValueError, match="has no meaning here"):
        lessons.verdict("counting-attention", "autoregressive", "__import__('os')")


def test_axes():
    assert plot.Axis("n", 16, 1 << 20, log=True, base=2).ticks()[0] == 16
    assert len(plot.Axis("x", 1, 100).ticks()) <= 9
    assert plot.Axis("y", 1e-9, 10, log=True).label(1e-6) == "10⁻⁶"
    assert plot.Axis("y", 3, 3).share(3) == 0.5


def test_nothing_that_a_visitor_wrote_becomes_markup():
    evil = "<script>alert(1)</script>"
    rows = [show.numbers([(evil, evil)]), show.table([evil], [[evil, evil]]), show.bars([(evil, 0.5, evil)])]
    for out in (show.fault(evil), show.note(evil), show.copied(evil), show.kept("x", evil), *rows):
        assert "<script" not in out


def last_value(html):
    """What the line to copy gives in a fresh Python."""
    *before, last = unescape(re.search(r"<code>(.*?)</code>", html)[1]).split("; ")
    names = {}
    exec("; ".join(before), names)
    return eval(last, names)


def test_lines_to_copy_give_what_the_page_shows(models):
    for text in ("strided(5)", "~windowed(4) & causal | global(2)"):
        assert last_value(patterns.answer(text, 24)) == parse(text).pairs(24)
    assert "mixer=LinearAttention()" in patterns.answer("linear", 24)
    for name in ("gpt2", "grid-rnn"):
        found = costs.priced(name, "", 64, 2, costs.WAYS[1], "float32")
        line = costs.python_line(name, 64, 2, costs.WAYS[1])
        assert last_value(costs.answer(found, name, line)) == found
    shown = recurrence.share(0.9, 30)
    assert f"{last_value(shown).ratio:.4g} times" in shown
    assert last_value(sharing.slid(9, 3, 1, 0, 1)).shape == (7, 9)
