import json
import time

import pytest
from PIL import Image
from rich.console import Console

from regard.cli.look import coloured
from regard.cli.main import main
from regard.cli.predict import show
from regard.train import open_run, train
from tests.train import small


def test_a_picture(tmp_path, capsys):
    train(small.images(steps=2), tmp_path / "run", quiet=True, device="cpu")
    picture = tmp_path / "seven.png"
    Image.new("L", (12, 9), 30).save(picture)
    assert main(["predict", str(tmp_path / "run"), str(picture)]) == 0
    assert "12×9 pixels, cut to the middle 9×9, resized to 8×8" in capsys.readouterr().out
    assert main(["predict", str(tmp_path / "run"), str(picture), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["probabilities"][found["label"]] == found["probability"]
    assert main(["predict", str(tmp_path / "run"), "nothing.png"]) == 2
    assert capsys.readouterr().err == "error: nothing.png cannot be read: No such file or directory\n"
    assert main(["predict", "zoo:no-such-model", str(picture)]) == 2
    page = tmp_path / "pages" / "seven.html"
    assert main(["predict", str(tmp_path / "run"), str(picture), "--html", str(page)]) == 0
    assert "data:image/png" in page.read_text(encoding="utf-8")


ZOO = "zoo:verdicts-encoder"


def test_texts_without_colours(capsys, tmp_path):
    page = tmp_path / "page.html"
    assert (
        main(["predict", ZOO, "Not one <b>dull</b> minute.", "a dull plot " * 40, "--html", str(page)]) == 0
    )
    out = capsys.readouterr().out
    assert "\x1b" not in out, "no colours into a file"
    assert "positive >99 %" in out
    assert "Not one dull minute." in out
    assert "word" in out
    assert "read in 3 windows of at most 47 tokens" in out
    assert "[window 3 of 3" in out
    assert out.endswith(f"Open {page}\n")
    html = page.read_text(encoding="utf-8")
    assert "Text 2: read in 3 windows" in html
    assert html.count("<h3>Attention</h3>") == 2


def test_texts_for_machines(capsys, tmp_path):
    review = tmp_path / "review.txt"
    review.write_text("Not one dull minute 😀", encoding="utf-8")
    assert main(["predict", ZOO, str(review), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["notice"] == f"read from {review}"
    assert [word["text"] for word in found["words"]] == ["Not", "one", "dull", "minute", "😀"]
    assert all(set(word) == {"text", "attention", "gradient"} for word in found["words"])


@pytest.mark.parametrize("given", ["", "  ", "<br/>", "no-such.txt", "."])
def test_what_is_no_text(given, capsys):
    assert main(["predict", ZOO, given]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1


def test_colours_are_for_terminals(monkeypatch):
    terminal = {"force_terminal": True, "color_system": "truecolor", "width": 100, "highlight": False}
    found = open_run(ZOO).explain(["Not one dull minute."])
    console = Console(**terminal)
    with console.capture() as capture:
        show(found, console)
    assert coloured(console)
    assert "\x1b[" in capture.get()
    assert "over even share" in capture.get()
    monkeypatch.setenv("NO_COLOR", "1")
    without = Console(**terminal)
    with without.capture() as capture:
        show(found, without)
    assert not coloured(without)
    assert "+ for “positive”, − against it" in capture.get()
    assert "48;2" not in capture.get()


def test_a_short_text_is_quick():
    run = open_run(ZOO)
    run.explain(["Not one dull minute."])
    begin = time.perf_counter()
    run.explain(["Far from the dull film I feared."])
    assert time.perf_counter() - begin < 2


def test_a_text_of_unknown_words_is_noticed(capsys):
    assert main(["predict", "zoo:verdicts-encoder", "qwertz asdfg yxcvb minute", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["notice"] == "3 of 4 tokens are unknown to the model: its answer says little"
    assert main(["predict", "zoo:verdicts-encoder", "Not one dull minute.", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["notice"] is None


def test_of_many_texts_each_has_a_line(capsys):
    many = [f"There is not one dull minute in part {i}." for i in range(9)]
    assert main(["predict", ZOO, *many]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("positive ")
    assert lines[0].endswith(many[0])
    assert lines[-1] == "Which words made it so: add --words"
    assert main(["predict", ZOO, *many, "--json"]) == 0
    assert "words" not in json.loads(capsys.readouterr().out)[0]
    assert main(["predict", ZOO, *many, "--json", "--words"]) == 0
    assert len(json.loads(capsys.readouterr().out)[8]["words"]) > 5
    assert main(["predict", ZOO, many[0], "--no-words"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
