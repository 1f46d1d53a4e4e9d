"""CONTRIBUTING.md is true: what it says about adding things is done in a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.pattern import Atom, Causal, Pattern, check_pattern

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

AROUND = """
from dataclasses import dataclass

from regard.pattern.base import Atom


@dataclass(frozen=True)
class Around(Atom):
    reach: int

    def allows(self, q, k):
        return (q - k <= self.reach) & (k - q <= self.reach)
"""
# Step 3 on top of it: the hooks that the first version of this text named, and others.
HOOKS = """
    monotone = True

    def spans(self, q, m):
        return [Span(q - self.reach, q + self.reach + 1)]

    def tile_key(self, q0, k0, size):
        return [(q0 - k0).clamp(-self.reach - size, self.reach + size)]

    def kept(self):
        return CacheBound(recent=self.reach + 1)
"""
TWICE = """
from dataclasses import dataclass

from torch import nn

from regard.layers.shapes import LinearShape, ModelShape, tree


@dataclass(frozen=True, kw_only=True)
class TwiceConfig:
    width: int = 6

    def shapes(self):
        layer = LinearShape(inputs=self.width, outputs=self.width)
        return ModelShape(tree({"first": layer, "second": layer}))


class Twice(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.first, self.second = (nn.Linear(config.width, config.width) for _ in range(2))

    def forward(self, x):
        return self.second(self.first(x))
"""
STRIPES = """

def _stripes() -> Images:
    labels = torch.arange(64) % 2
    images = torch.zeros(64, 1, 4, 4, dtype=torch.uint8)
    images[labels == 0, :, ::2] = 200
    images[labels == 1, :, :, ::2] = 200
    return Images("stripes", ("across", "down"), Pictures(images, labels), Pictures(images, labels))


"""
RECIPE = '''"""Stripes told apart.

Command: regard train stripes-mlp
Hardware: any
Minutes: none
Score: measured: not yet
"""

from regard.data import Augment
from regard.models import MLPConfig
from regard.train import ClassifyImages, Recipe


def recipe():
    model = MLPConfig(image=4, classes=2, widths=(8,))
    task = ClassifyImages(data="stripes", model=model, augment=Augment(classes=2, mean=(0.4,), std=(0.4,)))
    return Recipe(name="stripes-mlp", task=task, batch=8, steps=60)
'''
KERNEL = """
from regard.attention import reference
from regard.attention.problem import Attended


def refuses(form):
    return "it takes CPUs alone" if form.device.type == "cuda" else form.asks_beyond()


def attend(problem):
    return Attended(reference.attend(problem).out)
"""
TRIED = """
import sys, torch
import regard
from regard.attention import attend
from regard.cli.main import main
from regard.cost import executed, price
from regard.models import Twice, TwiceConfig, load, save
from regard.pattern import Around, Causal, check_pattern, parse

assert regard.__file__.startswith(sys.argv[1]), regard.__file__
pattern = parse("around(2) & ~causal | around(1)")
assert pattern == Around(2) & ~Causal() | Around(1)
for reach in (0, 1, 2, 7):
    check_pattern(Around(reach))
check_pattern(pattern)
for n in (1, 7, 150):
    assert pattern.pairs(n) == int(pattern.dense(n).sum())
    assert torch.equal(pattern.row_pairs(n), pattern.dense(n).sum(1))
    tiles = pattern.tiles(n, size=16)
    assert tiles.full + tiles.partial <= (n + 15) // 16 * 3
query, key, value = torch.randn(3, 1, 2, 150, 8)
definition = attend(query, key, value, pattern, impl="reference")
assert torch.allclose(attend(query, key, value, pattern), definition, atol=1e-5)
assert torch.equal(attend(query, key, value, pattern, impl="mine"), definition)
assert main(["draw", "around(1)", "-n", "4"]) == 0

model, x = Twice(TwiceConfig()), torch.randn(5, 6)
asked, ran = price(TwiceConfig(), batch=5), executed(model, x)
assert (asked.multiplies, asked.adds) == (ran.multiplies, ran.adds)
assert asked.parameters == sum(weight.numel() for weight in model.parameters())
save(model, "twice.safetensors")
assert torch.equal(load("twice.safetensors")(x), model(x))

assert main(["train", "stripes-mlp", "--overfit", "8", "--out", "run", "--device", "cpu"]) == 0
assert main(["eval", "run"]) == 0
"""


def add(path: Path, before: str, line: str) -> None:
    """Put a line in front of another."""
    text = path.read_text(encoding="utf-8")
    assert before in text, f"{path.name} has no {before!r}"
    path.write_text(text.replace(before, line + before, 1), encoding="utf-8")


def test_adding_a_pattern_a_model_a_recipe_and_a_kernel(tmp_path):
    package = tmp_path / "src" / "regard"
    shutil.copytree(ROOT / "src" / "regard", package, ignore=shutil.ignore_patterns("weights", "__pycache__"))
    (package / "pattern" / "around.py").write_text(AROUND)
    add(package / "pattern" / "__init__.py", "__all__ = [", "from regard.pattern.around import Around\n\n")
    (package / "models" / "twice.py").write_text(TWICE)
    add(
        package / "models" / "files.py",
        "MODELS: dict",
        "from regard.models.twice import Twice, TwiceConfig\n",
    )
    add(
        package / "models" / "files.py",
        '    "MLP": (MLPConfig, MLP),',
        '    "Twice": (TwiceConfig, Twice),\n',
    )
    add(
        package / "models" / "__init__.py",
        "__all__ = [",
        "from regard.models.twice import Twice, TwiceConfig\n",
    )
    add(package / "data" / "sets.py", "EMBEDDED: dict", STRIPES)
    add(package / "data" / "sets.py", '    "digits": _digits,', '    "stripes": _stripes,\n')
    (package / "recipes" / "stripes_mlp.py").write_text(RECIPE)
    (package / "attention" / "mine.py").write_text(KERNEL)
    add(package / "attention" / "engine.py", '    "reference": "the def', '    "mine": "an example",\n')
    command = [sys.executable, "-W", "error", "-c", TRIED, str(tmp_path)]
    environment = {"PYTHONPATH": str(tmp_path / "src"), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_hooks_are_added_one_by_one_and_checked():
    """By the book, line by line: each class has one hook more, and what is not known is never made up."""
    spans = "\nfrom regard.pattern import CacheBound, Span\n"
    hooks = HOOKS.split("\n\n")
    for count in range(len(hooks) + 1):
        known: dict[str, object] = {"__name__": "stranger"}
        exec(spans + AROUND + "\n\n".join(hooks[:count]), known)
        around = known["Around"](3)  # type: ignore[operator]
        check_pattern(around)
        for pattern in (around, around & Causal(), ~around | Causal()):
            assert isinstance(pattern, Pattern)
            assert pattern.pairs(20) == int(pattern.dense(20).sum())
            with pytest.raises(ValueError, match="has no formula in n: Around gives no closed_form"):
                pattern.formula()
    named = re.findall(r"`(\w+)`", TEXT[TEXT.index("add hooks:") : TEXT.index("whose docstrings")])
    assert named == ["spans", "monotone", "tile_key", "kept", "closed_form"]
    assert all(hasattr(Atom, hook) for hook in named)


def test_five_lines_each_and_every_file_is_there():
    guides = re.findall(r"\*\*To add (.*?)\*\*\n\n(.*?)\n\n", TEXT, re.DOTALL)
    assert [name for name, _ in guides] == [
        "a pattern",
        "a model",
        "a recipe with data of one's own",
        "a kernel",
    ]
    for _, lines in guides:
        assert len(lines.splitlines()) == 5
    for path in re.findall(r"`(\w+/[\w/]+\.py)`", TEXT):
        assert (ROOT / path).exists() or (ROOT / "src" / "regard" / path).exists(), path
    for path, name in (("attention/engine.py", "_chosen_cpu"), ("models/files.py", "MODELS")):
        assert name in (ROOT / "src" / "regard" / path).read_text(encoding="utf-8")
    assert "CPU" in (ROOT / "tests" / "attention" / "matching.py").read_text(encoding="utf-8")
