"""Attention over ranks that take turns in one process: equal to one process, by exactly the plan."""

import random

import pytest
import torch

from regard.attention import DistanceBias, attend
from regard.attention.engine import with_sinks
from regard.parallel import SimulatedRanks, attend_sharded
from regard.parallel.attend import asked_of, plan_of
from regard.parallel.halves import begin, end
from regard.parallel.work import work_of
from regard.pattern import Blocks, Causal, Documents, Full, Global, Strided, Windowed, parse
from tests.hunt.sharding import mesh_fault
from tests.parallel.trying import drawn
from tests.pattern.own import Jumps, Near


@pytest.mark.parametrize("seed", range(24))
def test_any_pattern_any_dealing_any_option(seed):
    at = random.Random(f"test {seed}")
    torch.manual_seed(seed)
    case = drawn(at, at.choice([1, 2, 3, 4, 5, 8]))
    assert mesh_fault(case) is None, str(case)


@pytest.mark.parametrize("text", [
    "causal", "full", "strided(20)", "windowed(16)", "windowed(10)", "blocks(10)", "global(3) & causal",
    "strided(5) | global(2) & causal", "dilated(4, 7)", "sparsestrided(8)", "sparsefixed(8, 2)", "prefix(40)",
    "documents((30, 35, 1, 34))", "documents((25, 25, 50)) & causal", "neighbourhood(10, 10, 1)",
    "axial(4, 25)", "randomblocks(8, 2, 3)", "~causal", "~strided(30)", "causal & ~strided(60)",
    "~full", "strided(0)",
])  # fmt: skip
@pytest.mark.parametrize("ranks", [4, 7])
def test_what_patterns_need_of_others(text, ranks):
    """Bands, windows, the first keys, residues, documents that end at borders, those that look ahead."""
    torch.manual_seed(0)
    case = drawn(random.Random(text), ranks, parse(text), 100)
    assert mesh_fault(case) is None, str(case)


@pytest.mark.parametrize("pattern", [Jumps(3), Near(4) & Causal(), ~Near(2)], ids=str)
def test_own_patterns(pattern):
    case = drawn(random.Random(3), 3, pattern, 41)
    assert mesh_fault(case) is None, str(case)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_fewer_positions_than_ranks(n):
    for pattern in (Causal(), Full(), Strided(1), ~Causal()):
        case = drawn(random.Random(n), 5, pattern, n)
        assert mesh_fault(case) is None, str(case)


def test_bfloat16():
    torch.manual_seed(0)
    for seed in range(4):
        case = drawn(random.Random(seed), 3, Causal() | Global(5), 90, dtype=torch.bfloat16)
        case.options.pop("scale", None)
        assert mesh_fault(case) is None, str(case)


def run(plan, parts, **options):
    """All ranks in turn: the results, and the ranks."""
    world = SimulatedRanks.world(plan.ranks)
    halves = []
    for ranks, (q, k, v) in zip(world, parts, strict=True):
        asked, query = asked_of(q, k, **options)
        halves.append(begin(query, k, v, None, plan, ranks, asked))
    return [end(half) for half in halves], world


def whole(n=50, H=2, D=8, dtype=torch.float64):
    torch.manual_seed(1)
    return [torch.randn(1, H, n, D, dtype=dtype) for _ in range(3)]


@pytest.mark.parametrize("learns", [(True, False, False), (False, True, False), (False, False, True)])
def test_only_one_of_them_has_a_gradient(learns):
    plan, tensors = Causal().exchange(50, 3), whole()
    wanted = [x.clone().requires_grad_(on) for x, on in zip(tensors, learns, strict=True)]
    attend(*wanted, Causal()).square().sum().backward()
    leaves = [x.clone().requires_grad_(on) for x, on in zip(tensors, learns, strict=True)]
    parts = [[x[:, :, held.positions()] for x in leaves] for held in plan.held]
    found, world = run(plan, parts)
    sum(one.out.square().sum() for one in found).backward()
    for x, true in zip(leaves, wanted, strict=True):
        assert (x.grad is None) == (true.grad is None)
        if true.grad is not None:
            assert torch.allclose(x.grad, true.grad, atol=1e-12)
    each = plan.keys * 2 * 16 * 8  # 2 heads, keys and values of 8, float64
    assert sum(world[0].mailbox.bytes.values()) == each * (1 if learns[0] else 2)


def test_without_gradients_nothing_goes_back():
    plan, tensors = Strided(9).exchange(50, 4), whole()
    parts = [[x[:, :, held.positions()] for x in tensors] for held in plan.held]
    with torch.inference_mode():
        found, world = run(plan, parts)
    out = torch.cat([one.out for one in found], 2)
    assert torch.allclose(out, attend(*tensors, Strided(9)), atol=1e-12)
    assert sum(world[0].mailbox.bytes.values()) == plan.bytes(2 * 16 * 8)


def test_strides_do_not_matter_and_a_graph_can_be_used_twice():
    plan, tensors = parse("strided(9) | global(2) & causal").exchange(50, 4), whole()
    leaves = [x.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for x in tensors]
    parts = [[x[:, :, held.positions()].mT.contiguous().mT for x in leaves] for held in plan.held]
    found, _ = run(plan, parts)
    total = sum(one.out.square().sum() for one in found)
    total.backward(retain_graph=True)
    once = [x.grad.clone() for x in leaves]
    total.backward()
    for x, one in zip(leaves, once, strict=True):
        assert torch.allclose(x.grad, 2 * one, atol=1e-12)


