import json

import pytest
import torch
from torch import nn

from regard.layers import PatchProjection
from regard.probe import check_by_hiding, score_images
from regard.probe.hiding import wilson
from tests.probe.conftest import draw, pictures, strong, vit


class OnePatch(nn.Module):
    """Knows the class of an image as long as it sees the patch at (1, 2) of a 2×5 grid."""

    def __init__(self):
        super().__init__()
        self.patches = PatchProjection(1, 1, (2, 1))

    def forward(self, images, segments):
        seen = segments[:, 1 * 5 + 2] >= 0
        label = images[:, 0, 2, 2].long() * seen + 3 * ~seen
        return nn.functional.one_hot(label, 4).float()


def test_a_map_that_points_at_the_right_patch():
    labels = torch.randint(3, (40,), generator=draw())
    images = torch.zeros(40, 1, 4, 5)
    images[:, 0, 2, 2] = labels.float()
    scores = torch.zeros(40, 2, 5)
    scores[:, 1, 2] = 1
    shares = [0.0, 0.1, 0.5, 0.9, 1.0]
    found = check_by_hiding(
        OnePatch(), images, labels, scores, generator=draw(), shares=shares, repeats=20, batch=7
    )
    assert found.curve("most").accuracy == (1.0, 0.0, 0.0, 0.0, 0.0)
    assert found.curve("least").accuracy == (1.0, 1.0, 1.0, 1.0, 0.0)
    for got, want in zip(found.curve("random").accuracy, (1.0, 0.9, 0.5, 0.1, 0.0), strict=True):
        assert got == pytest.approx(want, abs=0.06)
    assert found.advantage == pytest.approx(100 * (0.9 + 0.5 + 0.1) / 5, abs=3)
    for curve in found.curves:
        for low, middle, high in zip(curve.low, curve.accuracy, curve.high, strict=True):
            assert 0 <= low <= middle <= high <= 1
            assert low < high
    json.dumps(found.as_dict())


def test_the_same_generator_gives_the_same_curves():
    model, images, labels = strong(vit()), pictures(9) / 255, torch.arange(9) % 3
    scores = score_images(model, images, batch=4)
    first, second = (
        check_by_hiding(model, images, labels, scores, generator=draw(), batch=batch) for batch in (4, 9)
    )
    assert first == second


@pytest.mark.parametrize("method", ["attention", "rollout", "gradient"])
def test_scores_do_not_depend_on_the_batch(method):
    model, images = strong(vit()), pictures(5) / 255
    whole = score_images(model, images, method=method)
    assert whole.shape == (5, 2, 6)
    assert torch.allclose(whole, score_images(model, images, method=method, batch=2), atol=1e-6)


def test_wilson_against_its_definition():
    for right, count in ((0, 5), (3, 7), (50, 50), (940, 1000)):
        for end in wilson(right, count):
            if 1e-9 < end < 1 - 1e-9:
                assert abs(right / count - end) == pytest.approx(1.959964 * (end * (1 - end) / count) ** 0.5)


def test_errors():
    model, images, labels = vit(), pictures(2) / 255, torch.zeros(2, dtype=torch.long)
    with pytest.raises(ValueError, match=r"scores must be \(2, 2, 6\), got \(2, 6, 2\)"):
        check_by_hiding(model, images, labels, torch.zeros(2, 6, 2), generator=draw())
    with pytest.raises(ValueError, match=r"shares must lie from 0 to 1, got \(1.5,\)"):
        check_by_hiding(model, images, labels, torch.zeros(2, 2, 6), generator=draw(), shares=[1.5])
    with pytest.raises(ValueError, match="labels must be one per image"):
        check_by_hiding(model, images, labels[:1], torch.zeros(2, 2, 6), generator=draw())
    with pytest.raises(ValueError, match="method='magic'"):
        score_images(model, images, method="magic")
