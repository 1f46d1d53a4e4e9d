"""A small Encoder on the embedded verdicts, which no bag of words can judge.

Command: regard train verdicts-encoder
Hardware: two CPU cores
Minutes: about 1
Score: measured: 98.7 % of the test verdicts, on one CPU core
"""

from regard.layers import PreNorm
from regard.models import EncoderConfig
from regard.train import AdamW, Checks, ClassifyTexts, Cosine, Execution, Muon, Recipe, Words


def recipe() -> Recipe:
    return Recipe(
        name="verdicts-encoder",
        task=ClassifyTexts(
            data="verdicts",
            model=EncoderConfig(
                vocab=None, context=48, depth=3, width=64, heads=4, block=PreNorm(), pool="mean"
            ),
            tokens=Words(),
        ),
        optimizer=Muon(lr=5e-3, decay=0.01, adam=AdamW(lr=0.01, decay=0.01)),
        schedule=Cosine(warmup=0.05),
        batch=64,
        steps=1000,
        execution=Execution(precision="float32"),
        checks=Checks(validate_every=100),
    )
