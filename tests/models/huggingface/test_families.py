"""Every family, both ways, equal to transformers: logits, generation with a cache, and the weights' bytes."""

import json

import pytest
import torch

from regard.models import from_huggingface, to_huggingface

transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

from tests.models.huggingface import zoo  # noqa: E402 - it needs transformers

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
# Ours holds these together with others, or not at all: no token stands at RoBERTa's first positions.
FOLDED = (
    "cls_token",
    "distillation_token",
    "position_embeddings",
    "mask_token",
    "position_embeddings.weight",
)


@pytest.fixture(autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def close(want):
    """Equal to 1e-5 of the largest logit, or of 1."""
    return {"atol": 1e-5 * max(1.0, float(want.abs().max())), "rtol": 0}


def weights(folder):
    return safetensors.load_file(folder / "model.safetensors")


def same_bytes(folder, other, but=()):
    """The same names, and the same bytes under them but for some."""
    mine, theirs = weights(folder), weights(other)
    assert mine.keys() == theirs.keys()
    for name, weight in mine.items():
        if not name.endswith(tuple(but)):
            assert torch.equal(weight, theirs[name]), name


def both_ways(theirs, tmp_path, family):
    """Ours as read from a folder, and theirs as read from the folder that ours was written to."""
    theirs.save_pretrained(tmp_path / "theirs")
    ours = from_huggingface(tmp_path / "theirs")
    to_huggingface(ours, tmp_path / "ours", like=tmp_path / "theirs")
    config = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert config["model_type"] == family
    assert config["architectures"] == [type(theirs).__name__]
    back, found = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(found[what] for what in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    again = from_huggingface(tmp_path / "ours")
    assert again.config == ours.config
    for name, weight in ours.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name
    return ours, back.eval()


@pytest.mark.parametrize("case", zoo.cases(zoo.DECODERS), ids=lambda case: f"{case[0]}-{zoo.name(case[3])}")
def test_decoders(case, tmp_path):
    theirs, x = zoo.made(case), zoo.tokens(3, 13)
    ours, back = both_ways(theirs, tmp_path, case[0])
    back.set_attn_implementation(theirs.config._attn_implementation)
    same_bytes(tmp_path / "theirs", tmp_path / "ours")
    with torch.no_grad():
        want = theirs(x).logits
        torch.testing.assert_close(ours(x), want, **close(want))
        torch.testing.assert_close(back(x).logits, want, **close(want))
    prompt, asked = x[:, :4], {"do_sample": False, "max_new_tokens": 14, "pad_token_id": 0}
    want = theirs.generate(prompt, attention_mask=torch.ones_like(prompt), **asked)
    for impl in ("plain", "lean"):
        assert torch.equal(ours.generate(prompt, max_new_tokens=14, impl=impl), want)
    assert len(want[:, 4:].unique()) > 1


@pytest.mark.parametrize("case", zoo.cases(zoo.ENCODERS), ids=lambda case: f"{case[1]}-{zoo.name(case[3])}")
def test_encoders(case, tmp_path):
    theirs, x = zoo.made(case), zoo.tokens(3, 12)
    mask = torch.tensor([[1] * n + [0] * (12 - n) for n in (12, 5, 9)])
    x = torch.where(mask.bool(), x, theirs.config.pad_token_id)
    ours, back = both_ways(theirs, tmp_path, case[0])
    same_bytes(tmp_path / "theirs", tmp_path / "ours", FOLDED[-1:] if case[0] == "roberta" else ())
    with torch.no_grad():
        for model in (theirs, back):
            found = model(x, attention_mask=mask)
            want = found.logits if "logits" in found else found.pooler_output
            torch.testing.assert_close(ours(x, segments=mask - 1), want, **CLOSE)


@pytest.mark.parametrize("case", zoo.cases(zoo.IMAGES), ids=lambda case: f"{case[1]}-{zoo.name(case[3])}")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_images(case, dtype, tmp_path):
    theirs = zoo.made(case).to(dtype)
    ours, back = both_ways(theirs, tmp_path, case[0])
    same_bytes(tmp_path / "theirs", tmp_path / "ours", FOLDED)
    sizes = [(12, 12), (20, 8), (4, 16)] if dtype == torch.float32 else [(12, 12)]
    more = {} if case[0] == "dinov2" else {"interpolate_pos_encoding": True}
    close = CLOSE if dtype == torch.float32 else {"atol": 0.05, "rtol": 0.05}
    for size in sizes:
        images = torch.randn(2, theirs.config.num_channels, *size).to(dtype)
        with torch.no_grad():
            want = theirs(images, **more).logits
            torch.testing.assert_close(ours(images), want, **close)
            torch.testing.assert_close(back(images, **more).logits, want, **close)
    assert back.config.id2label == zoo.LABELS["id2label"]
