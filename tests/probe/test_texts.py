import json
from dataclasses import replace

import pytest
import torch
from rich.console import Console

from regard.data import BytePairTokenizer, CharTokenizer, WordTokenizer
from regard.models import BERTGRUSentiment, GRUClassifier, GRUConfig
from regard.probe import (
    Piece,
    clean,
    integrated_gradients,
    look_text,
    mean_attention,
    pieces_of,
    read_text,
    see,
)
from regard.probe.text_colours import text_html, text_terminal
from regard.probe.texts import TextLook, Window, windows
from tests.probe.conftest import encoder, gpt, strong


def pieces(count):
    return [Piece(f"w{i}", 1) for i in range(count)]


def test_a_short_text_is_read_at_once():
    model, tokens = strong(encoder()), [3, 1, 4, 1, 5]
    found = look_text(model, tokens, pieces(5), ["no", "yes"], first=0, joined=" ", steps=3)
    row = torch.tensor([[0, *tokens]])
    seen = see(model, row)
    chances = seen.logits.softmax(1)[0]
    assert found.probabilities == pytest.approx({"no": float(chances[0]), "yes": float(chances[1])})
    assert found.answer == ("no", "yes")[int(chances.argmax())]
    assert found.gradient == pytest.approx(integrated_gradients(model, row, steps=3).scores[0, 1:].tolist())
    share = mean_attention(seen)[0, 1:]
    assert found.attention == pytest.approx((share / share.mean()).tolist())
    assert (found.windows, found.left_out) == (1, 0)
    json.dumps(found.as_dict())


def test_without_steps_there_is_no_gradient():
    model = strong(encoder())
    found, want = (look_text(model, [3, 1, 4], pieces(3), ["no", "yes"], steps=steps) for steps in (0, 2))
    assert found.gradient is None
    assert (found.answer, found.attention) == (want.answer, want.attention)
    assert "w0" in text_html(found)
    assert found.agreement() is None


def test_a_long_text_is_read_in_windows():
    model = strong(encoder())
    tokens = [i % 11 for i in range(19)]
    found = look_text(model, tokens, pieces(19), ["no", "yes"], first=0, steps=2)
    parts = windows(tokens, 8)
    assert [len(part) for part in parts] == [7, 6, 6]
    assert [token for part in parts for token in part] == tokens
    rows = [torch.tensor([[0, *part]]) for part in parts]
    each = torch.stack([model(row).softmax(1)[0] for row in rows]).detach()
    chances = each.mean(0)
    assert found.probability == pytest.approx(float(chances.max()))
    assert (found.windows, len(found.attention), len(found.gradient)) == (3, 19, 19)
    # Every window speaks of the same answer, also one that would have answered otherwise.
    best = torch.tensor([int(chances.argmax())])
    assert [part.first for part in found.parts] == [0, 7, 13]
    assert [part.probability for part in found.parts] == pytest.approx(each[:, int(best)].tolist())
    last = integrated_gradients(model, rows[2], target=best, steps=2).scores[0, 1:]
    assert found.gradient[-6:] == pytest.approx(last.tolist())


def test_a_language_model_reads_the_end():
    model = strong(gpt())
    tokens = [i % 11 for i in range(14)]
    words = [f"t{i}" for i in range(11)]
    found = look_text(model, tokens, pieces(14), words, steps=2)
    logits = model(torch.tensor([tokens[-9:]]))[0, -1].detach()
    assert found.answer == words[int(logits.argmax())]
    assert (found.windows, found.left_out, found.pieces[0], len(found.pieces)) == (1, 5, "w5", 9)
    assert found.probability == pytest.approx(float(logits.softmax(0).max()))


def test_tokens_of_one_character_are_one_piece():
    tokenizer = BytePairTokenizer.train(["low lower lowest"], vocab=260)
    text = "ein Löwe 🦁 und 👩\u200d👩\u200d👧"
    tokens, found, joined = read_text(text, tokenizer)
    assert joined == ""
    assert "".join(piece.text for piece in found) == text
    assert sum(piece.tokens for piece in found) == len(tokens)
    assert any(piece.text == "🦁" and piece.tokens > 1 for piece in found)
    # Bytes that are no text at all stay as they are, one by one.
    assert [
        piece.tokens for piece in pieces_of([255, 254], lambda ids: bytes(ids).decode(errors="replace"))[0]
    ] == [1, 1]


