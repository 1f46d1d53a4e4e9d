import json

import pytest

from regard.cli.main import main
from regard.train import train
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
