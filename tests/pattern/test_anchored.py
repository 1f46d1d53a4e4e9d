import pickle

import pytest
import torch

from regard.pattern import Causal, Documents, Global, Prefix, RandomBlocks

GRIDS = [
    (Global(first=2), 4, 4, "#### #### ##.. ##.."),
    (Global(first=0), 2, 2, ".. .."),
    (Global(first=1), 2, 4, "#... #..."),
    (Global(first=9), 2, 3, "### ###"),
    (Global(first=1) & Causal(), 3, 3, "#.. #.. #.."),
    (Prefix(length=2), 4, 4, "##.. ##.. ###. ####"),
    (Prefix(length=3), 3, 4, "###. ###. ####"),
    (Prefix(length=0), 2, 2, "#. ##"),
    (Documents(lengths=(1, 3, 1)), 5, 5, "#.... .###. .###. .###. ....#"),
    (Documents(lengths=(1, 3, 1)), 2, 4, ".### .###"),  # fewer keys than the documents have: no more is known
    (RandomBlocks(size=2, per_row=0, seed=7), 3, 3, "##. ##. ..#"),
    (RandomBlocks(size=1, per_row=9, seed=7), 3, 3, "#.. ##. ###"),  # more draws than blocks: all of them
]


@pytest.mark.parametrize(("pattern", "n", "m", "grid"), GRIDS)
def test_literal_grid(pattern, n, m, grid):
    assert pattern.draw(n, m).split() == grid.split()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Global(first=-1), "first must be at least 0, got first=-1"),
        (lambda: Prefix(length=-1), "length must be at least 0, got length=-1"),
        (lambda: Documents(lengths=()), "lengths must be one number for each document, got lengths=()"),
        (lambda: Documents(lengths=5), "lengths must be one number for each document, got lengths=5"),
        (lambda: Documents(lengths=(3, 0)), "lengths[1] must be at least 1, got lengths[1]=0"),
        (lambda: RandomBlocks(size=0), "size must be at least 1, got size=0"),
        (lambda: RandomBlocks(per_row=-1), "per_row must be at least 0, got per_row=-1"),
        (lambda: RandomBlocks(per_row=1025), "per_row must be at most 1,024, got per_row=1025"),
        (lambda: RandomBlocks(seed=-1), "seed must be at least 0, got seed=-1"),
    ],
)
def test_out_of_range_fields_are_named(make, message):
    with pytest.raises(ValueError, match="must") as caught:
        make()
    assert str(caught.value) == message


def test_documents_of_another_total_say_both_numbers():
    with pytest.raises(ValueError, match=r"covers 5 positions, got n=6"):
        Documents(lengths=(2, 3)).dense(6)
    with pytest.raises(ValueError, match=r"covers 5 positions, got n=4"):
        (Causal() & Documents(lengths=(2, 3))).pairs(4)
    with pytest.raises(ValueError, match=r"covers 5 positions, got m=6"):
        Documents(lengths=(2, 3)).pairs(2, 6)


def test_documents_are_equal_by_their_lengths_and_travel():
    one, two = Documents(lengths=(2, 3)), Documents(lengths=[2, 3])
    assert one == two
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)).draw(5) == one.draw(5)
    assert one.allows(1, 2) is False
    assert one.allows(4, 2) is True


def test_random_blocks_draw_distinct_earlier_blocks_from_everywhere():
    pattern = RandomBlocks(size=1, per_row=3, seed=11)
    mask = pattern.dense(400)
    assert torch.equal(mask.sum(1)[3:], torch.full((397,), 4))  # itself and three others, none twice
    assert not mask.triu(1).any()
    far = mask[300:, :100].sum() / mask[300:].sum()
    assert (
        0.15 < float(far) < 0.35
    )  # a third of three draws in four falls into the first third: about a quarter


def test_random_blocks_depend_on_the_seed_and_not_on_the_length():
    one, two = RandomBlocks(4, 2, seed=1), RandomBlocks(4, 2, seed=2)
    assert not torch.equal(one.dense(64), two.dense(64))
    assert torch.equal(one.dense(64)[:40, :40], one.dense(40))
    assert torch.equal(one.dense(64)[50:], one.dense(14, 64))


def test_random_blocks_agree_on_integers_and_tensors():
    pattern = RandomBlocks(3, 2, seed=5)
    mask = pattern.dense(30)
    assert all(pattern.allows(q, k) == bool(mask[q, k]) for q in range(30) for k in range(30))
