"""`choose` says in one sentence what "auto" runs, and "auto" runs it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from importlib import import_module
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.attention import BACKENDS, Choice, DistanceBias, attend, choose, engine, flash
from regard.attention.engine import MODULES
from regard.attention.triton import hopper
from regard.pattern import (
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Pattern,
    SparseFixed,
    Strided,
    Windowed,
)
from tests.attention.matching import COMPOSITE, Inputs, inputs

BIAS = torch.zeros(600, 600)

CASES: list[tuple[Any, dict[str, Any], str, str]] = [
    (Full(), {}, "sdpa", "knows full attention"),
    (Full(), {"n": (900, 600)}, "sdpa", "knows full attention"),
    (Causal(), {}, "sdpa", "knows the causal triangle"),
    (Causal(), {"n": (1, 600)}, "sdpa", "knows the causal triangle"),
    (Windowed(size=32), {}, "folded", "fold into the batch"),
    (Blocks(size=32), {}, "folded", "fold into the batch"),
    (Dilated(back=30, step=20), {}, "folded", "fold into the batch"),
    (Dilated(back=3, step=4), {}, "chunked", "a stretch of keys per chunk"),
    (Strided(back=32), {"n": 400}, "gathered", "masks of so few tiles are kept"),
    (Strided(back=32), {}, "chunked", "a stretch of keys per chunk"),
    (Causal() & Strided(back=32), {}, "chunked", "a stretch of keys per chunk"),
    (Strided(back=32), {"n": (500, 600)}, "chunked", "a stretch of keys per chunk"),
    (Strided(back=32), {"bias": DistanceBias((1.0, 0.5))}, "chunked", "a stretch of keys per chunk"),
    (Dilated(back=3, step=4), {"segments": True}, "chunked", "a stretch of keys per chunk"),
    (Strided(back=32), {"n": 64}, "sdpa", "so few pairs"),
    (Global(first=4), {"n": 2000}, "gathered", r"only \d+% of the tiles hold allowed pairs"),
    (Windowed(size=32), {"segments": True}, "gathered", r"only \d+% of the tiles"),
    (SparseFixed(stride=300, summary=1), {"n": 2000}, "gathered", r"only \d+% of the tiles"),
    (Neighbourhood(20, 30, 2), {}, "gathered", r"only \d+% of the tiles"),
    (Documents((100,) * 6), {}, "gathered", r"only \d+% of the tiles"),
    (COMPOSITE, {"n": 2000}, "gathered", r"only \d+% of the tiles"),
    (~Strided(back=32), {}, "sdpa", r"100% of the tiles hold allowed pairs, so a dense mask wastes little"),
    (Full(), {"segments": True}, "packed", "each document of a row"),
    (Causal(), {"segments": True}, "packed", "each document of a row"),
    (Strided(back=32), {"bias": BIAS}, "sdpa", "a bias tensor is dense already"),
    (Strided(back=32), {"bias": BIAS.clone().requires_grad_()}, "sdpa", "a bias tensor is dense already"),
    (Strided(back=32), {"bias": BIAS, "softcap": 5.0}, "reference", "takes a bias tensor and softcap"),
    (Strided(back=32), {"dropout": 0.1}, "chunked", "a stretch of keys per chunk"),
    (Strided(back=32), {"softcap": 5.0, "return_lse": True}, "chunked", "a stretch of keys per chunk"),
    (Strided(back=32), {"sinks": torch.zeros(2)}, "chunked", "a stretch of keys per chunk"),
    (Causal(), {"dropout": 0.1, "n": 2000}, "gathered", r"tiles hold allowed pairs"),
    (Strided(back=32), {"mask": BIAS == 0}, "sdpa", "a mask is dense already"),
    (Strided(back=32), {"n": (1, 600)}, "slots", "few queries over the slots of a cache"),
    (Strided(back=32), {"n": (500, 600), "offset": 20}, "sdpa", "an offset of each row moves the tiles"),
    (Strided(back=32), {"n": (100, 600), "offset": 20}, "slots", "few queries over the slots"),
    ([Causal(), Strided(back=32)], {}, "sdpa, chunked", "triangle; a band needs"),
    (Strided(back=32), {"return_weights": True}, "reference", "only the definition returns weights"),
    (Windowed(size=32), {"n": 0}, "sdpa", "there is nothing to compute"),
    (Windowed(size=32), {"n": (0, 9)}, "sdpa", "there is nothing to compute"),
]


def taken_apart(options: dict[str, Any]) -> tuple[Inputs, dict[str, Any]]:
    options = dict(options)
    n = options.pop("n", 600)
    if "segments" in options:
        options["segments"] = torch.zeros(1, n, dtype=torch.int64)
    return inputs(n, D=4, E=4), options


@pytest.mark.parametrize(("pattern", "options", "impl", "why"), CASES, ids=lambda x: str(x)[:40])
def test_what_a_cpu_runs(pattern: Pattern, options: dict[str, Any], impl: str, why: str) -> None:
    (query, key, value), options = taken_apart(options)
    choice = choose(query, key, pattern, value=value, **options)
    assert choice.impl == impl
    assert_sentence(choice, why)


def assert_sentence(choice: Choice, why: str) -> None:
    assert set(choice.impl.split(", ")) <= set(BACKENDS)
    assert re.search(why, choice.why), choice.why
    assert "\n" not in choice.why
    assert not choice.why.endswith(".")
    assert len(choice.why) < 130


@pytest.mark.parametrize(("pattern", "options", "impl", "why"), CASES, ids=lambda x: str(x)[:40])
def test_auto_runs_what_it_says(
    pattern: Pattern, options: dict[str, Any], impl: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    xs, options = taken_apart(options)
    calls: list[str] = []

    def spy(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            calls.append(name)
            return run(*arguments)

        return wrapped

    for name in BACKENDS:
        module = import_module(f"regard.attention.{MODULES.get(name, name)}")
        monkeypatch.setattr(module, "attend", spy(name, module.attend))
    attend(*xs, pattern, **options)
    assert calls[0] == impl.split(", ", maxsplit=1)[0]  # a backend may call another one after


def test_each_backend_has_a_sentence_and_a_module() -> None:
    for name, text in BACKENDS.items():
        module = import_module(f"regard.attention.{MODULES.get(name, name)}")
        assert callable(module.attend)
        assert text


def test_a_choice_is_a_value() -> None:
    x = torch.zeros(1, 1, 8, 4)
    choice = choose(x, x, Full())
    assert choice == choose(x, x)
    assert choice.as_dict() == {"impl": "sdpa", "why": choice.why}
    with pytest.raises(FrozenInstanceError):
        choice.impl = "flex"  # type: ignore[misc]


CUDA: list[tuple[Pattern, dict[str, Any], str]] = [
    (Full(), {}, "sdpa"),
    (Causal(), {}, "sdpa"),
    (Windowed(size=256), {}, "folded"),
    (Strided(back=256), {}, "triton"),
    (Strided(back=256), {"bias": DistanceBias((1.0, 0.5))}, "triton"),
    (Causal(), {"segments": True}, "triton"),
    (Dilated(back=8, step=4), {}, "triton"),
    (COMPOSITE, {}, "triton"),
    (COMPOSITE, {"dtype": torch.float16}, "triton"),
    (COMPOSITE, {"dtype": torch.float32}, "triton"),
    (COMPOSITE, {"dtype": torch.float64}, "reference"),
    (Strided(back=256), {"D": 512}, "sdpa"),
]


@pytest.mark.parametrize(("pattern", "options", "impl"), CUDA, ids=lambda x: str(x)[:40])
def test_what_a_gpu_would_run(pattern: Pattern, options: dict[str, Any], impl: str) -> None:
    """On tensors without memory, so that no GPU is needed to ask."""
    options = dict(options)
    with FakeTensorMode():
        D, dtype = options.pop("D", 64), options.pop("dtype", torch.bfloat16)
        x = torch.empty(1, 2, 1024, D, dtype=dtype, device="cuda")
        if "segments" in options:
            options["segments"] = torch.empty(1, 1024, dtype=torch.int64, device="cuda")
        choice = choose(x, x, pattern, **options)
    assert choice.impl == impl
    assert_sentence(choice, "widths up to 256, got D=512" if D == 512 else "")


FLASH: list[tuple[Pattern, int, int, int, str]] = [  # pattern, n, width, batch, what runs
    (Causal(), 16_384, 64, 1, "flash"),
    (Causal(), 256, 64, 1, "sdpa"),  # over before it would have started
    (Strided(back=256), 65_536, 64, 1, "mixed"),
    (Strided(back=4096), 65_536, 64, 1, "flash"),
    (Strided(back=256), 65_536, 128, 1, "flash"),
    (Strided(back=128), 65_536, 128, 2, "mixed"),
    (Strided(back=128), 1024, 64, 4, "triton"),
    (Windowed(size=256), 65_536, 64, 1, "folded"),
    (Documents((40_000, 25_536)), 65_536, 64, 1, "flash"),
    (Documents((40_000, 25_536)) & Causal(), 65_536, 64, 1, "flash"),
    (COMPOSITE, 65_536, 64, 1, "triton"),
]


@pytest.fixture
def with_flash(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a Hopper GPU where flash-attn-4 is installed."""
    monkeypatch.setattr(flash, "installed", lambda: True)
    monkeypatch.setattr(flash, "_capability", lambda device: 9)
    engine.chosen.cache_clear()
    yield
    engine.chosen.cache_clear()


