"""nanoGPT's setting: characters of Tiny Shakespeare, 10.7 M parameters, context 256.

Command: regard train shakespeare-char
Hardware: one H200
Minutes: 1.2 on a shared GPU, about 0.6 alone; 0.6 of compiling before
Score: validation loss 1.4068 (seed 0), 1.4289 after 34 s
"""

from regard.layers import Rotary
from regard.models import GPTConfig
from regard.train import AdamW, Characters, Checks, Cosine, Execution, Language, Muon, Recipe


def recipe() -> Recipe:
    return Recipe(
        name="shakespeare-char",
        task=Language(
            data="tinyshakespeare",
            model=GPTConfig(
                vocab=None, context=256, depth=6, width=384, heads=6, position=Rotary(), dropout=0.45
            ),
            tokens=Characters(),
            hide=0.1,
            prompt="\nROMEO:",
        ),
        optimizer=Muon(lr=6e-3, decay=0.3, adam=AdamW(lr=2e-3, decay=0.3)),
        schedule=Cosine(warmup=0.05),
        batch=128,
        steps=2000,
        execution=Execution(tf32=True),
        checks=Checks(ema=0.99, validate_every=250, read_every=50, save_every=2000),
    )
