"""The decoding kernels in a process of their own, and on a GPU the recorded step against the plain one."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path

import pytest
import torch

from regard.layers import (
    DynamicScaling,
    Gelu,
    LayerNorm,
    Learned,
    PostNorm,
    PreNorm,
    Projections,
    RMSNorm,
    Rotary,
    SwiGLU,
    ZeroCentredRMSNorm,
)
from regard.models import Untied
from regard.models.decode_fused import FusedDecoder, no_fused
from regard.models.decode_int8 import Int8FusedDecoder, rounded
from regard.pattern import Axial, Causal, Strided
from tests.models.test_decode import LINEAR, draw, lively

pytest.importorskip("triton")
CASES = Path(__file__).with_name("decode_interpreted.py")
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def test_kernels_in_the_interpreter():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(CASES)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, env=environment, cwd=CASES.parents[2], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]


COMPILE = """
import inspect, sys, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon._runtime import GluonASTSource
from regard.attention.triton import kernels_decode, kernels_stream

streams = sys.argv[1] == "stream_kernel"
kernel = getattr(kernels_stream if streams else kernels_decode, sys.argv[1])
types, values = eval(sys.argv[2]), eval(sys.argv[3])
names = list(inspect.signature(kernel.fn).parameters)
signature = {name: types.get(name, "constexpr") for name in names}
aligned = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names) if name in types
           and (types[name].startswith("*") or name in ("width", "rows"))}
