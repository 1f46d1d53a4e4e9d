"""Hidden words of all IMDb reviews first, then the labels; no outside weights.

Command: regard train sentiment-imdb-pretrained-here
Hardware: one H200
Minutes: 5.2 and 0.5 on a shared GPU, 1.8 of setup
Score: 92.30 % of the test set (seed 0; validation 92.56 %)
"""

from dataclasses import replace

from regard.layers import PreNorm, Rotary
from regard.models import EncoderConfig
from regard.train import (
    AdamW,
    BytePairs,
    Checks,
    ClassifyTexts,
    Cosine,
    Execution,
    MaskedText,
    Muon,
    Recipe,
)


def recipe() -> Recipe:
    model = EncoderConfig(
        vocab=None,
        context=1024,
        depth=6,
        width=256,
        heads=4,
        position=Rotary(),
        block=PreNorm(),
        pool="mean",
    )
    first = Recipe(
        name="sentiment-imdb-pretraining",
        task=MaskedText(
            data="imdb",
            model=replace(model, context=256),
            tokens=BytePairs(vocab=10_240, lower=True),
            share=0.25,
        ),
        optimizer=Muon(lr=4e-3, decay=0.1, adam=AdamW(lr=2e-3, decay=0.1)),
        schedule=Cosine(warmup=0.05),
        batch=256,
        minutes=5.2,
        execution=Execution(tf32=True),
        checks=Checks(ema=0.999, validate_every=2000, read_every=50, save_every=2000),
    )
    return Recipe(
        name="sentiment-imdb-pretrained-here",
        task=ClassifyTexts(
            data="imdb", model=replace(model, dropout=0.1), keep="both", hide=0.2, smoothing=0.1
        ),
        before=first,
        optimizer=AdamW(lr=2e-4, decay=0.05),
        schedule=Cosine(warmup=0.1),
        batch=64,
        epochs=3,
        execution=Execution(tf32=True),
        checks=Checks(ema=0.99, validate_every=176, read_every=44),
    )
