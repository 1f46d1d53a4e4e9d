"""CPU seconds and memory of single calls, each in a process of its own on one thread."""

import json
import os
import subprocess
import sys

# Torch is imported once; each call then runs in a fork, whose peak memory starts at what it has then.
MEASURE = """
import json, os, resource, sys, time
from regard.pattern import parse

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

expressions, n, call, first, more = json.loads(sys.argv[1])
for expression in expressions:
    if os.fork() == 0:
        run = getattr(parse(expression), call)
        if first is not None:
            run(first, *more)  # so that first uses are not measured
        before, start = peak(), time.process_time()
        run(n, *more)
        print(json.dumps([time.process_time() - start, (peak() - before) / 1024]), flush=True)
        os._exit(0)
    os.wait()
"""


def measured(
    expressions: list[str], n: int, call: str, first: int | None = 1000, more: tuple[int, ...] = ()
) -> list[tuple[float, float]]:
    """(CPU seconds, megabytes by which the peak grew) of `call(n, *more)`, for each expression."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, json.dumps([expressions, n, call, first, more])],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    out = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(out) == len(expressions), done.stderr
    return out