def test_unknown_words_show_as_written():
    words = WordTokenizer.train(["a dull film"])
    tokens, found, joined = read_text("a brilliant film", words)
    assert (tokens[1], [piece.text for piece in found], joined) == (
        words.unk,
        ["a", " brilliant", " film"],
        "",
    )
    for text, message in (("brilliant!", "that the model knows"), ("   ", "that the tokenizer reads")):
        with pytest.raises(ValueError, match=message):
            read_text(text, words)
    assert read_text("axb", CharTokenizer.train(["ab"]))[1][1] == Piece("x", 1)


WRITTEN = "Don't say \"a dull (low) film\"...\nIt isn't; naïve 👩\u200d👩\u200d👧, 🇩🇪 👍🏽 漢字!"


@pytest.mark.parametrize(
    "tokenizer",
    [
        WordTokenizer.train(["a dull film say"]),
        CharTokenizer.train([WRITTEN]),
        BytePairTokenizer.train(["low lower lowest"], vocab=262),
    ],
    ids=["words", "characters", "byte pairs"],
)
def test_pieces_are_the_text_as_it_was_written(tokenizer):
    for words in (False, True):
        tokens, found, joined = read_text(WRITTEN, tokenizer, words=words)
        assert joined == ""
        assert "".join(piece.text for piece in found) == WRITTEN
        assert sum(piece.tokens for piece in found) == len(tokens)
    shown = [piece.text.strip() for piece in found]
    assert shown[:6] == ["Don't", "say", '"', "a", "dull", "("]
    assert {"isn't", "naïve", "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "漢字"} <= set(shown)


def test_a_word_that_cannot_be_found_shows_as_a_token():
    class Loud(WordTokenizer):
        class rules:  # noqa: N801
            tokenize = staticmethod(lambda text: text.upper().split())

    tokens, found, joined = read_text("a dull film", Loud(["A", "DULL"]))
    assert (tokens, [piece.text for piece in found], joined) == ([3, 4, 2], ["A", "DULL", "<UNK>"], " ")


def test_a_word_of_many_tokens_has_their_sum_and_their_mean():
    model, tokens = strong(encoder()), [3, 1, 4, 1, 5]
    one = look_text(model, tokens, pieces(5), ["no", "yes"], steps=3)
    two = look_text(model, tokens, [Piece("ab", 3), Piece("c", 1), Piece("", 1)], ["no", "yes"], steps=3)
    assert two.pieces == ("ab", "c")
    assert two.gradient == pytest.approx((sum(one.gradient[:3]), one.gradient[3]))
    even = sum(one.attention[:4]) / 4  # what closes the text is not shown and takes no part in the share
    assert two.attention == pytest.approx((sum(one.attention[:3]) / 3 / even, one.attention[3] / even))


def test_agreement_is_spearmans():
    stats = pytest.importorskip("scipy.stats")
    a, b = (0.5, 1.5, 1.0, 1.0, 2.5), (0.1, -2.0, 0.3, 0.3, 0.05)
    look = TextLook(("a", "b", "c", "d", "e"), " ", a, b, "yes", 0.9, None, 1, 0)
    assert look.agreement() == pytest.approx(stats.spearmanr(a, [abs(x) for x in b]).statistic)
    for flat in ((1.0, 1.0, 1.0), None):
        assert (
            TextLook(("a", "b", "c"), " ", flat, (1.0, 2.0, 3.0), "yes", 0.9, None, 1, 0).agreement() is None
        )


@pytest.mark.parametrize("kind", ["gru", "bert"])
def test_grus_are_looked_into_too(kind):
    draw = torch.Generator().manual_seed(0)
    if kind == "gru":
        model = GRUClassifier(GRUConfig(vocab=11, context=9, width=8, hidden=4), generator=draw)
    else:
        model = BERTGRUSentiment(encoder(), 4, 2, 1, True, 0.0, generator=draw)
    found = look_text(model, [1, 2, 3, 4], pieces(4), ["no", "yes"], steps=64)
    assert (found.attention is None) == (kind == "gru")
    zero = integrated_gradients(model, torch.tensor([[1, 2, 3, 4]]), steps=64)
    assert abs(float(zero.gap)) < 1e-3
    if kind == "bert":
        seen = see(model, torch.tensor([[1, 2, 3, 4]]))
        rows = seen.weights.mean((1, 2))[0].mean(0)  # GRUs read every token
        assert found.attention == pytest.approx((rows / rows.mean()).tolist())


def test_cleaning():
    assert (
        clean("<p>So <b>good</b>!</p><br/>A &lt; B &amp; 1 < 2 > 0\x00\x1b[31m")
        == "So good!\nA < B & 1 < 2 > 0[31m"
    )
    assert clean(" 👩\u200d👩\u200d👧 naïve\u00a0café ") == "👩\u200d👩\u200d👧 naïve café"
    for empty in ("", " \n\t", "<br><br>", "&nbsp;"):
        with pytest.raises(ValueError, match="empty text"):
            clean(empty)
    with pytest.raises(ValueError, match="text must be a string, got bytes"):
        clean(b"abc")


LOOK = TextLook(
    ("Not", "<b>one</b>", "dull", "minute", "."), " ", (0.5, 1.0, 2.5, 0.7, 0.3), (0.9, 0.01, -1.8, 0.2, 0.0),
    "positive", 0.87, {"negative": 0.13, "positive": 0.87}, 1, 0,
)  # fmt: skip


@pytest.mark.parametrize("width", [40, 120])
def test_the_terminal(width):
    console = Console(width=width, force_terminal=True, color_system="truecolor", legacy_windows=False)
    with console.capture() as capture:
        console.print(text_terminal(LOOK, width=width))
    out = capture.get()
    assert "\x1b[1mpositive\x1b[0m 87 %" in out
    # Once in the legend and once in the text.
    for colour, what in (("48;2;38;104;220m", "against the answer is blue"), ("48;2;235;120;10m", "orange")):
        assert out.count(colour) >= 2, what
    assert "48;2;38;104;220mdull" in out
    assert "48;2;182;124;69mNot" in out, "half as strong a word has a muted background"
    assert "mminute" not in out, "a faint word has no colour"
    lines = out.split("\n")
    assert any("attention" in line and "gradient" in line for line in lines) == (width == 120)
    for word in ("over even share", "for", "against"):
        assert word in out, "the legend explains the colours"


def test_the_terminal_without_colours():
    plain = Console(width=70, color_system=None)
    with plain.capture() as capture:
        plain.print(text_terminal(LOOK, width=70, colour=False))
    out = capture.get()
    assert "dull −1.80, Not +0.90, minute +0.20" in " ".join(out.split())
    assert ["dull", "2.50×", "−1.80"] in [line.split() for line in out.split("\n")]
    assert "+ for “positive”, − against it" in out
    assert max(map(len, out.split("\n"))) <= 70


def test_windows_are_told_apart():
    parts = (Window(0, 0.9), Window(3, 0.4))
    look = replace(LOOK, windows=2, parts=parts)
    plain = Console(width=70, color_system=None)
    with plain.capture() as capture:
        plain.print(text_terminal(look, width=70, colour=False))
    for line in ("[window 1 of 2, positive 90 %]", "Not <b>one</b> dull", "[window 2 of 2, positive 40 %]"):
        assert line in capture.get().split("\n")
    assert text_html(look).count("[window 2 of 2, positive 40 %]") == 2


def test_the_page():
    out = text_html(LOOK)
    assert "&lt;b&gt;one&lt;/b&gt;" in out
    assert "<b>one" not in out
    assert '<mark class="against" style="--a:1.00" title="−1.80 of the logit">dull</mark>' in out
    assert '<mark class="for" style="--a:1.00" title="2.50× even share">dull</mark>' in out
    assert '<span title="0.50× even share">Not</span>' in out
    assert "87 %" in out


def test_a_model_without_attention_has_the_gradient_alone():
    look = TextLook(("a",), "", None, (0.0,), "x", 1.0, None, 2, 0)
    assert "Attention" not in text_html(look)
    assert "mean of 2 windows" in text_html(look)


def test_errors():
    with pytest.raises(ValueError, match="at least one token"):
        look_text(encoder(), [], [], ["no", "yes"])
    with pytest.raises(ValueError, match="cover the 2 tokens, got 3"):
        look_text(encoder(), [1, 2], pieces(3), ["no", "yes"])
    with pytest.raises(ValueError, match="classes must name 2 logits, got 3"):
        look_text(encoder(), [1, 2], pieces(2), ["a", "b", "c"])
    with pytest.raises(ValueError, match="window must be at most 9"):
        look_text(encoder(), [1, 2], pieces(2), ["a", "b"], window=10)
