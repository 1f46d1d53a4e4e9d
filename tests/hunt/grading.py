"""Grading whole models put together at random: parts of several styles, other names, one mistake or none.

A right one must get all points. A wrong one must not, and at least 85 % of them must be named right.
"""

import random
import re

import torch
from torch import nn

from regard.grade import grade
from regard.grade.sandbox import Sandbox
from tests.grade.right_modules import (
    CONV,
    FUSED,
    GPT,
    GPT_BUFFER,
    GPT_LOGITS,
    HEADS,
    LOOPED,
    PRE,
    RAW,
    RESHAPED,
    RIGHT_MODULES,
    SDPA,
    TORCH,
    UNFOLD,
    VIT,
    VIT_ALL,
    VIT_PARAM,
)
from tests.grade.wrong_modules import TRANSFORMERS, Edit, wrong_modules
from tests.hunt.found import Found

STACKS = (HEADS, FUSED, SDPA, TORCH, RAW)
PATCHES = (CONV, UNFOLD, RESHAPED, LOOPED)
MODELS = {"vision-transformer": (VIT, VIT_ALL, VIT_PARAM), "dialogue-gpt": (GPT, GPT_BUFFER, GPT_LOGITS)}
UNSEEN = (
    "mask",
    "gradient",
    "batch-as-time",
    "output-normed",
)  # without a mask, or behind the head's own norm
NAMED = 0.85


def hunt(times: int, seed: int) -> Found:
    """So many right ones and as many wrong ones."""
    found, rng = Found(), random.Random(seed)
    every = wrong_modules()
    with Sandbox() as sandbox:
        for _ in range(times):
            task, source = right_one(rng)
            report = grade(task, renamed(source, rng), sandbox=sandbox, seed=rng.randrange(1000))
            found.add(f"right {task}", None if report.right else f"{report}\n{source}")
            task, names, source = wrong_one(rng, every)
            if rng.random() < 0.5:
                source = renamed(source, rng)
            report = grade(task, source, sandbox=sandbox, seed=rng.randrange(1000))
            missed = report.right or report.points == report.most
            named = {one.name for one in report.mistakes} & set(names.split("|"))
            kind = f"wrong {task}{'' if named else ', unnamed'}"
            found.add(kind, f"{names} is not noticed\n{source}" if missed else None)
    unnamed = sum(count for kind, count in found.tried.items() if kind.endswith("unnamed"))
    if unnamed > (1 - NAMED) * times:
        found.faults.append(f"{unnamed} of {times} wrong solutions are not named right")
    return found


def right_one(rng: random.Random) -> tuple[str, str]:
    """A task and a solution of it from random parts."""
    task = rng.choice(list(RIGHT_MODULES))
    if task not in MODELS:
        return task, rng.choice(list(RIGHT_MODULES[task].values()))
    return task, composed(rng, task, rng.choice(STACKS), rng.choice(MODELS[task]))


def composed(rng: random.Random, task: str, stack: str, model: str) -> str:
    """A whole file around a stack of layers."""
    return PRE + stack + (rng.choice(PATCHES) if task == "vision-transformer" else "") + model


def wrong_one(rng: random.Random, every: list[tuple[str, str, str]]) -> tuple[str, str, str]:
    """A task, names and a wrong solution: one of the list, or a model around a stack with a mistake in it."""
    if rng.random() < 0.5:
        return rng.choice(every)
    task = rng.choice(list(MODELS))
    base, edits = rng.choice(TRANSFORMERS)
    names, there, put = rng.choice([one for one in edits if _shows(one)])
    return task, names, composed(rng, task, base.replace(there, put), rng.choice(MODELS[task]))


def _shows(edit: Edit) -> bool:
    names, there, _ = edit
    return not any(word in names for word in UNSEEN) and "return_attn" not in there and "weights" not in names


def renamed(source: str, rng: random.Random) -> str:
    """The source with other names for the parts of its modules."""
    free = {name for name in re.findall(r"self\.(\w+)", source) if len(name) > 2 and not name.isupper()}
    free -= {
        name
        for name in free
        if hasattr(torch.Tensor, name) or hasattr(nn.Module(), name) or hasattr(nn, name)
    }
    free -= {"num_patches", *re.findall(r"def (\w+)", source), *re.findall(r"'(\w+)'", source)}
    for name in sorted(free):
        other = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(6))
        source = re.sub(rf"\.{name}\b", f".{other}", source)
    return source
