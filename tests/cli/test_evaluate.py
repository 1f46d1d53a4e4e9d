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


def test_no_run(capsys, tmp_path):
    assert main(["eval", str(tmp_path)]) == 2
    assert "holds no run" in capsys.readouterr().err