def test_no_second_derivative():
    plan, tensors = Causal().exchange(20, 2), whole(20)
    leaves = [x.requires_grad_() for x in tensors]
    found, _ = run(plan, [[x[:, :, held.positions()] for x in leaves] for held in plan.held])
    (grad,) = torch.autograd.grad(sum(one.out.square().sum() for one in found), leaves[1], create_graph=True)
    with pytest.raises(RuntimeError, match="has no second derivative"):
        grad.sum().backward()


def test_shared_tensors_get_their_part_of_the_gradient():
    """Learned slopes, sinks and a scale: the parts of all ranks add up to what one process has."""
    plan, tensors = Causal().exchange(40, 3), whole(40)
    shared = {
        name: torch.rand(size, dtype=torch.float64)
        for name, size in (("slopes", 2), ("sinks", 2), ("scale", ()))
    }

    def total(leaves, ranked):
        options = {"scale": leaves["scale"], "bias": DistanceBias(leaves["slopes"])}
        if not ranked:
            return attend(*tensors, Causal(), sinks=leaves["sinks"], **options).square().sum()

        found, _ = run(
            plan, [[x[:, :, held.positions()] for x in tensors] for held in plan.held], lse=True, **options
        )
        return sum(with_sinks(one, leaves["sinks"], 2).out.square().sum() for one in found)

    grads = []
    for ranked in (False, True):
        leaves = {name: x.clone().requires_grad_() for name, x in shared.items()}
        total(leaves, ranked).backward()
        grads.append([x.grad for x in leaves.values()])
    for one, other in zip(*grads, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def test_autocast_decides_what_is_sent():
    plan, tensors = Strided(4).exchange(40, 2), whole(40, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found, world = run(plan, [[x[:, :, held.positions()] for x in tensors] for held in plan.held])
    assert found[0].out.dtype == torch.bfloat16
    assert sum(world[0].mailbox.bytes.values()) == plan.bytes(2 * 16 * 2)


def test_what_needs_no_exchange_is_as_fast_as_alone():
    """Rows that need nothing of others keep their own pattern, and give no normalisers."""
    work = work_of(Strided(back=64).exchange(4096, 4), 1)
    assert [(part.rows, part.own.pattern, part.later is None) for part in work.parts] == [
        (slice(0, 64), Strided(64), False),
        (slice(64, 1024), Strided(64), True),
    ]
    work = work_of(Windowed(128).exchange(4096, 4), 3)
    assert [(part.rows, part.own.pattern, part.later) for part in work.parts] == [
        (slice(0, 1024), Windowed(128), None)
    ]
    for part in work_of(Causal().exchange(4096, 4), 1).parts:  # a zigzag
        assert part.own.pattern == Causal()
        assert part.later.pattern == Full()
    assert work_of(Blocks(4096).exchange(4096, 4), 1).parts[0].own.pattern == Full()
    documents = Documents((1000, 96, 300, 2700)) & Causal()
    assert [str(part.own.pattern) for part in work_of(documents.exchange(4096, 4, "even"), 1).parts] == [
        "causal",
        "documents((300, 652)) & causal",
    ]


def test_what_is_wrong_is_named():
    q, k, v = whole(8)
    a, _ = SimulatedRanks.world(2)
    plan = Causal().exchange(16, 2)
    wrong = [
        ({"pattern": Causal().exchange(16, 3)}, "the plan is for 3 ranks, the mesh has 2"),
        ({"pattern": "causal", "n": 20}, "rank 0 holds 10 of n=20 positions, dealt zigzag; got query"),
        ({"pattern": "causal"}, "n must be given, or a plan"),
        ({"pattern": plan, "n": 17}, "a plan has its own pattern, n and deal"),
        ({"pattern": plan, "is_causal": True}, "a plan has its own pattern, n and deal"),
        (
            {"pattern": plan, "segments": torch.zeros(1, 9)},
            "segments must be integers .* of this rank",
        ),
        ({"pattern": plan, "bias": DistanceBias((1.0,))}, "one slope for each of H=2 heads, got 1 slopes"),
        ({"pattern": plan, "bias": torch.zeros(8, 8)}, "bias must be a DistanceBias .* got Tensor"),
        ({"pattern": plan, "softcap": 0.0}, "softcap must be positive, got softcap=0.0"),
        ({"pattern": plan, "dropout": 1.0}, "dropout must be at least 0 and below 1, got dropout=1.0"),
        ({"pattern": plan, "impl": "fast"}, "impl must be 'auto' or one of"),
        (
            {"pattern": plan, "mesh": 3},
            "mesh must be a torch.distributed DeviceMesh of one",
        ),
        ({"pattern": ["causal"], "n": 16}, "one for each of H=2 heads, got 1"),
    ]
    for given, message in wrong:
        with pytest.raises(ValueError, match=message):
            attend_sharded(q, k, v, **{"mesh": a, **given})
    with pytest.raises(ValueError, match="a rank holds as many queries as keys"):
        attend_sharded(q, k[:, :, :4], v[:, :, :4], plan, mesh=a)
    with pytest.raises(RuntimeError, match="rank 0 waits for rank 1, which has not sent anything"):
        attend_sharded(q, k, v, plan, mesh=a)
    assert plan_of("causal", a, q, 16) is plan_of("causal", a, q, 16)
