"""The ViT benchmark: same shapes for everyone, agreement before the clock, absent peers named."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from regard.bench import models
from regard.bench.models import FULL, QUICK, ViTSize
from regard.cli.main import main

SMALL = ViTSize(12, 2, 1, 8, 2)


def test_quick_on_a_cpu(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    assert main(["bench", "models", "--device", "cpu", "--quick", "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("models-*.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    who = ["regard", "timm, eager", "vit-pytorch, eager", "transformers, eager"]
    assert [(row["case"], row["who"]) for row in stored["rows"]] == [
        (str(shape), name) for shape in QUICK for name in who
    ]
    for row in stored["rows"]:
        if row["who"] in ("regard", "transformers, eager"):
            speed = 1e3 * stored["settings"]["batch"] / row["both_ms"]
            assert row["note"] == f"{speed:,.0f} images/s"
        else:
            assert (row["both_ms"] is None) == ("not installed" in row["note"] or "cannot" in row["note"])
    assert all("differ from transformers' by" in text for text in stored["settings"]["checks"])


def test_the_shapes_are_those_of_the_design() -> None:
    assert (ViTSize(28, 1, 6, 128, 4), ViTSize(32, 3, 6, 256, 4)) == FULL
    model = models._ours(FULL[0])
    assert (model.config.tokens, model.config.head_size, model.config.classes) == (50, 32, 10)


@pytest.mark.parametrize("peer", models.PEERS)
def test_peers_have_our_size(peer: str) -> None:
    if models._obstacle(peer) is not None:
        pytest.skip(f"{peer}: {models._obstacle(peer)}")

    def size(build: Callable[[ViTSize], torch.nn.Module]) -> int:
        return sum(weight.numel() for weight in build(FULL[0]).parameters())

    assert size(models.PEERS[peer].build) == pytest.approx(size(models._ours), rel=0.002)
    images = models._batch(SMALL, 3, "cpu")[0]
    assert models.logits(models.PEERS[peer].build(SMALL), images).shape == (3, 10)


def test_a_model_that_disagrees_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    assert "differ from transformers' by" in models._check(SMALL)
    read = models.from_huggingface

    def off(theirs: torch.nn.Module) -> torch.nn.Module:
        ours = read(theirs)
        with torch.no_grad():
            ours.get_parameter("blocks.0.attention.qkv.bias")[0] += 0.1
        return ours

    monkeypatch.setattr(models, "from_huggingface", off)
    monkeypatch.setattr(models, "milliseconds", lambda *_, **__: pytest.fail("timed"))
    with pytest.raises(ValueError, match=r"logits up to .* differ from .*, allowed 0.0001; not timed"):
        models.run("cpu", quick=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "not installed"),
        ("import absent_dependency", "not installed: absent_dependency"),
        (
            r"raise RuntimeError('operator not there\nmore')",
            "cannot be imported: operator not there",
        ),
    ],
)
def test_a_peer_that_cannot_be_had_is_a_row(
    text: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / "some_peer.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for peer in models.PEERS:
        monkeypatch.setitem(models.PEERS, peer, replace(models.PEERS[peer], module="some_peer"))
    monkeypatch.setattr(models, "milliseconds", lambda *_, **__: 4.0)
    report = models.run("cpu", quick=True)
    ours, *peers = report.rows[:4]
    assert (ours.both_ms, ours.note) == (4.0, "1,000 images/s")
    assert [(peer.both_ms, peer.note) for peer in peers] == [(None, said)] * 3
    assert report.settings["checks"][0] == f"{QUICK[0]}: logits not compared, transformers: {said}"


def test_a_step_leaves_the_gradients_of_one_batch() -> None:
    model = models._ours(SMALL)
    images, labels = models._batch(SMALL, 5, "cpu")
    step = models.training_step(model, images, labels)
    step()
    step()
    found = [weight.grad for weight in model.parameters()]
    wanted = torch.autograd.grad(cross_entropy(model(images), labels), list(model.parameters()))
    torch.testing.assert_close(found, list(wanted))
