import json

import pytest

from regard import zoo
from regard.train import predict
from regard.zoo.sentiment import DEFAULT


def test_a_label_and_its_words(text_run):
    run = zoo.open_run(text_run)
    found = zoo.predict_sentiment("A <b>dull</b> film, isn't it? 😀", run, steps=4)
    (asked,) = predict(run, ["A dull film, isn't it? 😀"])
    assert found.label == asked.label
    assert found.probability == pytest.approx(asked.probability, abs=1e-6)
    assert [word.text for word in found.words] == ["A", "dull", "film", ",", "isn't", "it", "?", "😀"]
    assert sum(word.attention for word in found.words) > 0
    json.dumps(found.as_dict())
    assert zoo.predict_sentiment("a dull film", str(text_run), steps=4).notice is None


def test_a_long_text_has_the_probability_that_predict_says(text_run):
    run = zoo.open_run(text_run)
    text = "not one dull minute a dull film " * 5  # 35 words, 7 in a window
    found = zoo.predict_sentiment(text, run, steps=2)
    (asked,) = predict(run, [text])
    assert (
        found.notice
        == asked.notice
        == "read in 5 windows of at most 7 tokens, whose probabilities are averaged"
    )
    assert found.probabilities == pytest.approx(asked.probabilities, abs=1e-6)
    assert len(found.words) == 35
    assert found.as_dict()["windows"] == [part.probability for part in found.look.parts]
    assert len(found.look.parts) == 5


def test_a_smaller_context_than_the_model_can_hold(text_run):
    run = zoo.open_run(text_run)
    run.description["context"] = 5
    found = zoo.predict_sentiment("not one dull minute a film", run, steps=2)
    assert "2 windows of at most 4 tokens" in found.notice


def test_files_and_what_is_no_text(text_run, tmp_path, monkeypatch):
    run = zoo.open_run(text_run)
    review = tmp_path / "review.txt"
    review.write_text("a dull film\n", encoding="utf-8")
    assert zoo.predict_sentiment(str(review), run, steps=1).notice == f"read from {review}"
    (tmp_path / "zero.md").write_bytes(b"a dull\0film")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    monkeypatch.setattr("regard.zoo.looking.LONGEST", 40)
    for given, message in (
        (str(tmp_path), "Is a directory"),
        (str(tmp_path / "photo.png"), "photo.png must be text in UTF-8"),
        (str(tmp_path / "zero.md"), "zero.md must be text, got something binary"),
        ("", "empty text"),
        ("<br />", "empty text"),
        ("\udcff\udcfe", "must be UTF-8, got bytes that are none"),
        (b"a dull film", "text must be a string, got bytes"),
        (None, "text must be a string, got NoneType"),
        ("a dull film " * 4, "at most 40 characters, got 48"),
        ("xyzzy", "that the model knows"),
    ):
        with pytest.raises(ValueError, match=message):
            zoo.predict_sentiment(given, run)


def test_models_for_something_else(image_run):
    with pytest.raises(ValueError, match="needs a model for texts, images is for images"):
        zoo.predict_sentiment("a dull film", image_run)


def test_the_default_is_in_the_zoo_or_said_not_to_be():
    if DEFAULT.removeprefix("zoo:") in zoo.names():
        assert zoo.predict_sentiment("A wonderful film, moving and funny.").label == "positive"
    else:
        with pytest.raises(ValueError, match="the zoo has no model 'sentiment'"):
            zoo.predict_sentiment("A wonderful film.")
