import json

import pytest
import torch
from rich.console import Console

from regard.data import BytePairTokenizer, CharTokenizer, WordTokenizer
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
from regard.probe.texts import TextLook, windows
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


def test_a_long_text_is_read_in_windows():
    model = strong(encoder())
    tokens = [i % 11 for i in range(19)]
    found = look_text(model, tokens, pieces(19), ["no", "yes"], first=0, steps=2)
    parts = windows(tokens, 8)
    assert [len(part) for part in parts] == [7, 6, 6]
    assert [token for part in parts for token in part] == tokens
    rows = [torch.tensor([[0, *part]]) for part in parts]
    chances = sum(model(row).softmax(1)[0] * row.shape[1] for row in rows) / 22
    chances = chances.detach()
    assert found.probability == pytest.approx(float(chances.max()))
    assert (found.windows, len(found.attention), len(found.gradient)) == (3, 19, 19)
    # Every window speaks of the same answer, also one that would have answered otherwise.
    best = torch.tensor([int(chances.argmax())])
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
        ["a", "brilliant", "film"],
        " ",
    )
    for text, message in (("brilliant!", "that the model knows"), ("   ", "that the tokenizer reads")):
        with pytest.raises(ValueError, match=message):
            read_text(text, words)
    assert read_text("axb", CharTokenizer.train(["ab"]))[1][1] == Piece("x", 1)


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
    assert "48;2;38;104;220m" in out, "the strongest word against the answer is blue"
    assert "48;2;235;120;10m" in out, "the most attended word is orange"
    assert out.count("dull") == 3
    lines = out.split("\n")
    assert any("attention" in line and "gradient" in line for line in lines) == (width == 120)
    plain = Console(width=width, color_system=None)
    with plain.capture() as capture:
        plain.print(text_terminal(LOOK, width=width))
    assert "dull −1.80, Not +0.90, minute +0.20" in " ".join(capture.get().split())
    assert max(map(len, capture.get().split("\n"))) <= width


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
