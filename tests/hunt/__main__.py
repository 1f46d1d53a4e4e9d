"""The long hunts: `python -m tests.hunt [NAME …] [--times N] [--seed S]`.

A hunter is a module beside this one with a function `hunt(times, seed) -> Found`.
"""

import argparse
import pkgutil
import time
from importlib import import_module

import tests.hunt


def hunters() -> dict[str, object]:
    """Every module here that hunts, by its name."""
    names = (
        found.name for found in pkgutil.iter_modules(tests.hunt.__path__) if not found.name.startswith("_")
    )
    modules = {name: import_module(f"tests.hunt.{name}") for name in names if not name.startswith("test_")}
    return {name: module for name, module in modules.items() if hasattr(module, "hunt")}


def main() -> int:
    """Run the hunts named, or all."""
    known = hunters()
    parser = argparse.ArgumentParser(prog="python -m tests.hunt", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all if none is named"
    )
    parser.add_argument("--times", type=int, default=100, help="tries of each hunt (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="other tries for another seed")
    given = parser.parse_args()
    if strange := set(given.names) - set(known):
        parser.error(f"no hunt is called {', '.join(sorted(strange))}; hunts: {', '.join(known)}")
    faults = 0
    for name in given.names or known:
        start = time.monotonic()
        found = known[name].hunt(given.times, given.seed)
        print(f"{name}: {found}\n  {time.monotonic() - start:.0f} s", flush=True)
        faults += len(found.faults)
    return min(faults, 1)


if __name__ == "__main__":
    raise SystemExit(main())
