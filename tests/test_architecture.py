"""The folders are the architecture: imports point one way, files stay short, the core needs torch alone."""

import ast
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "regard"

# DESIGN.md: imports point to the left only, and siblings on one level do not import each other.
LEVELS = [
    {"errors"},
    {"files", "importing", "plugins", "recording"},
    {"trust"},
    {"paper"},
    {"pattern"},
    {"attention", "recurrence", "sharing", "values"},
    {"parallel"},
    {"layers", "course"},
    {"models"},
    {"cost"},
    {"hub"},
    {"data"},
    {"probe"},
    {"train"},
    {"recipes"},
    {"zoo"},
    {"lessons"},
    {"grade"},
    {"bench", "tour", "studio"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names}
CORE = {name for names in LEVELS[: LEVELS.index({"hub"})] for name in names}
LONGEST = 600
MOST_ANY = 60


def parts() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(source: str, package: str) -> set[str]:
    """The parts of regard that a file imports, anywhere in it: lazily, for types only, or by name."""
    out = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            else:
                base = node.module or ""
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)] if base == "regard" else [base]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            name = node.args[0].value
            names = (
                [name] if called in ("import_module", "need", "__import__") and isinstance(name, str) else []
            )
        else:
            continue
        out |= {name.split(".")[1] for name in names if name.startswith("regard.")}
    return out & set(LEVEL)


def wrong(part: str, source: str) -> set[str]:
    """What a file of this part may not import."""
    package = f"regard.{part}"
    return {name for name in imported(source, package) if name != part and LEVEL[name] >= LEVEL[part]}


