"""Files of a user's own, as the tests write them, and fresh processes that meet them."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

NETS = """
from dataclasses import dataclass
from torch import nn
from regard.pattern import Atom

def small():
    layers = nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 10)
    return nn.Sequential(nn.Flatten(), *layers)

def other(generator):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

def asking(image, classes):
    rows, cols = image
    return nn.Sequential(nn.Flatten(), nn.Linear(rows * cols, classes))

def needy(width, depth):
    return nn.Linear(width, depth)

def number():
    return 3

def raising():
    raise KeyError("no such thing")

def wrong_size():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 7))

def weightless():
    return nn.Flatten()

@dataclass(frozen=True)
class Wide:
    width: int = 12
    def build(self):
        return nn.Sequential(nn.Flatten(), nn.Linear(64, self.width), nn.ReLU(), nn.Linear(self.width, 10))

@dataclass(frozen=True)
class Around(Atom):
    reach: int
    def allows(self, q, k):
        return (q - k <= self.reach) & (k - q <= self.reach)
"""

READERS = """
import torch
from dataclasses import dataclass
from torch import nn

class Reader(nn.Module):
    def __init__(self, vocab, out, width=16):
        super().__init__()
        self.table, self.out = nn.Embedding(vocab, width), nn.Linear(width, out)
        self.rnn, self.drop = nn.GRU(width, width, batch_first=True), nn.Dropout(0.1)

    def read(self, tokens):
        return self.rnn(self.drop(self.table(tokens)))[0]

class Writer(Reader):
    def forward(self, tokens):
        return self.out(self.read(tokens)), "and more"

class Judge(Reader):
    def forward(self, tokens, mask=None):
        x = self.read(tokens)
        mask = torch.ones_like(tokens) if mask is None else mask
        return self.out((x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))

class Backward(Writer):
    def forward(self, tokens):
        return super().forward(tokens.flip(1))[0].flip(1)

class Tied(Writer):
    def __init__(self, vocab):
        super().__init__(vocab, vocab)
        self.out.weight = self.table.weight

@dataclass(frozen=True)
class Deep:
    width: int = 8
    context: int = 12
    def build(self, vocab, generator):
        return Writer(vocab, vocab, self.width)

def writer(vocab):
    return Writer(vocab, vocab)

def tied(vocab, context):
    return Tied(vocab)

def judge(vocab, classes):
    return Judge(vocab, classes)

def backward(vocab):
    return Backward(vocab, vocab)

def narrow(vocab):
    return Writer(vocab, 3)

def deaf(vocab):
    return nn.Linear(vocab, vocab)
"""

RECIPE = """
from {nets} import {model}
from regard.data import Augment
from regard.train import Checks, ClassifyImages, Recipe

def recipe():
    task = ClassifyImages(data="digits", model={model}, augment=Augment(classes=10, mean=(0.3,), std=(0.4,)))
    checks = Checks(save_every=4, validate_every=4, ema=0.9)
    return Recipe(name="mine", task=task, batch=16, steps=8, checks=checks)
"""


def wrote(folder: Path, model: str = "small", nets: str = "own_nets", recipe: str = "own_recipe") -> Path:
    """A recipe and its models beside it."""
    (folder / f"{nets}.py").write_text(NETS, encoding="utf-8")
    path = folder / f"{recipe}.py"
    path.write_text(RECIPE.format(model=model, nets=nets), encoding="utf-8")
    return path


def fresh(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command `regard` in a process of its own, from a folder."""
    env = os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"} | environment
    code = "from regard.cli.main import run; run()"
    # As the installed command: without the current directory that -c would add.
    command = [sys.executable, "-P", "-c", code, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
