"""The comparison with other tools says what the files of results and the tests show, and no more."""

import json
import re

import pytest

from tests.test_docs import DOCS, ROOT

PAGE = (DOCS / "comparison.md").read_text(encoding="utf-8")
GPU, CPU = "nvidia-h200", "cpu-2core-amd-epyc"
# (who, what) of a line of the page -> the file, the case and the peer there.
SOURCES = {
    ("FlexAttention, Triton", "strided(256)"): (
        f"attention-{GPU}",
        "strided(256) D64",
        "FlexAttention, Triton",
    ),
    ("FlexAttention, Triton", "windowed(1024)"): (
        f"attention-{GPU}",
        "windowed(1024) D64",
        "FlexAttention, Triton",
    ),
    ("FlexAttention, FLASH", "strided(1024)"): (
        f"attention-{GPU}",
        "strided(1024) D64",
        "FlexAttention, FLASH",
    ),
    ("| FlashAttention-4", "strided(256)"): (f"attention-{GPU}", "strided(256) D64", "FlashAttention-4"),
    ("| FlashAttention-4", "strided(1024)"): (f"attention-{GPU}", "strided(1024) D64", "FlashAttention-4"),
    ("cuDNN, band", "strided(256)"): (f"attention-{GPU}", "strided(256) D64", "cuDNN, band"),
    ("SDPA, folded", "windowed(256)"): (f"attention-{GPU}", "windowed(256) D64", "SDPA, folded"),
    ("SDPA with a dense", "strided(128)"): (f"attention-{CPU}", "strided(128)", "SDPA, dense mask"),
    ("fla, normalised", "linear"): (f"linear-{GPU}", "linear, causal, check=False", "fla, normalised"),
    ("fla, not", "linear"): (f"linear-{GPU}", "linear, causal, check=False", "fla, not normalised"),
    ("timm", "ViT"): (f"models-{GPU}", "ViT 28×28×1/4, depth 6, width 128", "timm, compiled"),
    ("transformers, eager |", "same"): (
        f"models-{GPU}",
        "ViT 28×28×1/4, depth 6, width 128",
        "transformers, eager",
    ),
    ("transformers, eager, two", "same"): (
        f"models-{CPU}",
        "ViT 28×28×1/4, depth 6, width 128",
        "transformers, eager",
    ),
    ("transformers, static", "GPT-2"): (
        f"generate-{GPU}",
        "GPT-2 shape 6×256, batch 1",
        "transformers, static cache",
    ),
}
LINES = [line for line in PAGE.splitlines() if re.search(r"\d×(?: \||$)", line)]


def told(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:#.3g}×"


def test_every_number_has_a_file():
    assert len(LINES) == len(SOURCES)


@pytest.mark.parametrize("words", SOURCES, ids=" ".join)
def test_numbers_are_those_of_the_files(words):
    (line,) = [line for line in LINES if words[0] in line and words[1] in line]
    file, case, who = SOURCES[words]
    rows = json.loads((ROOT / "benchmarks" / "results" / f"{file}.json").read_text(encoding="utf-8"))["rows"]
    (row,) = [row for row in rows if (row["case"], row["who"]) == (case, who)]
    shown = [cell.strip() for cell in line.split("|")[3:5]]
    assert shown == [told(row["forward_ratio"]), told(row["both_ratio"])]


def test_tests_and_files_that_are_named_are_there():
    named = re.findall(r"`((?:tests|benchmarks)/[\w/.-]+)`", PAGE)
    assert len(named) > 8
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_loss_is_the_recorded_one():
    run = (ROOT / "benchmarks" / "results" / "runs" / "shakespeare-char.json").read_text(encoding="utf-8")
    found = {f"{float(number):.4f}" for number in re.findall(r"\d+\.\d+", run)}
    assert set(re.findall(r"loss of (\d\.\d+)", PAGE)) <= found
