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


def test_what_ranks_exchange(tmp_path, capsys):
    assert main(["draw", "strided(1)", "-n", "8", "--ranks", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("####....\n...o####\n\nstrided(1) at n = 8 on 2 ranks, dealt even\n")
    assert "1 keys go to other ranks" in out
    assert main(["draw", "causal", "-n", "64k", "--ranks", "4", "--out", str(tmp_path / "plan.svg")]) == 0
    assert "75 % of a ring" in capsys.readouterr().out
    assert (tmp_path / "plan.svg").read_text(encoding="utf-8") == Causal().exchange(1 << 16, 4).svg()
    assert main(["draw", "causal", "-n", "8", "--ranks", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exchanged_keys"] == 6
    for more in (["-m", "9"], ["--out", "plan.png"], ["--ranks", "0"]):
        assert main(["draw", "causal", "-n", "8", "--ranks", "2", *more]) == 2
