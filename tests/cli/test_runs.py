import json

from regard.cli.main import main
from regard.train import train
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
