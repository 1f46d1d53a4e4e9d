"""Characters of Tiny Shakespeare for two CPU cores.

Command: regard train shakespeare-char-cpu
Hardware: two CPU cores
Minutes: 3.8
Score: validation loss 1.5677 (seed 0)
"""

from regard.layers import Rotary
from regard.models import GPTConfig
from regard.train import AdamW, Characters, Checks, Cosine, Execution, Language, Muon, Recipe


def recipe() -> Recipe:
    return Recipe(
        name="shakespeare-char-cpu",
        task=Language(
            data="tinyshakespeare",
            model=GPTConfig(vocab=None, context=64, depth=4, width=128, heads=4, position=Rotary()),
            tokens=Characters(),
            prompt="\nROMEO:",
        ),
        optimizer=Muon(lr=0.01, decay=0.01, adam=AdamW(lr=3e-3, decay=0.01)),
        schedule=Cosine(warmup=0.05),
        batch=16,
        minutes=3.8,
        execution=Execution(precision="float32"),
        checks=Checks(validate_every=500),
    )