@pytest.mark.usefixtures("with_flash")
@pytest.mark.parametrize(("pattern", "n", "width", "batch", "impl"), FLASH, ids=str)
def test_where_flash_attention_is_installed(
    pattern: Pattern, n: int, width: int, batch: int, impl: str
) -> None:
    with FakeTensorMode():
        x = torch.empty(batch, 16, n, width, dtype=torch.bfloat16, device="cuda")
    choice = choose(x, x, pattern)
    assert choice.impl == impl
    assert_sentence(choice, "")


def test_long_documents_are_apart_where_it_is_not() -> None:
    with FakeTensorMode():
        x = torch.empty(1, 16, 65_536, 64, dtype=torch.bfloat16, device="cuda")
    assert choose(x, x, Documents((40_000, 25_536)) & Causal()).impl == "folded"
    assert choose(x, x, Documents((1024,) * 64)).impl == "triton"


HOPPER: list[tuple[Pattern, dict[str, Any], str]] = [
    (Strided(back=4096), {}, "hopper"),
    (Strided(back=256), {}, "triton"),  # rows too short
    (Strided(back=4096), {"D": 128}, "triton"),  # no number for this width
    (Strided(back=4096), {"dtype": torch.float32}, "triton"),
    (Strided(back=4096), {"bias": DistanceBias((1.0,) * 16)}, "triton"),
    (COMPOSITE, {}, "triton"),
    (Causal(), {}, "sdpa"),
]


