import json
import re
from shlex import split

import pytest
from PIL import Image

from regard.cli.main import main
from tests.data.own.making import photos, picture, table


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_images_with_a_sheet(tmp_path, capsys):
    photos(tmp_path / "photos")
    (tmp_path / "photos" / "cat" / "bad.png").write_text("x")
    assert main(["data", "photos", "--out", "sheet.png"]) == 1
    out = capsys.readouterr().out
    assert "cat 12, dog 12" in out
    assert "6x8 24" in out
    assert "1 problem\n    cat/bad.png: is no image" in out
    with Image.open("sheet.png") as sheet:
        assert sheet.size[0] > 100


def test_mixed_sizes_are_told_and_not_refused(tmp_path, capsys):
    photos(tmp_path / "photos")
    picture(size=(30, 40)).save(tmp_path / "photos" / "cat" / "large.png")
    assert main(["data", "photos", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sizes"] == {"6x8": 24, "30x40": 1}
    assert sum(told["parts"].values()) == 25
    assert told["problems"] == []


def test_tables_and_texts(tmp_path, capsys):
    table(tmp_path / "r.csv", "no label,")
    assert main(["data", "r.csv", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["classes"] == {"bad": 6, "good": 6}
    assert told["problems"] == [{"file": "r.csv", "what": "label is missing", "line": 2}]
    (tmp_path / "book.txt").write_text("one two\nthree\n" * 30)
    assert main(["data", "book.txt"]) == 0
    assert "documents" in capsys.readouterr().out
    assert main(["data", "book.txt", "--out", "x.png"]) == 2
    assert "--out is for images" in capsys.readouterr().err


def test_what_comes_next_works_as_it_stands(tmp_path, capsys):
    photos(tmp_path / "my photos")
    table(tmp_path / "r.csv", header="review,stars", count=40)
    (tmp_path / "book.txt").write_text("one two\nthree\n" * 300)
    for words in (["my photos"], ["book.txt"], ["r.csv", "--text", "review", "--label", "stars"]):
        assert main(["data", *words]) == 0
        (line,) = re.findall(r"^next: regard (.+)$", capsys.readouterr().out, re.MULTILINE)
        assert line.endswith("--minutes 3")
        assert main([*split(line)[:-2], "--set", "steps=1", "--set", "compile=none", "--device", "cpu"]) == 0
        capsys.readouterr()


@pytest.mark.parametrize("path", ["nowhere", "nowhere.csv"])
def test_nothing_there(path, capsys):
    assert main(["data", path]) == 2
    assert f"error: there is no file or folder {path}" in capsys.readouterr().err


def test_all_bad(tmp_path, capsys):
    (tmp_path / "r.csv").write_text("text,label\n,x\n,y\n")
    assert main(["data", "r.csv"]) == 1
    assert "2 problems" in capsys.readouterr().out


def test_train_in_one_command(tmp_path, capsys):
    photos(tmp_path / "photos")
    (tmp_path / "photos" / "dog" / "bad.png").write_text("x")
    words = ["train", "digits-vit", "--data", "photos", "--set", "steps=2", "--set", "batch=4"]
    assert main(words) == 2
    assert "dog/bad.png: is no image" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
    assert main([*words, "--skip-bad", "--size", "8x10"]) == 0
    capsys.readouterr()
    assert main([*words, "--skip-bad", "--set", "steps=3", "--resume"]) == 0
    assert main(["eval", "runs/digits-vit-photos", "--json"]) == 0
    assert main(["train", "digits-vit", "--data", "photos", "--size", "big"]) == 2
    assert "size must be ROWSxCOLS" in capsys.readouterr().err
    assert main(["train", "digits-vit", "--skip-bad"]) == 2
    assert "--skip-bad says how --data is read" in capsys.readouterr().err
