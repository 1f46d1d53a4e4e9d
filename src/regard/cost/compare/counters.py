"""The same model through the counters in use, beside the true value, and why each differs."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from importlib import import_module

import torch
from torch import Tensor, nn

from regard.cost.executed import executed
from regard.cost.result import Cost
from regard.errors import how_to_install

EXTRA = "compare"
NEAR = 0.02  # of a landmark: elementwise work on top of it
RECURRENT = ("rnn", "grid_rnn", "linear_rnn")
TWICE = "takes 2 per multiply: k adds for k terms, none for biases and residuals"
WORKS = {
    "torch FlopCounterMode": "it has no formula for in-place products and fused CPU kernels",
    "fvcore": "it counts the operations of a trace for which it has a handle",
    "torchinfo": "it takes a module's weights times its outputs' places, and knows few modules",
    "calflops": "it replaces functions of torch, and what is called another way escapes it",
    "ptflops": "it hooks modules and replaces functions, and what is called another way escapes it",
    "thop": "it hooks the modules it knows; attention and weights of one's own are not among them",
}


@dataclass(frozen=True)
class Reading:
    """What one tool says of one model; `flops` are its own, a multiply-add of its MACs taken as two."""

    tool: str
    flops: int | None
    parameters: int | None
    ratio: float | None
    why: str


@dataclass(frozen=True)
class CounterComparison:
    """One model: the true counts, and every tool's."""

    model: str
    flops: int
    macs: int
    parameters: int
    readings: tuple[Reading, ...]

    def as_dict(self) -> dict[str, object]:
        """Every count by its name, as JSON can hold it."""
        return asdict(self)


Found = tuple[float | None, float | None]  # flops, parameters


def compare(name: str, model: nn.Module, *inputs: Tensor) -> CounterComparison:
    """Ask every tool; one that is not installed or fails says so in its line.

    >>> found = compare("a layer", nn.Linear(8, 4), torch.zeros(3, 8))
    >>> found.flops, found.parameters, found.readings[0].tool
    (192, 36, 'torch FlopCounterMode')
    """
    model = deepcopy(model).eval()  # tools hang hooks and buffers into what they count
    with torch.no_grad():
        true = executed(model, *inputs)
    parameters = sum(weight.numel() for weight in model.parameters())
    known = landmarks(true, parameters)
    readings = []
    for tool, (module, ask) in TOOLS.items():
        try:
            with _quiet():
                import_module(module)
                flops, count = ask(model, inputs)
        except ModuleNotFoundError as error:
            why = f"not installed: {how_to_install(EXTRA)}" if error.name == module else str(error)
            readings.append(Reading(tool, None, None, None, why))
            continue
        except Exception as error:
            lines = str(error).strip().splitlines()
            why = f"fails: {type(error).__name__}: {lines[0][:90] if lines else ''}".rstrip(": ")
            readings.append(Reading(tool, None, None, None, why))
            continue
        finally:
            _clean(model)
        whole = None if flops is None else round(flops)
        held = None if count is None else round(count)
        why = explain(tool, whole, known)
        if held is not None and held != parameters:
            why += f"; {abs(held - parameters):,} parameters too {'few' if held < parameters else 'many'}"
        ratio = None if whole is None else whole / true.flops
        readings.append(Reading(tool, whole, held, ratio, why))
    return CounterComparison(name, true.flops, true.macs, parameters, tuple(readings))