constants = {(names.index(name),): one for name, one in values.items()}
source = (GluonASTSource if streams else ASTSource)(kernel, signature, constants, aligned)
print(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"])
"""
F, W, L = "*fp32", "*bf16", "*i64"
PROJECT = {
    **{
        "x": F,
        "weight": W,
        "scales": F,
        "bias": W,
        "gamma": W,
        "beta": W,
        "y": F,
        "best": F,
        "best_at": "*i32",
    },
    **{"rows": "i32", "width": "i32", "eps": "fp32"},
}
ATTEND = {
    **{"qkv": F, "key": W, "value": W, "at": L, "mask": "*i8", "slopes": F, "cos": F, "sin": F},
    **{"query_gain": W, "key_gain": W, "out": F},
    **{"part": F, "part_ml": F, "done": "*i32", "size": "i32", "first": "i32", "recent": "i32"},
    **{"scale": "fp32", "eps": "fp32"},
}
SHAPE = {"H": 12, "G": 12, "D": 64, "WIDE": 64, "EACH": 16, "SLOTS": 64, "DOT": True}
TILE = {"TALL": 8, "BLOCK": 1024, "HIGH": 2, "BESIDE": 2, "CHUNKS": 4, "PARTS": 4, "STAGES": 3, "WORD": 8}


@pytest.mark.parametrize(
    ("kernel", "types", "values"),
    [
        (
            "project_kernel",
            PROJECT,
            {"B": 1, "ROWS": 4, "BLOCK": 2048, "CHUNKS": 1, "NORM": "layer", "SCALED": False, "BIAS": True}
            | {"BEND": "gelu tanh", "GATED": False, "ADD": False, "BEST": True, "EARLY": True},
        ),
        (
            "project_kernel",
            PROJECT,
            {"B": 1, "ROWS": 1, "BLOCK": 4096, "CHUNKS": 1, "NORM": "rms", "SCALED": False, "BIAS": False}
            | {"BEND": "silu", "GATED": True, "ADD": False, "BEST": False, "EARLY": True},
        ),
        (
            "attend_kernel",
            ATTEND,
            SHAPE
            | {"SPLITS": 8, "NORM": True, "ROTARY": True, "SLOPES": True, "MASKED": True, "EARLY": True},
        ),
        (
            "stream_kernel",
            PROJECT,
            {**TILE, "EVEN": True, "FINE": True, "NORM": "rms", "SCALED": False, "BIAS": False}
            | {"BEND": "silu", "GATED": True, "ADD": False, "BEST": False, "EARLY": True},
        ),
    ],
    ids=["project", "gated", "attend", "stream"],
)
def test_kernels_compile_for_an_h200_with_wide_loads(kernel, types, values, tmp_path):
    """The compiler needs no GPU; the interpreter forgives what it does not."""
    environment = {key: one for key, one in os.environ.items() if key != "TRITON_INTERPRET"}
    run = subprocess.run(
        [sys.executable, "-c", COMPILE, kernel, repr(types), repr(values)],
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    before, wait, _ = run.stdout.partition("griddepcontrol.wait")
    assert wait
    assert "st.global" not in before  # nothing is written while the kernel in front may still run
    # Sixteen bytes at a time, and the weights are asked for before the wait.
    if kernel == "project_kernel":
        assert run.stdout.count("ld.global.v4") > 8
        assert before.count("ld.global.v4") > 4
    else:
        assert run.stdout.count("cp.async.cg.shared.global [ %r") > 4
        assert ("mma.sync" in run.stdout) == (kernel == "attend_kernel")
    if kernel == "stream_kernel":
        assert before.count("cp.async.cg.shared.global") > 8


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"block": PostNorm()}, "PreNorm"),
        ({"block": PreNorm(norm=ZeroCentredRMSNorm())}, "LayerNorm and RMSNorm"),
        ({"block": PreNorm(projections=Projections(head_norm=LayerNorm()))}, "norm heads by RMSNorm"),
        ({"position": Rotary(fraction=0.5), "head_width": 8}, "turn whole heads"),
        ({"position": Rotary(scaling=DynamicScaling(2.0, 9)), "head_width": 8}, "turn whole heads"),
        ({"pattern": [Causal(), LINEAR]}, "know Softmax, got (Softmax(), LinearAttention())"),
        ({"pattern": Axial(4, 5)}, "geometry"),
    ],
)
def test_what_the_kernels_leave_to_torch(fields, why):
    assert why in no_fused(lively(**fields))


STREAMED = [
    {"width": 1600, "heads": 25, "depth": 2, "position": Learned()},
    {
        **{"width": 4096, "heads": 8, "kv_heads": 2, "head_width": 64, "depth": 1, "position": Rotary()},
        "block": PreNorm(
            norm=RMSNorm(), feedforward=SwiGLU(hidden=14_336), projections=Projections(False, False)
        ),
        "head": Untied(bias=False),
    },
    {"width": 48, "heads": 3, "depth": 2, "block": PreNorm(feedforward=Gelu(hidden=80, tanh=True))},
]


@GPU
@pytest.mark.parametrize("pattern", [Causal(), Strided(back=5), (Strided(back=3), LINEAR)], ids=str)
@pytest.mark.parametrize("batch", [1, 3, 16])
def test_replays_equal_the_plain_way(pattern, batch):
    model = lively(pattern=pattern, context=600, width=64, heads=4).cuda()
    for length in (1, 7, 30):  # one recording serves all three
        prompts = draw(batch, length).cuda()
        want = model.generate(prompts, max_new_tokens=150, impl="plain")
        got = model.generate(prompts, max_new_tokens=150, impl="graph")
        with torch.no_grad():
            best = model(want).topk(2).values
        doubtful = (best[..., 0] - best[..., 1] < 1e-3)[:, length - 1 : -1].any(1)
        assert torch.equal(got[~doubtful], want[~doubtful])
        assert got.shape == want.shape


@GPU
def test_stops_seeds_and_growth_on_a_gpu(monkeypatch):
    monkeypatch.setattr("regard.models.decode_graph.GROWS_BY", 8)
    model = lively(context=600, width=64, heads=4).cuda()
    prompts = [draw(3).cuda(), draw(9, seed=1).cuda()]
    free = model.generate(prompts, max_new_tokens=200)
    stop = free[0][20].item()
    ended = model.generate(prompts, max_new_tokens=200, stop=stop)
    first = (free[0][3:] == stop).nonzero()[0, 0].item() + 3
    assert torch.equal(ended[0][: first + 1], free[0][: first + 1])
    assert (ended[0][first:] == stop).all()
    runs = [
        model.generate(
            prompts,
            max_new_tokens=40,
            temperature=1.0,
            top_k=5,
            generator=torch.Generator("cuda").manual_seed(s),
        )
        for s in (1, 1, 2)
    ]
    assert torch.equal(runs[0][1], runs[1][1])
    assert not torch.equal(runs[0][1], runs[2][1])


@GPU
@pytest.mark.parametrize("batch", [1, 16])
def test_a_window_as_wide_as_the_room_on_a_gpu(batch):
    """512 slots are what the first call has room for, and a ring of 512 must not be taken for a row."""
    model = lively(pattern=Strided(back=511), position=Rotary(), width=64, heads=4, context=4096).cuda()
    for count in (300, 900, 40):
        prompts = draw(batch, 7).cuda()
        got = model.generate(prompts, max_new_tokens=count, impl="graph")
        with torch.no_grad():
            logits = model(got)[:, 6:-1]
        best = logits.topk(2).values
        certain = best[..., 0] - best[..., 1] > 1e-3
        assert torch.equal(logits.argmax(-1)[certain], got[:, 7:][certain])
        assert certain.float().mean() > 0.9


@GPU
def test_threads_that_record_and_replay_on_one_gpu():
    model = lively(pattern=[Strided(back=5), Causal()], context=600, width=64, heads=4).cuda()
    prompts = [draw(1 + i % 3, 3 + i, seed=i).cuda() for i in range(8)]

    def generate(i):
        how = {"temperature": 0.0} if i % 2 else {"temperature": 1.0, "top_k": 3 + i}
        g = torch.Generator("cuda").manual_seed(i)
        return model.generate(prompts[i], max_new_tokens=60 + i, generator=g, impl="graph", **how)

    want = [generate(i) for i in range(8)]
    for _ in range(3):
        with ThreadPoolExecutor(4) as pool:
            for got, alone in zip(pool.map(generate, range(8)), want, strict=True):
                assert torch.equal(got, alone)


@GPU
def test_a_recording_in_inference_mode_serves_later_calls():
    model = lively(context=600, width=64, heads=4).cuda()
    with torch.inference_mode():
        want = model.generate(draw(1, 5).cuda(), max_new_tokens=40, impl="graph").clone()
    assert torch.equal(model.generate(draw(1, 5).cuda(), max_new_tokens=40, impl="graph"), want)


@GPU
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("fields", STREAMED, ids=["gpt2", "llama", "narrow"])
def test_products_that_stream_their_weights(monkeypatch, fields, dtype, int8):
    """Every product of a step by the streaming kernel: odd rows, chunks that do not fill, gates."""
    monkeypatch.setattr("regard.models.decode_fused.STREAMED_FROM", 0)
    model = lively(vocab=701, context=64, **fields).cuda().to(dtype)
    with torch.no_grad():
        for weight in model.parameters():  # as lively as a softmax bears that should not tip over by rounding
            weight.div_(4) if weight.ndim > 1 else None
    twin = rounded(model) if int8 else model
    exact = (rounded(deepcopy(model).float()) if int8 else deepcopy(model)).double()
    decoder = (Int8FusedDecoder if int8 else FusedDecoder)(model, 1, 64)
    assert decoder._streams(decoder.head)
    tokens = draw(1, 24).cuda()
    off = plain = 0.0
    with torch.no_grad():
        decoder.fill(model, list(tokens[:, :8]), None)
        for t in range(8, 24):
            decoder.together = None
            decoder.at += 1
            decoder.token.copy_(tokens[:, t])
            got = decoder.step()[0].double()
            theirs, want = (one(tokens[:, : t + 1])[0, -1].double() for one in (twin, exact))
            off, plain = off + float((got - want).norm()), plain + float((theirs - want).norm())
            assert decoder.best_at[0, decoder.best[0].argmax()] == got.argmax()
    assert off < 1.5 * plain + 1e-5 * want.norm()  # what torch makes of this type is the measure


@GPU
def test_products_keep_their_workspace_for_as_long_as_they_are_replayed():
    """Compiled models clear workspaces; a recording that has gone takes its memory with it."""
    model = lively(context=600, width=1024, heads=8, depth=1, vocab=64).cuda().bfloat16()
    prompts = draw(64, 3).cuda()
    want = model.generate(prompts, max_new_tokens=8, impl="graph").clone()  # recorded with little room
    longer = model.generate(prompts, max_new_tokens=200, impl="graph").clone()  # recorded anew, with more
    assert torch.equal(longer[:, :11], want)
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    taken = [torch.full((1 << 20,), 7, device="cuda") for _ in range(64)]
    assert torch.equal(model.generate(prompts, max_new_tokens=200, impl="graph"), longer)
    assert all((one == 7).all() for one in taken)
