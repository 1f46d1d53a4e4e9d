"""A judge that is killed leaves neither processes nor folders behind."""

import subprocess
import sys
import time
from pathlib import Path

JUDGE = """
from regard.grade.sandbox import Sandbox
sandbox = Sandbox()
guest = sandbox.guest(["x = 1"])
print(sandbox.place, sandbox._process.pid, flush=True)
import time
time.sleep(600)
"""


def test_a_killed_judge_leaves_nothing():
    judge = subprocess.Popen([sys.executable, "-c", JUDGE], stdout=subprocess.PIPE, text=True)
    try:
        place, waiting = judge.stdout.readline().split()
        assert Path(place).is_dir()
        judge.kill()
        judge.wait()
        end = time.monotonic() + 30
        while (Path(place).exists() or Path(f"/proc/{waiting}").exists()) and time.monotonic() < end:
            time.sleep(0.05)
        assert not Path(place).exists()
        assert not Path(f"/proc/{waiting}").exists()
    finally:
        judge.kill()
        judge.stdout.close()
        judge.wait()
