"""A small GPT on the characters of the embedded play.

Command: regard train play-gpt
Hardware: two CPU cores
Minutes: about 1
Score: measured: 2.00 bits per held-out character, on one CPU core
"""

from regard.models import GPTConfig
from regard.train import AdamW, Characters, Checks, Cosine, Execution, Language, Muon, Recipe


def recipe() -> Recipe:
    return Recipe(
        name="play-gpt",
        task=Language(
            data="play",
            model=GPTConfig(vocab=None, context=128, depth=3, width=96, heads=4),
            tokens=Characters(),
            validation=0.05,
        ),
        optimizer=Muon(lr=0.02, decay=0.01, adam=AdamW(lr=4e-3, decay=0.01)),
        schedule=Cosine(warmup=0.05),
        batch=16,
        steps=400,
        execution=Execution(precision="float32"),
        checks=Checks(validate_every=100),
    )
