"""The peers of attention on a GPU, each in the layout that suits it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from regard.attention import flash
from regard.attention.bands import Band, band_of
from regard.bench.exact import Inputs
from regard.pattern import Blocks, Causal, Full, Pattern, Windowed

VARIANTS = 64  # of FlexAttention in one process
AGREED = 0.02  # of a result's size: bfloat16 by another road, not another pattern


@dataclass(frozen=True)
class Ready:
    """A peer with its own copies of the inputs, ready to be called."""

    call: Callable[[], Tensor]
    inputs: Inputs
    heads_last: bool = False  # B N H D, where ours is B H N D

    def agree(self, ours: Tensor) -> None:
        """Raise if it computes something else than ours."""
        with torch.no_grad():
            out = self.call()
        out = (out.reshape(ours.transpose(1, 2).shape).transpose(1, 2) if self.heads_last else out).float()
        apart = float((out.reshape(ours.shape) - ours.float()).norm() / ours.float().norm())
        if not apart < AGREED:
            raise ValueError(f"its result is {apart:.2g} away from ours, allowed {AGREED}")


Peer = Callable[[], Ready]
Foreign = Any  # what a library without types makes


def peers(pattern: Pattern, inputs: Inputs, alone: Lock) -> Iterator[tuple[str, Peer]]:
    """Each peer that knows the pattern, and how it is made ready; what fills the GPU is done `alone`."""
    n = inputs[0].shape[2]
    yield "FlexAttention, Triton", partial(_flex, pattern, inputs, "TRITON", alone)
    if flash.installed():
        yield "FlexAttention, FLASH", partial(_flex, pattern, inputs, "FLASH", alone)
        if (words := flash.told(pattern, n, n)) is not None:
            yield "FlashAttention-4", partial(_flash, *words, inputs)
    band = band_of(pattern)
    plain = band is not None and band.back is not None and band == Band(causal=True, back=band.back)
    if band is not None and band.back is not None and plain and find_spec("cudnn") is not None:
        yield "cuDNN, band", partial(_cudnn, band.back, inputs)
    if pattern in (Causal(), Full()):
        causal = pattern == Causal()
        yield "SDPA", lambda: Ready(lambda: sdpa(*inputs, is_causal=causal), inputs)
    if isinstance(pattern, Windowed | Blocks) and n % pattern.size == 0:
        yield "SDPA, folded", partial(_folded, pattern.size, isinstance(pattern, Windowed), inputs)


def _leaves(inputs: Inputs, change: Callable[[Tensor], Tensor]) -> Inputs:
    q, k, v = (change(x.detach()).contiguous().requires_grad_() for x in inputs)
    return q, k, v


def _folded(size: int, causal: bool, inputs: Inputs) -> Ready:
    """What a user would write: windows as extra batch."""
    q, k, v = _leaves(inputs, lambda x: x.reshape(x.shape[0] * x.shape[1], -1, size, x.shape[3]))
    return Ready(lambda: sdpa(q, k, v, is_causal=causal), (q, k, v))


@cache
def flex_attention() -> tuple[Foreign, Foreign]:
    """FlexAttention as its users run it: what makes a block mask, and the compiled call."""
    flex = import_module("torch.nn.attention.flex_attention")
    return flex.create_block_mask, torch.compile(flex.flex_attention, dynamic=False)


def _flex(pattern: Pattern, inputs: Inputs, backend: str, alone: Lock) -> Ready:
    """Compiled, with its own block mask."""
    from regard.attention.flex import mask_mod

    create, attend = flex_attention()
    n = inputs[0].shape[2]
    with alone:
        mask = create(mask_mod(pattern, n, n, "cuda"), None, None, n, n, device="cuda")
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    options = {"kernel_options": {"BACKEND": backend}} if backend != "TRITON" else {}

    def call() -> Tensor:
        with torch._dynamo.config.patch(recompile_limit=VARIANTS, fail_on_recompile_limit_hit=True):
            out: Tensor = attend(*inputs, block_mask=mask, **options)
            return out

    return Ready(call, inputs)


def _flash(window: dict[str, int], lengths: tuple[int, ...] | None, inputs: Inputs) -> Ready:
    """FlashAttention-4 by its own functions: a window, documents packed, equal documents as a batch."""
    cute = import_module("flash_attn.cute.interface")
    B, _, n, _ = inputs[0].shape
    given: dict[str, object] = {"causal": window.get("causal", False)}
    if "window_size_left" in window:
        given["window_size"] = (window["window_size_left"], window["window_size_right"])
    if lengths is None or len(set(lengths)) == 1:
        size = n if lengths is None else lengths[0]
        leaves = _leaves(
            inputs, lambda x: x.transpose(1, 2).reshape(B * n // size, size, x.shape[1], x.shape[3])
        )
        return Ready(lambda: cute.flash_attn_func(*leaves, **given)[0], leaves, True)
    ends = torch.tensor(lengths, dtype=torch.int32).repeat(B).cumsum(0, dtype=torch.int32)
    starts = torch.nn.functional.pad(ends, (1, 0)).cuda()
    packed = _leaves(inputs, lambda x: x.transpose(1, 2).flatten(0, 1))
    given |= {"cu_seqlens_q": starts, "cu_seqlens_k": starts}
    given |= {"max_seqlen_q": max(lengths), "max_seqlen_k": max(lengths)}
    return Ready(lambda: cute.flash_attn_varlen_func(*packed, **given)[0], packed, True)


def _cudnn(back: int, inputs: Inputs) -> Ready:
    """cuDNN's own graph of attention with a band, forward and backward."""
    leaves = _leaves(inputs, lambda x: x)
    run = _CudnnBand(back, leaves)
    return Ready(lambda: _CudnnCall.apply(run, *leaves), leaves)


