import pytest
import torch

from regard.data.draws import generator
from regard.train.order import LongShuffle, Stream, by_length, shuffled
from regard.train.pace import Pace, due
from regard.train.tasks import windows

CPU = torch.device("cpu")


@pytest.mark.parametrize(("count", "size"), [(10, 4), (10, 6), (7, 15), (1, 4)])
def test_batches_take_every_epoch_without_overlap_or_loss(count, size):
    stream = Stream(count, lambda epoch: shuffled(count, 0, epoch), CPU)
    whole = [i for step in range(-(-count * 3 // size)) for i in stream.batch(step, size).tolist()]
    for epoch in range(3):
        assert sorted(whole[epoch * count : (epoch + 1) * count]) == list(range(count))


def test_the_order_is_a_function_of_the_step_alone():
    make = lambda: Stream(9, lambda epoch: shuffled(9, 5, epoch), CPU)  # noqa: E731
    stream = make()
    for step in (7, 0, 100, 3):
        assert torch.equal(stream.batch(step, 4), make().batch(step, 4))
    assert not torch.equal(shuffled(9, 5, 0), shuffled(9, 5, 1))
    assert not torch.equal(shuffled(9, 5, 0), shuffled(9, 6, 0))


def test_like_lengths_together_and_none_lost():
    lengths = torch.randint(1, 50, (64,), generator=torch.Generator().manual_seed(0))
    plain = Stream(64, lambda epoch: shuffled(64, 0, epoch), CPU)
    near = by_length(plain, lengths, batch=4, pool=8, seed=0)
    found = [near.batch(step, 4) for step in range(16)]
    assert sorted(torch.cat(found).tolist()) == list(range(64))

    def padding(parts):
        return sum(int((lengths[part].max() - lengths[part]).sum()) for part in parts)

    assert padding(found) < 0.5 * padding([plain.batch(step, 4) for step in range(16)])


def test_time_between_readings_is_reckoned():
    pace = Pace(None, 10.0)
    assert pace.share(5) == 0.0
    pace.mark(4, 2.0)
    assert pace.share(8) == pytest.approx(0.4)
    assert not pace.over(19)
    assert pace.over(20)
    assert pace.left(10) == pytest.approx(5.0)


def test_readings_come_early_and_then_regularly():
    assert [step for step in range(1, 10) if due(step, 3)] == [1, 2, 3, 6, 9]
    assert all(due(step, 1) for step in range(1, 5))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 17, 1000, 4097])
def test_a_long_shuffle_leaves_nothing_out_and_is_found_anywhere(count):
    order, other = (LongShuffle(count, generator(seed), torch.device("cpu")) for seed in (0, 1))
    whole = order[0:count]
    assert whole.sort().values.tolist() == list(range(count))
    assert order[count // 3 : count // 2 + 1].tolist() == whole[count // 3 : count // 2 + 1].tolist()
    if count > 16:
        assert not torch.equal(whole, other[0:count])
        near = (whole.diff().abs() < count // 10).float().mean()
        assert near < 0.35  # neighbours are no longer near, as in a shuffle (about 0.19)


def test_many_windows_are_shuffled_without_a_list_of_them(monkeypatch):
    monkeypatch.setattr(windows, "MANY", 10)
    found = windows.Windows(torch.arange(500), length=7, seed=0)
    epochs = [found.stream.take(e * found.count, (e + 1) * found.count) for e in range(2)]
    for starts in epochs:
        assert (starts - starts.min()).sort().values.tolist() == [7 * i for i in range(found.count)]
    assert not torch.equal(*epochs)
    assert found.rows(epochs[0], extra=1).shape == (found.count, 8)
