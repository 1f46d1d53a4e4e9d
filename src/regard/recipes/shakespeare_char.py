"""nanoGPT's setting: characters of Tiny Shakespeare, 10.7 M parameters, context 256.

Command: regard train shakespeare-char
Hardware: one H200
Minutes: 1
Score: measured: not yet
"""

from __future__ import annotations

from regard.layers import Rotary
from regard.models import GPTConfig
from regard.train import AdamW, Characters, Cosine, Language, Muon, Recipe


def recipe() -> Recipe:
    """The values."""
    return Recipe(
        name="shakespeare-char",
        task=Language(
            data="tinyshakespeare",
            model=GPTConfig(
                vocab=1, context=256, depth=6, width=384, heads=6, position=Rotary(), dropout=0.3
            ),
            tokens=Characters(),
            prompt="\nROMEO:",
        ),
        optimizer=Muon(lr=6e-3, decay=0.1, adam=AdamW(lr=2e-3, decay=0.1)),
        schedule=Cosine(warmup=0.05),
        batch=128,
        minutes=0.95,
        ema=0.99,
        tf32=True,
        validate_every=250,
        read_every=50,
        save_every=2000,
    )
