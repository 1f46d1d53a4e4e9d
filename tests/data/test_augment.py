"""Augmentation on the device against one picture and one pixel at a time."""

from dataclasses import replace

import pytest
import torch

from regard.data.augment import Augment, Draws, symmetric_beta
from tests.data.reference_augment import reference

PLAIN = Augment(classes=4, mean=(0.5,), std=(0.25,))
EACH = {
    "nothing": {},
    "crop": {"crop": 2},
    "mirrored": {"crop": 2, "border": "mirror"},
    "flip": {"flip": 0.5},
    "turn": {"turn": 40.0},
    "zoom": {"zoom": 0.5},
    "turned and mirrored": {"turn": 90.0, "zoom": 0.3, "crop": 1, "flip": 0.5, "border": "mirror"},
    "colour": {"colour": 0.6},
    "erase": {"erase": 0.7},
    "mixup": {"mixup": 0.2},
    "cutmix": {"cutmix": 1.0},
    "both mixed": {"mixup": 0.4, "cutmix": 1.0},
    "all": {
        "crop": 2,
        "flip": 0.5,
        "colour": 0.4,
        "erase": 0.5,
        "mixup": 0.8,
        "cutmix": 1.0,
        "turn": 15.0,
        "zoom": 0.2,
    },
    "all mirrored": {"crop": 1, "border": "mirror", "flip": 0.5, "colour": 0.4, "erase": 0.5, "cutmix": 0.5},
}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(channels=3, rows=4, cols=7, count=6, seed=0):
    images = torch.randint(256, (count, channels, rows, cols), dtype=torch.uint8, generator=seeded(seed))
    return images, torch.randint(4, (count,), generator=seeded(seed))


@pytest.mark.parametrize(("channels", "rows", "cols"), [(3, 4, 7), (1, 5, 3), (2, 3, 3)])
@pytest.mark.parametrize("name", EACH)
def test_it_is_the_reference(name, channels, rows, cols):
    augment = replace(PLAIN, mean=(0.4, 0.5, 0.6)[:channels], std=(0.2, 0.3, 0.25)[:channels], **EACH[name])
    for seed in range(5):
        images, labels = batch(channels, rows, cols, seed=seed)
        draws = augment.draw(len(images), images.device, seeded(seed))
        x, targets = augment.apply(images, labels, draws)
        want_x, want_targets = reference(augment, images, labels, draws)
        torch.testing.assert_close(x, torch.tensor(want_x), rtol=0, atol=2e-5)
        torch.testing.assert_close(targets, torch.tensor(want_targets), rtol=0, atol=2e-6)
        assert x.dtype == targets.dtype == torch.float32


@pytest.mark.parametrize("name", [name for name in EACH if name != "nothing"])
def test_every_part_does_something(name):
    images, labels = batch(count=12)
    x, _ = replace(PLAIN, **EACH[name])(images, labels, generator=seeded())
    assert not torch.equal(x, PLAIN.normalise(images))


@pytest.mark.parametrize("number", [0.0, 1 - 2**-24])
def test_the_ends_of_the_draws(number):
    images, labels = batch()
    draws = Draws(*torch.full((len(Draws._fields), len(images)), number))
    augment = replace(PLAIN, **EACH["all"])
    x, targets = augment.apply(images, labels, draws)
    assert x.isfinite().all()
    torch.testing.assert_close(targets.sum(1), torch.ones(len(images)))
    torch.testing.assert_close(
        x, torch.tensor(reference(augment, images, labels, draws)[0]), rtol=0, atol=2e-5
    )


def test_normalise_is_what_validation_sees():
    images, labels = batch()
    x, targets = PLAIN(images, labels, generator=seeded())
    assert torch.equal(x, PLAIN.normalise(images))
    torch.testing.assert_close(x, (images / 255 - 0.5) / 0.25)
    assert torch.equal(targets.argmax(1), labels)


def test_a_part_switched_on_leaves_the_draws_of_the_others():
    images, labels = batch(rows=9, cols=9)
    x, _ = replace(PLAIN, crop=2, flip=0.5)(images, labels, generator=seeded())
    y, _ = replace(PLAIN, crop=2, flip=0.5, erase=1.0)(images, labels, generator=seeded())
    black = -0.5 / 0.25
    assert torch.equal(torch.where(y == black, x, y), x)
    assert (y == black).sum() > (x == black).sum()


