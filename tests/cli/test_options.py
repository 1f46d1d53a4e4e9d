"""Options that verbs share: lengths, data types, devices."""

import json
import os

import pytest

from regard.cli.main import main
from regard.cli.options import data_type, length


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("64k", 65_536),
        ("1M", 1 << 20),
        ("1e6", 10**6),
        ("2.5e3", 2500),
        ("1_000", 1000),
        ("0.5k", 512),
    ],
)
def test_lengths(text, number):
    assert length("n", text) == number


@pytest.mark.parametrize("text", ["", "many", "-4", "1.5", "1e-3", "0x10", "1e6e6", "k", "nan"])
def test_what_is_no_length(text):
    with pytest.raises(ValueError, match="n must be a whole number such as 4096, 64k or 1M"):
        length("n", text)


def test_a_length_beyond_counting():
    with pytest.raises(ValueError, match="n must be at most 1,000,000,000,000,000,000, got n='1e40'"):
        length("n", "1e40")


def test_every_verb_reads_them(capsys):
    assert main(["count", "causal", "-n", "1e3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 500_500
    assert main(["cost", "gpt2", "--tokens", "1e3", "--dtype", "bf16", "--json"]) == 0
    short = json.loads(capsys.readouterr().out)
    assert main(["cost", "gpt2", "--tokens", "1000", "--dtype", "bfloat16", "--json"]) == 0
    assert short == json.loads(capsys.readouterr().out)


def test_data_types():
    assert [data_type(one) for one in ("BF16", "half", "fp32", "int8")] == [
        "bfloat16",
        "float16",
        "float32",
        "int8",
    ]
    with pytest.raises(ValueError, match="dtype must be one of float32, bfloat16, float16, int8"):
        data_type("float3")


RUNNING = [
    ["predict", "zoo:sentiment", "good"],
    ["generate", "zoo:dialogue", "--prompt", "ROMEO:"],
    ["look", "zoo:sentiment", "good"],
    ["eval", "zoo:verdicts-encoder", "--test"],
    ["train", "play-gpt"],
    ["bench", "attention", "--quick"],
]


@pytest.mark.parametrize("words", RUNNING, ids=lambda words: words[0])
def test_a_device_that_is_not_there_is_one_line(words, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    assert main([*words, "--device", "mps"]) == 2
    assert (
        capsys.readouterr().err
        == "error: device must be there: no Apple GPU is available, got device='mps'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_what_an_apple_gpu_cannot_do_falls_back(monkeypatch, capsys):
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "")  # so that it is put back
    monkeypatch.delenv("PYTORCH_ENABLE_MPS_FALLBACK")
    main(["predict", "zoo:sentiment", "good", "--device", "cpu"])
    assert "PYTORCH_ENABLE_MPS_FALLBACK" not in os.environ
    main(["predict", "zoo:sentiment", "good", "--device=mps"])
    assert os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] == "1"
