"""The kernels for short sequences in a process of their own, as in `test_triton.py`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard.attention.engine import projection_form
from regard.attention.triton.short import refuses
from regard.pattern import Full

pytest.importorskip("triton")
CASES = Path(__file__).with_name("short_qkv_interpreted.py")


def test_kernels_in_the_interpreter():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(CASES)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, env=environment, cwd=CASES.parents[2], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter lets the kernels run")
def test_the_kernels_need_a_gpu():
    form = projection_form((1, 2, 2, 9, 9, 16, 16), torch.float16, torch.device("cpu"), Full())
    assert "CUDA" in refuses(form)
