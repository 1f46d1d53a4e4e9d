"""What a measurement ran on: hardware, versions and date, and a file name that says so."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

import regard

# Measured on the H200 here; what a kernel reaches is judged by them.
H200_OPERATIONS = 790e12  # of bf16 matrices, a second
H200_BYTES = 4.3e12  # of memory, a second


@dataclass(frozen=True)
class Machine:
    """Hardware and versions, as they are stored beside every result."""

    processor: str
    cores: int
    threads: int
    accelerator: str | None
    system: str
    python: str
    torch: str
    regard: str
    date: str

    @property
    def slug(self) -> str:
        """A short name for files: the accelerator if there is one, else the processor and its cores."""
        name = self.accelerator or f"cpu-{self.cores}core-{self.processor}"
        return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

    def as_dict(self) -> dict[str, object]:
        """What stands beside a result."""
        return asdict(self)


def this_machine() -> Machine:
    """The machine that runs this process."""
    return Machine(
        processor=_processor(),
        cores=available_cores(),
        threads=torch.get_num_threads(),
        accelerator=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        torch=torch.__version__,
        regard=regard.__version__,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
    )


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions(*packages: str) -> dict[str, str]:
    """The version of each package that is here.

    >>> list(versions("torch", "no-such-package"))
    ['torch']
    """
    out = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            out[name] = version(name)
    return out


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return re.sub(r"\(R\)|\(TM\)|CPU|@.*", "", found[1]).strip() if found else platform.machine()
