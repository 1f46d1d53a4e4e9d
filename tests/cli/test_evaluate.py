import json

import pytest

from regard.cli.main import main
from regard.train import train
from tests.data.own.making import photos, table
from tests.train import small


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "images"
    train(small.images(steps=3), folder, quiet=True, device="cpu")
    return str(folder)


def test_validation_and_test(run, capsys):
    assert main(["eval", run, "--json", "--device", "cpu"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert main(["eval", run, "--json", "--test", "--device", "cpu"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert (one["part"], other["part"]) == ("validation", "test")
    assert one["loss"] != other["loss"]
    assert main(["eval", run, "--device", "cpu"]) == 0
    assert f"accuracy            {one['accuracy']:.4f}" in capsys.readouterr().out


def test_reports(run, capsys, tmp_path):
    page = tmp_path / "new" / "report.html"
    assert main(["eval", run, "--report", str(page), "--json", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == found["report"]["accuracy"]
    assert len(found["report"]["confusion"]) == 10
    assert "data:image/png" in page.read_text(encoding="utf-8")
    assert main(["eval", run, "--report", str(tmp_path / "report.pdf")]) == 2
    assert "must end in .md or .html" in capsys.readouterr().err


def test_the_zoo(capsys, tmp_path):
    text = tmp_path / "report.md"
    assert main(["eval", "zoo:verdicts-encoder", "--test", "--report", str(text), "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "accuracy            0.98" in out
    assert "negation pairs" in out
    said = text.read_text(encoding="utf-8")
    for title in ("Confusions", "Calibration", "Negation and contrast", "Most confidently wrong"):
        assert f"## {title}" in said
    assert "| litotes | 22 |" in said
    assert main(["eval", "zoo:verdicts-encoder"]) == 2
    assert "add --test" in capsys.readouterr().err


def test_a_corpus_has_no_test_part(tmp_path, capsys):
    train(small.language(steps=2), tmp_path, quiet=True, device="cpu")
    assert main(["eval", str(tmp_path), "--test", "--device", "cpu"]) == 2
    error = capsys.readouterr().err
    assert error == "error: play has no test part: it is cut into training and validation only\n"
    assert not (tmp_path / "test.json").exists()
    assert main(["eval", str(tmp_path), "--device", "cpu"]) == 0


def test_no_run(capsys, tmp_path):
    assert main(["eval", str(tmp_path)]) == 2
    assert "holds no run" in capsys.readouterr().err


TINY = ["--set", "steps=2", "--set", "model.depth=1", "--set", "compile=none", "--device", "cpu", "--json"]


def evaluated(capsys, *words):
    """The exit code, what --json gave where it went well, and stderr."""
    code = main(["eval", *map(str, words), "--device", "cpu", "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out) if code == 0 else {}, said.err


def test_data_that_moved_and_other_data(tmp_path, capsys):
    mine = photos(tmp_path / "photos")
    run = tmp_path / "run"
    assert main(["train", "vit-cifar10-cpu", "--data", str(mine), "--out", str(run), *TINY]) == 0
    capsys.readouterr()
    _, was, _ = evaluated(capsys, run)
    moved = mine.rename(tmp_path / "pictures")
    code, _, error = evaluated(capsys, run)
    assert code == 2
    assert "there is no file or folder" in error
    assert "eval itself as --data" in error
    code, found, error = evaluated(capsys, run, "--data", moved)
    assert (code, found, error) == (0, was, "")  # by another name, the same pictures are held out
    other = photos(tmp_path / "other", count=5)
    code, found, error = evaluated(capsys, run, "--data", other)
    assert code == 0
    assert "is not what this run was trained on" in error
    code, found, _ = evaluated(capsys, run, "--data", other, "--all")
    assert (code, found["part"]) == (0, "all")
    assert sum(map(sum, found["report"]["confusion"])) == 10
    strange = photos(tmp_path / "strange", classes=("cat", "fox"))
    code, _, error = evaluated(capsys, run, "--data", strange)
    assert code == 2
    assert error.count("\n") == 1
    assert "must be those of the run: cat, dog, got cat, fox" in error
    assert evaluated(capsys, run, "--all")[0] == 2
    assert not (run / "test.json").exists()


def test_other_text_and_other_tables(tmp_path, capsys):
    book, run = tmp_path / "book.txt", tmp_path / "text"
    book.write_text("The cat sat on the mat, and so it was. " * 200, encoding="utf-8")
    assert main(["train", "shakespeare-char-cpu", "--data", str(book), "--out", str(run), *TINY]) == 0
    capsys.readouterr()
    _, was, _ = evaluated(capsys, run)
    code, found, error = evaluated(capsys, run, "--data", book.rename(tmp_path / "novel.txt"))
    assert (code, found, error) == (0, was, "")
    (tmp_path / "letters.txt").write_text("A queer quick fox: 17 & 18! " * 200, encoding="utf-8")
    code, found, error = evaluated(capsys, run, "--data", tmp_path / "letters.txt")  # letters it never saw
    assert code == 0
    assert found["loss"] != was["loss"]
    assert "is not what this run was trained on" in error
    rows, run = table(tmp_path / "rows.csv"), tmp_path / "rows"
    assert main(["train", "sentiment-imdb-cpu", "--data", str(rows), "--out", str(run), *TINY]) == 0
    capsys.readouterr()
    _, was, _ = evaluated(capsys, run)
    code, found, error = evaluated(capsys, run, "--data", rows.rename(tmp_path / "moved.csv"))
    assert (code, found, error) == (0, was, "")
    code, _, error = evaluated(capsys, run, "--data", tmp_path / "letters.txt")
    assert code == 2
    assert error.count("\n") == 1
