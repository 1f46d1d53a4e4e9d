"""The sentiment baselines: their mathematics on counts one can check by hand, and the file of a small run."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from regard.bench import sentiment
from regard.cli.main import main
from regard.data import load

COUNTS = csr_matrix(np.array([[3, 1, 0], [1, 0, 1], [0, 2, 1], [0, 1, 1]] * 6, dtype=np.float32))
LABELS = np.array([1, 1, 0, 0] * 6)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict:
    out = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentiment, "QUICK", (400, 100))
        assert main(["bench", "sentiment", "--device", "cpu", "--quick", "--out", str(out)]) == 0
    (path,) = out.glob("sentiment-*.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_method_has_its_row(stored: dict) -> None:
    assert [row["method"] for row in stored["rows"]] == [
        "TF-IDF logistic regression",
        "NB-SVM",
        "bag-of-words MLP",
    ]
    for row in stored["rows"]:
        assert all(0.4 < row[part] < 1 for part in ("validation", "test", "test_all"))
        assert row["training_seconds"] > 0
        assert row["text_ms"] > 0


def test_flops_and_parameters_follow_the_rule(stored: dict) -> None:
    linear, svm, mlp = stored["rows"]
    assert linear["flops"] == 3 * linear["features"]
    assert svm["flops"] == 2 * svm["features"]
    assert svm["features"] == linear["features"] > mlp["features"]
    assert mlp["flops"] == mlp["features"] * 65 + 64
    assert linear["parameters"] == 2 * (svm["parameters"] - 1) + 1
    assert (mlp["parameters"] - 65) % 33 == 0  # 32 weights and a document frequency per word


def test_choices_are_by_validation_alone(stored: dict) -> None:
    settings = stored["settings"]
    assert len(settings["readings"]) == 8
    best = max(settings["readings"], key=settings["readings"].get)
    assert settings["reading"] == best
    for row in stored["rows"]:
        choices = settings["choices"][row["method"]]
        assert choices[row["setting"]] == max(choices.values()) == row["validation"]
    assert (settings["training texts"], settings["held out"], settings["tested"]) == (360, 40, 100)
    assert set(settings["versions"]) == {"sklearn", "scipy", "numpy"}


def test_without_interpolation_signs_are_those_of_the_ratios() -> None:
    present = sentiment._present(COUNTS)
    ratio = sentiment.log_count_ratio(present, LABELS)
    p, q = np.array([13, 7, 7]), np.array([1, 13, 13])  # texts with the feature, and one
    np.testing.assert_allclose(ratio, np.log(p / 27) - np.log(q / 27), rtol=1e-5)
    only = csr_matrix(np.eye(3, dtype=np.float32) * 5)  # a count of five is one presence
    none = sentiment.nb_svm(COUNTS, LABELS, C=0.1, beta=0.0)
    assert none.predict(only).tolist() == [1, 0, 0]
    full = sentiment.nb_svm(COUNTS, LABELS, C=0.1, beta=1.0)
    assert (full.predict(COUNTS) == LABELS).all()
    assert full.parameters == 4


@pytest.mark.parametrize(
    ("fit", "setting"), [(sentiment.logistic, {"C": 100.0}), (sentiment.perceptron, {"epochs": 200})]
)
def test_others_learn_what_is_there_to_learn(fit, setting) -> None:
    assert (fit(COUNTS, LABELS, **setting).predict(COUNTS) == LABELS).all()


def test_readings_differ_as_they_say() -> None:
    text = ["Don't<br />go! A film"] * 2
    found = {
        (tokens, cleaned): " ".join(
            sentiment.NGramFeatures(tokens, cleaned, longest=1).counter().fit(text).get_feature_names_out()
        )
        for tokens in sentiment.TOKENS
        for cleaned in (False, True)
    }
    assert found["two letters and more", False] == "br don film go"
    assert found["words", True] == "a don film go t"
    assert found["words and marks", True] == "! ' a don film go t"
    assert found["words with apostrophes, and marks", True] == "! a don't film go"


def test_without_the_data_the_embedded_set_is_read(monkeypatch, capsys) -> None:
    def absent(name: str, folder: Path | None = None):
        if name == "imdb":
            raise ConnectionError("imdb is not here")
        return load(name)

    monkeypatch.setattr(sentiment, "load", absent)
    assert sentiment._reviews(False, None).name == "verdicts"
    assert capsys.readouterr().out == "imdb is not here; here: verdicts\n"


def test_a_data_folder_is_for_this_benchmark_alone(tmp_path, capsys) -> None:
    assert main(["bench", "linear", "--data-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "error: data-dir is for dialogue, hub, sentiment, got it for linear\n"
