"""What share of a machine's peak a run uses: exact operations from `regard.cost` over the maker's figure."""

import torch

from regard.cost import price

# Dense operations per second, multiplies and adds both counted, from the makers' data sheets.
PEAKS = {
    "H200": {"bfloat16": 989e12, "float32": 67e12},
    "H100": {"bfloat16": 989e12, "float32": 67e12},
    "A100": {"bfloat16": 312e12, "float32": 19.5e12},
    "L40S": {"bfloat16": 362e12, "float32": 91.6e12},
    "L4": {"bfloat16": 121e12, "float32": 30.3e12},
    "RTX 4090": {"bfloat16": 165e12, "float32": 82.6e12},
    "RTX 3090": {"bfloat16": 71e12, "float32": 35.6e12},
    "V100": {"float32": 15.7e12},
    "T4": {"float32": 8.1e12},
}


def peak(device: torch.device, bfloat16: bool) -> float | None:
    """The operations per second that this device can do at most, where known.

    >>> peak(torch.device("cpu"), bfloat16=False) is None
    True
    """
    if device.type != "cuda":
        return None
    words = torch.cuda.get_device_name(device).replace("-", " ").split()
    for name, peaks in PEAKS.items():
        if all(word in words for word in name.split()):
            return peaks.get("bfloat16" if bfloat16 else "float32")
    return None


def training_flops(config: object, tokens: int | None) -> int | None:
    """Operations to train on one example, forward and backward; None for what has no price.

    >>> from regard.models import MLPConfig
    >>> training_flops(MLPConfig(image=2, classes=3, widths=()), None) > 2 * 4 * 3
    True
    >>> training_flops(None, None) is None
    True
    """
    try:
        return int(price(config, tokens, training=True).flops)
    except (ValueError, TypeError):
        return None
