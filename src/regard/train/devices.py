"""Which device a model runs on: the one asked for, if it is there, by one rule for every verb.

A device that is not named is CUDA where there is a GPU, else the CPU. An Apple GPU (mps) is taken only when
it is asked for: it has no float64, some operations run on the CPU instead, and no test here has seen one.
PYTORCH_ENABLE_MPS_FALLBACK=1, set before torch is imported, lets the CPU do what it cannot; the command line
does so.
"""

import os

import torch

KINDS = ("cpu", "cuda", "mps")


def chosen_device(device: str | torch.device | None) -> torch.device:
    """The device asked for, or the GPU that torchrun means for this process, or the CPU."""
    if device is None or device == "":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    kind = str(device).partition(":")[0]
    if kind not in KINDS:
        raise ValueError(f"device must be one of {', '.join(KINDS)}, got device={str(device)!r}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device must be there: no GPU is available, got device={str(device)!r}")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ValueError(f"device must be there: no Apple GPU is available, got device={str(device)!r}")
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must be such as cpu, cuda or cuda:1, got device={str(device)!r}") from error
    if found.type == "cuda":
        if found.index is None:
            found = torch.device("cuda", int(os.environ.get("LOCAL_RANK", torch.cuda.current_device())))
        if found.index >= (count := torch.cuda.device_count()):
            raise ValueError(f"device must be there: there are {count} GPUs, got device={str(device)!r}")
        torch.cuda.set_device(found)
    return found


def device_name(device: torch.device) -> str:
    """What it is called, as far as torch knows."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return "Apple GPU" if device.type == "mps" else device.type