def test_the_generator_decides():
    images, labels = batch()
    augment = replace(PLAIN, **EACH["all"])
    same = [augment(images, labels, generator=seeded(3))[0] for _ in range(2)]
    assert torch.equal(*same)
    assert not torch.equal(same[0], augment(images, labels, generator=seeded(4))[0])


def test_crops_reach_every_place_equally():
    image = torch.zeros(1, 1, 9, 9, dtype=torch.uint8)
    image[0, 0, 4, 4] = 255
    x, _ = Augment(classes=1, crop=2)(
        image.expand(5000, -1, -1, -1), torch.zeros(5000, dtype=torch.long), generator=seeded()
    )
    seen = x.sum((0, 1))
    assert torch.equal(seen > 0, torch.nn.functional.pad(torch.ones(5, 5) > 0, (2, 2, 2, 2)))
    assert 140 < seen[2:7, 2:7].min() <= seen.max() < 260  # 200 each, give or take four deviations


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.5, 1.0, 3.0, 50.0])
def test_beta_has_its_distribution(alpha):
    stats = pytest.importorskip("scipy.stats")
    u, v = torch.rand(2, 20_000, generator=seeded(), dtype=torch.float64)
    x = symmetric_beta(alpha, u, v)
    assert ((x >= 0) & (x <= 1)).all()
    assert stats.kstest(x.numpy(), stats.beta(alpha, alpha).cdf).pvalue > 1e-3
    y = symmetric_beta(alpha, u.float(), v.float())
    assert ((y >= 0) & (y <= 1)).all()


def test_one_graph_without_breaks():
    images, labels = batch()
    augment = replace(PLAIN, **EACH["all"])
    draws = augment.draw(len(images), images.device, seeded())
    compiled = torch.compile(augment.apply, backend="aot_eager", fullgraph=True)
    for got, want in zip(compiled(images, labels, draws), augment.apply(images, labels, draws), strict=True):
        torch.testing.assert_close(got, want)


def test_nothing_goes_to_the_host():
    # A tensor without data would raise at the first value that somebody reads.
    images, labels = batch()
    augment = replace(PLAIN, **EACH["all"])
    draws = augment.draw(len(images), images.device, seeded())
    x, targets = augment.apply(images.to("meta"), labels.to("meta"), Draws(*(u.to("meta") for u in draws)))
    assert x.shape == images.shape
    assert targets.shape == (6, 4)
    with pytest.raises((RuntimeError, NotImplementedError)):
        x.sum().item()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", EACH)
def test_a_cuda_graph_holds_it(name):
    augment = replace(PLAIN, **EACH[name])
    images, labels = (x.cuda() for x in batch())
    generator = torch.Generator("cuda").manual_seed(1)
    want = [augment(images, labels, generator=generator) for _ in range(3)]
    generator.manual_seed(1)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        got = augment(images, labels, generator=generator)
    for x, targets in want:
        graph.replay()
        torch.testing.assert_close(got, (x, targets))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"classes": 0}, "classes=0"),
        ({"crop": -1}, "crop=-1"),
        ({"border": "grey"}, "border='grey'"),
        ({"flip": 1.5}, "flip must be a number from 0 to 1, got flip=1.5"),
        ({"erase": float("nan")}, "erase=nan"),
        ({"mixup": -0.2}, "mixup=-0.2"),
        ({"cutmix": float("inf")}, "cutmix=inf"),
        ({"std": (0.0,)}, "std above 0"),
        ({"mean": (0.5, 0.5)}, "one number per channel"),
    ],
)
def test_wrong_settings(wrong, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        replace(PLAIN, **wrong)


def test_wrong_batches():
    images, labels = batch()
    with pytest.raises(ValueError, match=r"images must be uint8 .* got torch.float32 \(6, 3, 4, 7\)"):
        PLAIN(images.float(), labels)
    with pytest.raises(ValueError, match="one for each of 6 images"):
        PLAIN(images, labels[:5])
    with pytest.raises(ValueError, match=r"mean must have one number per channel"):
        replace(PLAIN, mean=(0.5, 0.5), std=(1, 1))(images, labels)
    with pytest.raises(ValueError, match="got crop=4"):
        replace(PLAIN, crop=4, border="mirror")(images, labels)
