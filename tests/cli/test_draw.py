import json

from regard.cli.main import main
from regard.pattern import Causal, Strided


def test_in_the_terminal(capsys):
    assert main(["draw", "strided(1)", "-n", "3"]) == 0
    assert (
        capsys.readouterr().out
        == "#..\n##.\n.##\n\n5 of 9 pairs (55.6 %)\n2n − 1 for n > 1, n(n+1)/2 otherwise\n"
    )


def test_rectangular(capsys):
    assert main(["draw", "causal", "-n", "2", "-m", "4"]) == 0
    assert capsys.readouterr().out.startswith("###.\n####\n")


def test_long_sequences_are_shaded(capsys):
    assert main(["draw", "causal", "-n", "64k"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert max(map(len, lines)) <= 96
    assert lines[5][:6] == "█████▒"


def test_files(tmp_path, capsys):
    for name in ("a.svg", "b.png", "C.SVG"):
        assert main(["draw", "strided(3)", "-n", "16", "--out", str(tmp_path / name)]) == 0
        assert capsys.readouterr().out == f"{tmp_path / name}: 58 of 256 pairs (22.7 %)\n"
    assert (
        (tmp_path / "a.svg").read_text(encoding="utf-8")
        == Strided(3).svg(16)
        == (tmp_path / "C.SVG").read_text(encoding="utf-8")
    )
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


def test_for_machines(tmp_path, capsys):
    assert main(["draw", "causal", "-n", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["grid"] == Causal().draw(4).split("\n")
    assert found["pairs"] == 10
    out = str(tmp_path / "a.svg")
    assert main(["draw", "causal", "-n", "4", "--json", "--out", out]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == out