@pytest.mark.parametrize("path", parts(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_to_the_left(path):
    part = part_of(path)
    if path == PACKAGE / "__main__.py":
        return
    if path == PACKAGE / "__init__.py":
        assert imported(path.read_text(encoding="utf-8"), "regard") == set()
        return
    assert part in LEVEL, f"{part} is not a folder of DESIGN.md"
    assert wrong(part, path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import regard.cli",
        "import regard.attention.linear as linear",
        "from regard.attention import attend",
        "from regard import attention",
        "from ..attention import attend",
        "def f():\n    from regard.models import GPT",
        "if TYPE_CHECKING:\n    from regard.layers.block import TransformerBlock",
        "import importlib\nimportlib.import_module('regard.cost')",
        "need('regard.studio', 'studio')",
    ],
)
def test_a_wrong_import_would_be_found(source):
    assert wrong("pattern", source)
    assert not wrong("cli", source) or "cli" in source


def test_siblings_do_not_import_each_other():
    assert wrong("recurrence", "from regard.attention import attend") == {"attention"}
    assert wrong("recurrence", "from regard.pattern import Causal") == set()
    assert wrong("recurrence", "from regard.recurrence import rnn\nfrom . import rnn") == set()


def test_files_are_short():
    files = [*parts(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert len(files) > 20
    long = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: count for name, count in long.items() if count > LONGEST} == {}


def test_nothing_is_called_like_a_standard_module():
    names = {
        path.stem if path.suffix else path.name for path in PACKAGE.rglob("*") if path.name != "__pycache__"
    }
    assert {name for name in names if not name.startswith("__")} & sys.stdlib_module_names == set()
    assert "inspect" in sys.stdlib_module_names


def texts() -> dict[str, str]:
    """The source of every file, by the name under which it is imported."""
    names = {path: ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in parts()}
    return {name: path.read_text(encoding="utf-8") for path, name in names.items()}


def repeated(sources: dict[str, str]) -> dict[str, list[str]]:
    """The class names that are defined more than once, and where."""
    found: dict[str, list[str]] = {}
    for place, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(place)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_a_class_name_means_one_thing():
    assert repeated({"a": "class Row: ...", "b": "def f():\n    class Row: ..."}) == {"Row": ["a", "b"]}
    assert (
        repeated({str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in parts()}) == {}
    )


def test_types_are_named():
    counts = {name: len(re.findall(r"\bAny\b", source)) for name, source in texts().items()}
    found = sum(counts.values())
    assert found <= MOST_ANY, sorted(counts.items(), key=lambda one: -one[1])[:5]


def explained_imports(source: str, module: str, modules: set[str]) -> dict[str, bool]:
    """The modules that a file imports, and whether a comment on the import, or right above it, says why."""
    lines, out = source.splitlines(), {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        else:
            continue
        here, above = lines[node.lineno - 1], lines[node.lineno - 2] if node.lineno > 1 else ""
        says = "#" in here or re.match(r"\s*(if TYPE_CHECKING:\s*)?#", above)
        for name in names & modules - {module}:
            out[name] = out.get(name, False) or bool(says)
    return out


def unexplained(sources: dict[str, str]) -> list[tuple[str, str]]:
    """The pairs of files that import each other without a comment at either import."""
    found = {name: explained_imports(source, name, set(sources)) for name, source in sources.items()}
    return [
        (a, b)
        for a, imports in found.items()
        for b, says in imports.items()
        if a < b and a in found[b] and not says and not found[b][a]
    ]


def test_files_that_import_each_other_say_why():
    back = "if TYPE_CHECKING:{}\n    from r.a import A"
    assert unexplained({"r.a": "from r import b", "r.b": back.format("")}) == [("r.a", "r.b")]
    assert unexplained({"r.a": "from r import b", "r.b": back.format("  # for its type alone")}) == []
    assert unexplained(texts()) == []


def needs_of(name: str) -> set[str]:
    """A distribution and all that it requires without extras."""
    out, open_ = set(), [name]
    while open_:
        name = canonical(open_.pop())
        if name in out:
            continue
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        out.add(name)
        open_ += [re.match(r"[\w.-]+", line)[0] for line in requires if "extra ==" not in line]
    return out


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def allowed_modules(*distributions: str) -> set[str]:
    """Top-level modules that torch, or these distributions, bring."""
    names = set().union(*map(needs_of, distributions or ("torch",)))
    owners = metadata.packages_distributions()
    return {module for module, owned in owners.items() if set(map(canonical, owned)) & names} | {"regard"}


HIDDEN = """
import sys
class Hide:
    # What is hidden is not found, to those that import it and to those that only ask whether it is there.
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        # The build's own settings are part of the standard library, under a name of each platform.
        known = top in ALLOWED or top in sys.stdlib_module_names or top.startswith("_sysconfigdata")
        return self.finder.find_spec(name, path, target) if known else None
ALLOWED = set(sys.argv[1].split(","))
sys.meta_path[:] = [Hide(finder) for finder in sys.meta_path]
"""
HIDE = f"""{HIDDEN}
import importlib
for name in sys.argv[2].split(","):
    importlib.import_module(name)
print(",".join(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


def holds_kernels(path: Path) -> bool:
    return re.search(r"^(import|from) triton\b", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def import_alone(modules: list[str]) -> subprocess.CompletedProcess[str]:
    """Import in a fresh process in which nothing but torch and what it brings can be found."""
    command = [sys.executable, "-c", HIDE, ",".join(sorted(allowed_modules())), ",".join(modules)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_core_needs_torch_alone():
    # A file of GPU kernels imports triton, and is itself imported when such a kernel is chosen.
    files = [path for path in parts() if part_of(path) in CORE and not holds_kernels(path)]
    names = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in files
    ]
    assert {"regard.errors", "regard.pattern", "regard.pattern.figure"} <= set(names)
    done = import_alone(names)
    assert done.returncode == 0, done.stderr
    seen = set(done.stdout.strip().split(","))
    assert "torch" in seen
    assert not seen & {"numpy", "matplotlib", "typer", "rich"}


@pytest.mark.parametrize("module", ["matplotlib", "typer", "regard.cli.main"])
def test_the_test_can_fail(module):
    done = import_alone(["regard.pattern", module])
    assert done.returncode != 0
    assert "No module named" in done.stderr


def test_sympy_waits_until_a_formula_is_asked_for():
    code = (
        "import sys, regard.pattern\n"
        "pattern = regard.pattern.parse('strided(3) | global(2)')\n"
        "pattern.pairs(100), pattern.tiles(100), pattern.dense(10)\n"
        "assert 'sympy' not in sys.modules\n"
        "pattern.formula()\n"
        "assert 'sympy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
