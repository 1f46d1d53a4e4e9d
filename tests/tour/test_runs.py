import pytest
import torch

from regard import recipes
from regard.data import Texts
from regard.tour.images import chosen
from regard.tour.language import longest_copy
from regard.tour.runs import TourRuns
from regard.tour.verdicts import misread
from regard.train import override, read_recipe


@pytest.fixture(autouse=True)
def small(monkeypatch):
    words = ["model.depth=1", "model.width=8", "model.heads=2"]
    small = override(recipes.get("digits-vit"), words)
    monkeypatch.setattr("regard.recipes.get", lambda name: small)


def runs(tmp_path, **how):
    found = TourRuns(tmp_path / "tour", steps=2, quiet=True, **how)
    found.claim()
    return found


def test_trained_anew_unless_asked(tmp_path):
    first = runs(tmp_path).train("digits-vit")
    assert first.command == "regard train digits-vit --set steps=2"
    summary = tmp_path / "tour" / "runs" / "digits-vit" / "summary.json"
    written = summary.stat().st_mtime_ns
    kept = runs(tmp_path, reuse=True).train("digits-vit")
    assert kept.reused
    assert summary.stat().st_mtime_ns == written
    assert kept.result == first.result
    again = runs(tmp_path).train("digits-vit")
    assert not again.reused
    assert summary.stat().st_mtime_ns > written
    assert again.result.scores == first.result.scores
    assert sorted(path.name for path in summary.parents[1].iterdir()) == ["digits-vit"]


def test_what_was_killed_goes_on_or_begins_anew(tmp_path):
    folder = tmp_path / "tour" / "runs" / "digits-vit"
    whole = runs(tmp_path).train("digits-vit")
    (folder / "summary.json").unlink()  # what a kill after the last checkpoint leaves
    assert runs(tmp_path, reuse=True).train("digits-vit").result.steps == 2
    (folder / "summary.json").unlink()
    (folder / "metrics.jsonl").write_text("{", encoding="utf-8")
    (folder.parent / ".old-1").mkdir()
    again = runs(tmp_path).train("digits-vit")
    assert again.result.scores == whole.result.scores
    assert not (folder.parent / ".old-1").exists()


def test_a_run_by_another_recipe_is_not_taken_for_this_one(tmp_path, monkeypatch):
    deeper = override(recipes.get("digits-vit"), ["model.depth=2"])
    runs(tmp_path).train("digits-vit")
    monkeypatch.setattr("regard.recipes.get", lambda name: deeper)
    with pytest.raises(ValueError, match=r"another recipe: task\.model\.depth differ"):
        runs(tmp_path, reuse=True).train("digits-vit")
    assert read_recipe(tmp_path / "tour" / "runs" / "digits-vit").task.model.depth == 1


def test_mistakes_are_shown_first():
    labels = torch.tensor([3, 3, 1, 2, 0, 1])
    assert chosen(torch.tensor([3, 2, 1, 2, 0, 0]), labels).tolist() == [1, 5, 4, 2, 3, 0]
    assert len(chosen(torch.zeros(50, dtype=torch.long), torch.ones(50, dtype=torch.long))) == 4


def test_the_longest_copy():
    assert longest_copy("xyz", "abc") == ""
    assert longest_copy("abcab", "zabcz ab") == "abc"


def test_examples_are_what_words_get_wrong():
    texts = ("Far from good.", "The plot is dull.", "Far from bad.", "Not dull.")
    test = Texts(texts, torch.tensor([0, 0, 1, 1]))
    words, right = torch.tensor([1, 0, 0, 0]), test.labels
    found = misread(test, words, right, ("negative", "positive"))
    assert found == [
        ("Not dull.", "positive", "negative", "positive"),
        ("Far from bad.", "positive", "negative", "positive"),
    ]
    assert misread(test, words, 1 - right, ("negative", "positive"))  # nothing learnt: still shown
