import json

import pytest
import torch

from regard.data import WordTokenizer
from regard.files import seal
from regard.models import Encoder, EncoderConfig, GridCompletion, GridCompletionConfig, ViT, ViTConfig, save


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def write_run(folder, model, description, tokenizer=None):
    """A run as training leaves it."""
    inner = folder / "model"
    inner.mkdir(parents=True)
    save(model, inner / "model.safetensors")
    (inner / "task.json").write_text(json.dumps(description), encoding="utf-8")
    if tokenizer is not None:
        tokenizer.save(inner)
    seal(inner)
    return folder


@pytest.fixture
def image_run(tmp_path):
    shape = {"image": (6, 4), "patch": 2, "channels": 3, "classes": 3, "depth": 2, "width": 16, "heads": 2}
    described = {
        "task": "images", "data": "digits", "classes": ["cat", "dog", "emu"], "image": [3, 6, 4],
        "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25], "scores": {"accuracy": 0.5},
    }  # fmt: skip
    return write_run(tmp_path / "images", ViT(ViTConfig(**shape), generator=draw()), described)


@pytest.fixture
def text_run(tmp_path):
    tokenizer = WordTokenizer.train(["a dull film", "not one dull minute"])
    shape = {"vocab": tokenizer.vocab, "context": 8, "classes": 2, "depth": 1, "width": 16, "heads": 2}
    described = {"task": "texts", "data": "verdicts", "classes": ["negative", "positive"], "context": 8}
    return write_run(
        tmp_path / "texts", Encoder(EncoderConfig(**shape), generator=draw()), described, tokenizer
    )


@pytest.fixture
def completion_run(tmp_path):
    model = GridCompletion(GridCompletionConfig(levels=4, hidden=4), generator=draw())
    described = {"task": "completion", "data": "digits", "levels": 4, "image": [6, 4]}
    return write_run(tmp_path / "completion", model, described)
