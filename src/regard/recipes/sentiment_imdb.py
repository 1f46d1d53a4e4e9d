"""An Encoder from scratch on the 25,000 labelled reviews of IMDb.

Command: regard train sentiment-imdb
Hardware: one H200
Minutes: 5
Score: measured: not yet
"""

from __future__ import annotations

from regard.layers import PreNorm, Rotary
from regard.models import EncoderConfig
from regard.train import AdamW, BytePairs, ClassifyTexts, Cosine, Recipe


def recipe() -> Recipe:
    """The values."""
    return Recipe(
        name="sentiment-imdb",
        task=ClassifyTexts(
            data="imdb",
            model=EncoderConfig(
                vocab=1,
                context=512,
                depth=2,
                width=128,
                heads=4,
                position=Rotary(),
                block=PreNorm(),
                pool="mean",
                dropout=0.3,
            ),
            tokens=BytePairs(vocab=16_384),
            keep="both",
            smoothing=0.1,
        ),
        optimizer=AdamW(lr=1e-3, decay=0.1),
        schedule=Cosine(warmup=0.1),
        batch=128,
        epochs=12,
        ema=0.99,
        tf32=True,
        validate_every=176,
        read_every=50,
    )