class _CudnnBand:
    """Two graphs, built for one shape."""

    def __init__(self, back: int, inputs: Inputs) -> None:
        self.cudnn = cudnn = import_module("cudnn")
        self.handle = cudnn.create_handle()
        B, H, n, D = inputs[0].shape
        self.options = {
            "attn_scale": 1 / math.sqrt(D),
            "diagonal_alignment": cudnn.diagonal_alignment.TOP_LEFT,
            "diagonal_band_left_bound": back + 1,
            "diagonal_band_right_bound": 0,
        }
        self.lse = torch.empty(B, H, n, 1, device="cuda", dtype=torch.float32)
        self.ahead = self._forward(inputs)
        self.back = self._backward(inputs)

    def _graph(self) -> Foreign:
        kinds = self.cudnn.data_type
        return self.cudnn.pygraph(
            io_data_type=kinds.BFLOAT16, intermediate_data_type=kinds.FLOAT, compute_data_type=kinds.FLOAT,
            handle=self.handle,
        )  # fmt: skip

    def _built(self, graph: Foreign) -> Callable[[dict[Foreign, Tensor]], None]:
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([self.cudnn.heur_mode.A, self.cudnn.heur_mode.FALLBACK])
        graph.check_support()
        graph.build_plans()
        space = torch.empty(max(1, graph.get_workspace_size()), device="cuda", dtype=torch.uint8)
        return lambda given: graph.execute(given, space, handle=self.handle)

    def _forward(self, inputs: Inputs) -> tuple[Foreign, list[Foreign]]:
        graph = self._graph()
        q, k, v = (graph.tensor_like(x.detach()) for x in inputs)
        out, stats = graph.sdpa(q=q, k=k, v=v, generate_stats=True, **self.options)
        like = inputs[0]
        out.set_output(True).set_dim(list(like.shape)).set_stride(list(like.stride()))
        stats.set_output(True).set_data_type(self.cudnn.data_type.FLOAT)
        return self._built(graph), [q, k, v, out, stats]

    def _backward(self, inputs: Inputs) -> tuple[Foreign, list[Foreign]]:
        graph = self._graph()
        q, k, v = (graph.tensor_like(x.detach()) for x in inputs)
        out, grad = (graph.tensor_like(inputs[0].detach()) for _ in range(2))
        stats = graph.tensor_like(self.lse)
        found = graph.sdpa_backward(q=q, k=k, v=v, o=out, dO=grad, stats=stats, **self.options)
        for one, like in zip(found, inputs, strict=True):
            one.set_output(True).set_dim(list(like.shape)).set_stride(list(like.stride()))
        return self._built(graph), [q, k, v, out, grad, stats, *found]


class _CudnnCall(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Foreign, run: _CudnnBand, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out = torch.empty_like(q)
        execute, names = run.ahead
        execute(dict(zip(names, (q.detach(), k.detach(), v.detach(), out, run.lse), strict=True)))
        ctx.run = run
        ctx.save_for_backward(q, k, v, out)
        return out

    @staticmethod
    def backward(ctx: Foreign, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out = ctx.saved_tensors
        found = [torch.empty_like(x) for x in (q, k, v)]
        execute, names = ctx.run.back
        execute(dict(zip(names, (q, k, v, out, grad, ctx.run.lse, *found), strict=True)))
        return None, *found
