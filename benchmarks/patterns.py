"""Counting, tiling and formulas against n, beside building the mask and torch's `create_block_mask`.

    python benchmarks/patterns.py        # prints tables, saves benchmarks/results/patterns-<hardware>.json

Every call runs in a process of its own on one thread. Times are CPU time, the best of up to five; megabytes
are the growth of the peak. What looks at all n² cells stops where that takes gigabytes, shown as a dash.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from regard.bench.machine import this_machine
from regard.bench.report import save

PATTERNS = [
    "causal",
    "strided(256)",
    "windowed(256)",
    "strided(256) | global(4) & causal",
    "sparsefixed(128, 8)",
]
SIZES = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20]
CALLS = ["pairs", "row_pairs", "tiles", "formula", "mask", "create_block_mask"]
LARGEST = {"mask": 1 << 14, "create_block_mask": 1 << 14}
RESULTS = Path(__file__).parent / "results"

MEASURE = """
import json, os, resource, sys, time, warnings
from torch.nn.attention.flex_attention import create_block_mask
from regard.pattern import formulas, parse
warnings.simplefilter("ignore")
text, jobs = json.loads(sys.argv[1])
pattern = parse(text)

def block_mask(n):
    return create_block_mask(lambda b, h, q, k: pattern.allows(q, k), None, None, n, n, device="cpu")

def formula(n):
    formulas._derived.cache_clear()
    return pattern.formula()

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

calls = {"pairs": pattern.pairs, "row_pairs": pattern.row_pairs, "tiles": pattern.tiles, "formula": formula,
         "mask": pattern.dense, "create_block_mask": block_mask}
for call, n in jobs:
    if os.fork() == 0:
        calls[call](256)  # imports and first uses
        before, times = peak(), []
        while len(times) < 5 and sum(times) < 2:
            start = time.process_time()
            calls[call](n)
            times.append(time.process_time() - start)
        print(json.dumps({"seconds": min(times), "megabytes": peak() - before}), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, (call, n)
"""


def measure(pattern: str) -> list[dict[str, Any]]:
    """One row for each n: what every call took."""
    jobs = [(call, n) for n in SIZES for call in CALLS if n <= LARGEST.get(call, n)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE, json.dumps([pattern, jobs])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = dict(zip(jobs, map(json.loads, done.stdout.splitlines()), strict=True))
    return [{"pattern": pattern, "n": n, **{call: found.get((call, n)) for call in CALLS}} for n in SIZES]


def shown(found: dict[str, float] | None) -> str:
    if found is None:
        return "–"
    seconds = found["seconds"]
    time = f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
    return f"{time}  {found['megabytes']:,.0f} MB"


def main() -> None:
    machine = this_machine()
    console = Console(width=150)
    rows = []
    for pattern in PATTERNS:
        table = Table("n", *CALLS, title=pattern, title_justify="left")
        for row in measure(pattern):
            rows.append(row)
            table.add_row(f"{row['n']:,}", *(shown(row[call]) for call in CALLS))
        console.print(table)
    path = save(RESULTS, "patterns", machine, {"machine": machine.as_dict(), "rows": rows})
    console.print(f"saved {path.name} in {RESULTS.name}/")


if __name__ == "__main__":
    main()