@pytest.mark.parametrize(("pattern", "options", "impl"), HOPPER, ids=lambda x: str(x)[:40])
def test_where_the_gluon_kernel_is_ahead(
    pattern: Pattern, options: dict[str, Any], impl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hopper, "_machine", lambda device: None)
    monkeypatch.setattr(engine, "MANY_KEYS", {64: 2000})
    engine.chosen.cache_clear()
    options = dict(options)
    D, dtype = options.pop("D", 64), options.pop("dtype", torch.bfloat16)
    with FakeTensorMode():
        x = torch.empty(1, 16, 32_768, D, dtype=dtype, device="cuda")
        choice = choose(x, x, pattern, **options)
    engine.chosen.cache_clear()
    assert choice.impl == impl
    assert_sentence(choice, "by our Gluon kernel" if impl == "hopper" else "")


@pytest.mark.parametrize(
    ("pattern", "sizes", "why"),
    [
        (Strided(back=9), {"D": 80, "E": 80}, "it knows widths of 64 and 128, got D=80, E=80"),
        (Full(), {"n": (900, 600)}, "no more queries than keys, got 900 and 600"),
        (Strided(back=9), {"dtype": torch.float32}, "it knows bfloat16 and float16, got torch.float32"),
        (COMPOSITE, {}, "one stretch of keys for each query"),
        (Dilated(back=9, step=4), {}, "one stretch of keys for each query"),
    ],
)
def test_what_the_gluon_kernel_refuses(
    pattern: Pattern, sizes: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hopper, "_machine", lambda device: None)
    sizes = {"n": 600, "D": 64, "E": 64, "dtype": torch.bfloat16} | sizes
    with pytest.raises(ValueError, match=f"impl='hopper' cannot: .*{why}"):
        attend(*inputs(sizes.pop("n"), **sizes), pattern, impl="hopper")


def test_a_device_without_kernels_of_ours() -> None:
    x = torch.empty(1, 1, 64, 4, device="meta")
    assert choose(x, x, Strided(back=3)) == Choice(
        "sdpa", "on meta torch's kernel with a dense mask is what runs"
    )
    for impl, why in {
        "chunked": "it runs on a CPU, the query is on meta",
        "gathered": "it runs on a CPU, the query is on meta",
        "flex": "it has no backward on a CPU, the query is on meta",
    }.items():
        with pytest.raises(ValueError, match=f"impl='{impl}' cannot: {why}"):
            attend(x, x, x, Strided(back=3), impl=impl)


@pytest.mark.parametrize("pattern", [Strided(back=256), COMPOSITE, Dilated(back=3, step=4)], ids=str)
def test_without_triton_something_else_runs(pattern: Pattern, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.attention.triton import tiles

    monkeypatch.setattr(tiles, "installed", lambda: False)
    engine.chosen.cache_clear()
    with FakeTensorMode():
        x = torch.empty(1, 2, 1000, 64, dtype=torch.bfloat16, device="cuda")
        choice = choose(x, x, pattern)
        assert choice.impl == "sdpa"
        assert_sentence(choice, "triton is not installed")
        with pytest.raises(ValueError, match="impl='triton' cannot: triton is not installed"):
            attend(x, x, x, pattern, impl="triton")
    engine.chosen.cache_clear()


def test_grouped_heads_in_float32_are_not_left_to_torchs_quadratic_path() -> None:
    with FakeTensorMode():
        q, k = (torch.empty(1, heads, 4096, 64, device="cuda") for heads in (8, 2))
        assert choose(q, k, Causal()).impl == "triton"
        assert choose(q.bfloat16(), k.bfloat16(), Causal()).impl == "sdpa"
