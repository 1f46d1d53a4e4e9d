import pytest

from regard.train import Cosine, Linear, Trapezoid


@pytest.mark.parametrize("kind", [Cosine, Linear, Trapezoid])
def test_up_to_one_and_down_to_the_floor(kind):
    schedule = kind(warmup=0.25, floor=0.1)
    values = [schedule.at(i / 100) for i in range(101)]
    assert values[0] == 0
    assert values[25] == 1
    assert values[-1] == pytest.approx(0.1)
    assert values[:26] == sorted(values[:26])
    assert values[25:] == sorted(values[25:], reverse=True)


@pytest.mark.parametrize("kind", [Cosine, Linear, Trapezoid])
def test_no_warm_up_and_nothing_but_warm_up(kind):
    assert kind(warmup=0.0).at(0.0) == 1
    most = {"warmup": 1.0, "cooldown": 0.0} if kind is Trapezoid else {"warmup": 1.0}
    assert kind(**most).at(0.5) == 0.5


@pytest.mark.parametrize("value", [-0.1, 1.5, "half", True, float("nan")])
def test_what_is_no_share(value):
    with pytest.raises(ValueError, match="warmup must be a share from 0 to 1"):
        Cosine(warmup=value)


def test_a_trapezoid_that_does_not_fit():
    with pytest.raises(ValueError, match=r"must fit the run, got warmup=0.6, cooldown=0.5"):
        Trapezoid(warmup=0.6, cooldown=0.5)
