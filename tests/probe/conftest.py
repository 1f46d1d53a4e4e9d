import pytest
import torch

from regard.models import GPT, Encoder, EncoderConfig, GPTConfig, ViT, ViTConfig
from regard.probe import look_images


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def vit(**changes):
    shape = {
        "image": (4, 6),
        "patch": (2, 1),
        "channels": 1,
        "classes": 3,
        "depth": 2,
        "width": 8,
        "heads": 2,
    }
    return ViT(ViTConfig(**(shape | changes)), generator=draw())


def encoder(**changes):
    shape = {"vocab": 11, "context": 9, "classes": 2, "depth": 2, "width": 8, "heads": 2}
    return Encoder(EncoderConfig(**(shape | changes)), generator=draw())


def gpt(**changes):
    shape = {"vocab": 11, "context": 9, "depth": 2, "width": 8, "heads": 2}
    return GPT(GPTConfig(**(shape | changes)), generator=draw())


def strong(model):
    """The same model with weights so large that attention is far from even and logits differ."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(3)
    return model


def pictures(count: int, shape=(1, 4, 6), seed: int = 1):
    return torch.randint(0, 256, (count, *shape), generator=draw(seed)).to(torch.uint8)


@pytest.fixture
def look():
    """Five images of unequal sides, two of them wrongly labelled."""
    shown = pictures(5)
    model = strong(vit())
    found = look_images(model, shown / 255, shown, ["cat", "dog", "emu"], steps=2)
    labels = found.predicted.clone()
    labels[1:3] = (labels[1:3] + 1) % 3
    return look_images(model, shown / 255, shown, ["cat", "dog", "emu"], labels=labels, steps=2)