def landmarks(true: Cost, parameters: int) -> dict[str, int]:
    """Counts that a wrong counter can arrive at, with the reason: the first that fits is told."""
    by_name = dict(true.parts)
    mixing = [part for part in by_name.values() if part.pairs]
    attention = sum(part.macs for part in mixing)
    dense = sum(part.macs * part.computed_pairs // part.pairs for part in mixing)
    recurrent = sum(by_name[name].macs for name in RECURRENT if name in by_name)
    written_out = sum(by_name[name].macs for name in ("mm", "bmm") if name in by_name)
    out = {"exact": true.flops, TWICE: 2 * true.macs}
    if recurrent:
        out["misses the recurrence"] = 2 * (true.macs - recurrent)
    if attention:
        out["misses attention"] = 2 * (true.macs - attention)
        if written_out:
            rest = true.macs - attention - written_out
            out["misses attention and the tied head: only Linear layers are seen"] = 2 * rest
        if dense != attention:
            out["ignores the pattern: all N² pairs"] = 2 * (true.macs - attention + dense)
    out["counts each weight once, not once per token or cell"] = 2 * parameters
    return {**out, "sees nothing": 0}


def explain(tool: str, found: int | None, known: dict[str, int]) -> str:
    """The reason for a value: the landmark that it equals, or nearly equals, or else how the tool works."""
    if found is None:
        return "gives no count"
    for why, value in known.items():
        if found == value:
            return f"{why}: {WORKS[tool]}" if value == 0 else why
    if "misses the recurrence" in known and found < NEAR * known["exact"]:
        return f"misses the recurrence: {WORKS[tool]}"
    near = min((why for why in known if known[why]), key=lambda why: abs(known[why] - found))
    off = (found - known[near]) / known[near]
    if abs(off) > NEAR:
        missed = "counts a part of the recurrence" if "misses the recurrence" in known else "counts a part"
        return f"{missed if found < known['exact'] else 'counts more than there is'}: {WORKS[tool]}"
    more = f"elementwise work adds {off:.2%}" if off > 0 else f"{-off:.2%} less"
    return more if near == "exact" else f"{near}; {more}"


def _torch(model: nn.Module, inputs: tuple[Tensor, ...]) -> Found:
    with torch.no_grad(), import_module("torch.utils.flop_counter").FlopCounterMode(display=False) as mode:
        model(*inputs)
    return mode.get_total_flops(), None


def _fvcore(model: nn.Module, inputs: tuple[Tensor, ...]) -> Found:
    fvcore = import_module("fvcore.nn")
    found = (
        fvcore.FlopCountAnalysis(model, inputs)
        .unsupported_ops_warnings(False)
        .uncalled_modules_warnings(False)
    )
    return 2 * found.total(), fvcore.parameter_count(model)[""]  # its flops are multiply-adds


def _torchinfo(model: nn.Module, inputs: tuple[Tensor, ...]) -> Found:
    found = import_module("torchinfo").summary(model, input_data=list(inputs), verbose=0)
    return 2 * found.total_mult_adds, found.total_params


def _calflops(model: nn.Module, inputs: tuple[Tensor, ...]) -> Found:
    found = import_module("calflops").calculate_flops(
        model, args=list(inputs), print_results=False, print_detailed=False, output_as_string=False
    )
    return found[0], found[2]


def _ptflops(model: nn.Module, inputs: tuple[Tensor, ...]) -> Found:
    code = type(model).forward.__code__
    names = code.co_varnames[1 : code.co_argcount]
    macs, count = import_module("ptflops").get_model_complexity_info(
        model,
        (1,),
        input_constructor=lambda _: dict(zip(names, inputs, strict=False)),
        as_strings=False,
        print_per_layer_stat=False,
        verbose=False,
    )
    return (None if macs is None else 2 * macs), count


def _thop(model: nn.Module, inputs: tuple[Tensor, ...]) -> Found:
    macs, count = import_module("thop").profile(model, inputs=inputs, verbose=False)
    return 2 * macs, count


TOOLS: dict[str, tuple[str, Callable[[nn.Module, tuple[Tensor, ...]], Found]]] = {
    "torch FlopCounterMode": ("torch.utils.flop_counter", _torch),
    "fvcore": ("fvcore.nn", _fvcore),
    "torchinfo": ("torchinfo", _torchinfo),
    "calflops": ("calflops", _calflops),
    "ptflops": ("ptflops", _ptflops),
    "thop": ("thop", _thop),
}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Tools print, warn and log; their counts are all that is asked for."""
    before = logging.root.manager.disable
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(before)


def _clean(model: nn.Module) -> None:
    """Take off hooks and buffers that a tool left behind, so that the next one sees the model itself."""
    for module in model.modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
        for name in ("total_ops", "total_params"):
            module._buffers.pop(name, None)
