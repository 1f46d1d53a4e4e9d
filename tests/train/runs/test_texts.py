import json

import pytest

from regard import zoo
from regard.train import open_run


def test_a_label_and_its_words(text_run):
    run = open_run(text_run)
    (found,) = run.explain(["A <b>dull</b> film, isn't it? 😀"], steps=4)
    (asked,) = run.predict(["A dull film, isn't it? 😀"])
    assert found.label == asked.label
    assert found.probability == pytest.approx(asked.probability, abs=1e-6)
    assert [word.text for word in found.words] == ["A", "dull", "film", ",", "isn't", "it", "?", "😀"]
    assert sum(word.attention for word in found.words) > 0
    json.dumps(found.as_dict())
    assert run.explain(["a dull film"], steps=4)[0].notice is None


def test_a_long_text_has_the_probability_that_predict_says(text_run):
    run = open_run(text_run)
    text = "not one dull minute a dull film " * 5  # 35 words, 7 in a window
    (found,) = run.explain([text], steps=2)
    (asked,) = run.predict([text])
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
    run = open_run(text_run)
    run.description["context"] = 5
    (found,) = run.explain(["not one dull minute a film"], steps=2)
    assert "2 windows of at most 4 tokens" in found.notice


def test_files_and_what_is_no_text(text_run, tmp_path, monkeypatch):
    run = open_run(text_run)
    review = tmp_path / "review.txt"
    review.write_text("a dull film\n", encoding="utf-8")
    for asked in (run.explain([str(review)], steps=1), run.predict([str(review)])):
        assert asked[0].notice == f"read from {review}"
        assert asked[0].input == str(review)
    (tmp_path / "zero.md").write_bytes(b"a dull\0film")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    monkeypatch.setattr("regard.train.runs.reading.LONGEST", 40)
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
        for ask in (run.explain, run.predict):
            with pytest.raises(ValueError, match=message):
                ask([given])


def test_a_text_is_no_file_where_it_is_meant_as_text(text_run, tmp_path, monkeypatch):
    """What visitors of the studio type must not name files of its machine."""
    run = open_run(text_run)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dull").write_text("not one minute")
    assert run.predict(["dull"])[0].notice == "read from dull"
    assert run.predict_text("dull").notice is None
    assert run.look_at("dull", steps=1).pieces == ("dull",)
    assert run.look(["dull"], steps=1).texts[0].pieces == ("not", " one", " minute")


def test_models_for_something_else(image_run, completion_run):
    with pytest.raises(ValueError, match="a classifier of images or texts, this model is for completion"):
        open_run(completion_run).predict(["a dull film"])
    with pytest.raises(ValueError, match="images is a ViT, which writes no text: a GPT is needed"):
        open_run(image_run).generate("a dull film")


def test_the_model_for_sentiment_is_in_the_zoo_or_said_not_to_be():
    if "sentiment" in zoo.names():
        assert (
            open_run("zoo:sentiment").predict(["A wonderful film, moving and funny."])[0].label == "positive"
        )
    else:
        with pytest.raises(ValueError, match="the zoo has no model 'sentiment'"):
            open_run("zoo:sentiment")
