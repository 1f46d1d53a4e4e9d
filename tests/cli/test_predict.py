import json

from PIL import Image

from regard.cli.main import main
from regard.train import train
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
