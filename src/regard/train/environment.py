"""What a run ran on: versions, hardware, and the state of the source."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

import regard


def environment(device: torch.device, world: int) -> dict[str, Any]:
    """Everything worth knowing when a score is to be reproduced."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "regard": regard.__version__,
        "git": git_state(Path(regard.__file__).parent),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.release()}",
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "processes": world,
    }


def git_state(folder: Path) -> dict[str, Any] | None:
    """The commit of the source, and whether files differ from it; None outside a repository."""

    def ask(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False, timeout=10
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = ask("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "changed": bool(ask("status", "--porcelain", "--untracked-files=no"))}
