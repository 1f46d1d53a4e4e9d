import json
from io import StringIO

from rich.console import Console

from regard.cli.main import main
from regard.cli.runs import table
from regard.train import train
from regard.train.runs.listing import RunEntry
from tests.train import small


def test_the_table(tmp_path, capsys):
    train(small.images(steps=2), tmp_path / "one", quiet=True, device="cpu")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "recipe.json").write_text("{")
    assert main(["runs", str(tmp_path), "--json"]) == 0
    one, two = json.loads(capsys.readouterr().out)
    assert (one["recipe"], one["state"], one["steps"]) == ("small-images", "finished", 2)
    assert (two["recipe"], two["state"]) == ("unreadable recipe", "no checkpoint")
    assert main(["runs", str(tmp_path)]) == 0
    assert "accuracy" in capsys.readouterr().out
    assert main(["runs", str(tmp_path / "none")]) == 2
    assert "is no folder" in capsys.readouterr().err


def test_it_is_readable_at_80_columns(tmp_path):
    scores = {"accuracy": 0.97832, "loss": 0.1234, "calibration": 0.0123}
    one = RunEntry(str(tmp_path / "digits-vit"), "digits-vit", "finished", 12_345, 12.3, scores, scores)
    two = RunEntry(str(tmp_path / "sub" / "two"), "sentiment-imdb", "no checkpoint", 0, None, {}, {})
    console = Console(width=80, file=StringIO(), highlight=False)
    console.print(table([one, two], tmp_path, 80))
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["digits-vit", "finished", "12,345", "12.3", "accuracy", "0.9783", "0.9783"]
    assert lines[2].split("  ")[0] == "sub/two (sentiment-imdb)"
    wide = Console(width=160, file=StringIO())
    wide.print(table([one], tmp_path, 160))
    assert "calibration 0.0123" in wide.file.getvalue()
