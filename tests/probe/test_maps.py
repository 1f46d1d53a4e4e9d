import pytest
import torch

from regard.layers import Trace
from regard.probe import maps, upsample
from regard.probe.maps import AttentionMaps
from tests.probe.conftest import draw, encoder, gpt, pictures, strong, vit


@pytest.mark.parametrize("patch", [(2, 1), (1, 3), (4, 2)])
def test_the_weights_are_those_of_the_trace(patch):
    model, images = strong(vit(patch=patch)), pictures(3) / 255
    seen = maps.see(model, images)
    trace = Trace()
    logits = model(images, trace=trace)
    assert torch.equal(seen.logits, logits.detach())
    for layer in range(2):
        assert torch.equal(seen.weights[:, layer], trace[f"blocks.{layer}.attention.weights"])
    assert torch.allclose(seen.weights.sum(-1), torch.ones(()))
    assert seen.reader == "class"


def test_the_model_is_left_as_it_was():
    model = vit(dropout=0.5)
    model.train()
    model.blocks[0].eval()
    a, b = (maps.see(model, pictures(2) / 255).logits for _ in range(2))
    assert torch.equal(a, b)
    assert model.training
    assert not model.blocks[0].training
    assert model.blocks[1].training


def test_mean_attention_is_the_class_tokens_row():
    seen = maps.see(strong(vit()), pictures(3) / 255)
    found = maps.patch_map(maps.mean_attention(seen), (2, 6))
    for b in range(3):
        for row in range(2):
            for col in range(6):
                want = sum(
                    seen.weights[b, layer, h, 0, 1 + row * 6 + col] for layer in range(2) for h in range(2)
                )
                assert float(found[b, row, col]) == pytest.approx(float(want) / 4, abs=1e-6)
    heads = maps.patch_map(maps.head_attention(seen), (2, 6))
    assert heads.shape == (3, 2, 2, 2, 6)
    assert torch.allclose(heads.mean((1, 2)), found)


def naive_rollout(weights):
    """One image, in plain loops."""
    L, H, N, _ = weights.shape
    flow = [[float(i == j) for j in range(N)] for i in range(N)]
    for layer in range(L):
        mixed = []
        for i in range(N):
            row = [sum(float(weights[layer, h, i, j]) for h in range(H)) / H + (i == j) for j in range(N)]
            mixed.append([value / sum(row) for value in row])
        flow = [[sum(mixed[i][k] * flow[k][j] for k in range(N)) for j in range(N)] for i in range(N)]
    return torch.tensor(flow)


@pytest.mark.parametrize(("pool", "row"), [("class", 0), ("mean", None)])
def test_rollout(pool, row):
    seen = maps.see(strong(vit(pool=pool)), pictures(2) / 255)
    found = maps.rollout(seen)
    for b in range(2):
        flow = naive_rollout(seen.weights[b])
        assert torch.allclose(found[b], flow.mean(0) if row is None else flow[row], atol=1e-6)
    assert torch.allclose(found.sum(1), torch.ones(2))


def test_rows_that_see_nothing_keep_to_themselves():
    weights = torch.zeros(1, 3, 2, 2, 2)
    assert maps.rollout(AttentionMaps(torch.zeros(1, 1), weights, "last")).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("make", [lambda: encoder(pool="mean"), gpt, encoder], ids=["mean", "last", "class"])
def test_padding_changes_nothing(make):
    model = strong(make())
    tokens = torch.randint(11, (1, 5), generator=draw())
    alone = maps.see(model, tokens)
    padded = torch.cat([tokens, torch.full((1, 3), 7)], 1)
    segments = torch.tensor([[0] * 5 + [-1] * 3])
    beside = maps.see(model, padded, segments=segments)
    for measure in (maps.mean_attention, maps.rollout):
        assert torch.allclose(measure(beside)[:, :5], measure(alone), atol=1e-6)
        assert measure(beside)[:, 5:].abs().max() == 0


def test_hidden_patches_get_no_attention():
    segments = torch.zeros(2, 12, dtype=torch.long)
    segments[:, 4] = -1
    seen = maps.see(strong(vit()), pictures(2) / 255, segments=segments)
    found = maps.patch_map(maps.mean_attention(seen), (2, 6))
    assert found[:, 0, 4].tolist() == [0.0, 0.0]
    assert (found > 0).sum() == 22


def test_upsampling_keeps_places_and_range():
    small = torch.zeros(1, 2, 3)
    small[0, 1, 2] = 1
    for mode in ("nearest", "bilinear"):
        big = upsample(small, (8, 12), mode=mode)
        assert big.shape == (1, 8, 12)
        assert float(big.max()) == pytest.approx(1.0)
        assert float(big.min()) == 0.0
        assert (big[0] == big.max()).nonzero().min(0).values.tolist() >= [4, 8]


def test_errors():
    from regard.models import MLP, MLPConfig

    with pytest.raises(ValueError, match="must have attention to look at, got MLP"):
        maps.see(MLP(MLPConfig(image=4, classes=2)), torch.zeros(1, 1, 4, 4))
    with pytest.raises(ValueError, match=r"cover 2×3 patches.*got 9 tokens"):
        maps.patch_map(torch.zeros(9), (2, 3))
    with pytest.raises(ValueError, match="reader must be one of"):
        maps.read(torch.zeros(1, 2, 2), "first")
    with pytest.raises(ValueError, match=r"maps must be \(B, rows, cols\), got \(2, 3\)"):
        upsample(torch.zeros(2, 3), (4, 6))
    with pytest.raises(ValueError, match="mode='cubic'"):
        upsample(torch.zeros(1, 2, 3), (4, 6), mode="cubic")
