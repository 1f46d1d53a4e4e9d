"""Many visitors of one studio at a time, each with three seconds of thought between two questions.

`python -m tests.hunt visitors --times 50`: fifty of them for a minute. What is no generation must be
answered within two seconds in nineteen of twenty cases, nothing may fail, and the studio's processes must
not grow by more than 100 MB from the first third of the minute to its end.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.hunt.found import Found

LASTS, THINKS = 60.0, 3.0  # seconds
SLOW, GROWTH = 2.0, 100e6
WRITES = "language/write"
WORDS = ("a", "film", "that", "was", "not", "bad", "at", "all", "never", "once", "bored", "me", "its", "wit")


def questions(at):
    """One question of a room, as the page would ask it, with numbers of the visitor's own."""
    n, t = at.randrange(2, 4000), at.randrange(1, 300)
    words = at.sample(WORDS, 6)
    return at.choice([
        ("patterns/count", {"pattern": f"strided({t}) | global(2) & causal", "n": n}),
        ("patterns/formula", {"pattern": f"windowed({t})"}),
        ("patterns/exchange", {"pattern": f"strided({t})", "n": n + 8, "ranks": 8}),
        ("costs/price", {"model": "gpt2", "n": n}),
        ("sentiment/verdict", {"model": "zoo:sentiment", "text": " ".join(words)}),
        ("token/step", {"model": "zoo:dialogue", "text": "ROMEO: " + " ".join(words)}),
        ("vision/pictures", {"model": "zoo:digits-vit", "page": at.randrange(9)}),
        ("lessons/check", {"lesson": "counting-attention", "exercise": "autoregressive",
                           "answer": f"n*(n+{at.randrange(1, 3)})/2"}),
        (WRITES, {"modela": "zoo:dialogue", "prompt": "ROMEO:", "tokens": 40, "seed": n}),
    ])  # fmt: skip


def hunt(times, seed):
    """So many visitors for a minute."""
    found, lock, waits = Found(), threading.Lock(), []
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "regard", "studio", "--port", "0", "--json"]
    studio = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    try:
        address = json.loads(studio.stdout.readline())["address"]
        for action in (WRITES, "costs/price", "token/step", "sentiment/verdict", "vision/pictures"):
            ask(address, action, next(body for name, body in _all(seed) if name == action))
        end, sizes = time.monotonic() + LASTS, []

        def visit(number):
            at = random.Random(f"visitors {seed} {number}")
            time.sleep(at.random() * THINKS)
            while time.monotonic() < end:
                action, body = questions(at)
                begin = time.monotonic()
                fault = ask(address, action, body)
                with lock:
                    found.add(action, fault)
                    if action != WRITES:
                        waits.append(time.monotonic() - begin)
                time.sleep(THINKS)

        threads = [threading.Thread(target=visit, args=(i,)) for i in range(times)]
        for one in threads:
            one.start()
        while time.monotonic() < end:
            time.sleep(LASTS / 12)
            sizes.append(anonymous(studio.pid))
        for one in threads:
            one.join()
    finally:
        studio.terminate()
        studio.wait(20)
    waits.sort()
    slow, growth = waits[int(0.95 * len(waits))], max(sizes[4:]) - max(sizes[:4])
    print(f"  p50 {waits[len(waits) // 2]:.2f} s, p95 {slow:.2f} s, longest {waits[-1]:.2f} s; "
          f"{sizes[0] / 1e6:.0f} MB, later {growth / 1e6:+.0f} MB")  # fmt: skip
    found.add("waiting", None if slow < SLOW else f"p95 is {slow:.2f} s")
    found.add("memory", None if growth < GROWTH else f"{growth / 1e6:.0f} MB more")
    return found


def _all(seed):
    at = random.Random(f"warming {seed}")
    while True:
        yield questions(at)


def ask(address, action, body):
    """What went wrong, or None."""
    request = urllib.request.Request(f"{address}api/{action}", data=json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            lines = answer.read().splitlines()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read()[:200]!r}"
    except OSError as error:
        return str(error)
    return str(lines[-1][:200]) if b'"error"' in lines[-1][:12] else None


def anonymous(pid):
    """The bytes of a process and its children that no file holds."""
    total = 0
    for one in [pid, *children(pid)]:
        try:
            text = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="utf-8")
        except OSError:
            continue
        total += 1024 * sum(
            int(line.split()[1]) for line in text.splitlines() if line.startswith("Anonymous:")
        )
    return total


def children(pid):
    """All processes below one."""
    out = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((one / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        if parent == pid:
            out += [int(one.name), *children(int(one.name))]
    return out
