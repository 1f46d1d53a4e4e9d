"""A ViT on Fashion-MNIST for two CPU cores.

Command: regard train vit-fashion-mnist-cpu
Hardware: two CPU cores
Minutes: 10
Score: 89.05 % of the test set (seed 0, two quiet cores, 2,371 steps)
"""

from regard.data import Augment
from regard.models import ViTConfig
from regard.train import AdamW, Checks, ClassifyImages, Cosine, Execution, Muon, Recipe


def recipe() -> Recipe:
    return Recipe(
        name="vit-fashion-mnist-cpu",
        task=ClassifyImages(
            data="fashion-mnist",
            model=ViTConfig(image=28, patch=4, channels=1, classes=10, depth=6, width=64, heads=4),
            augment=Augment(classes=10, mean=(0.286,), std=(0.353,), crop=2, flip=0.5),
            smoothing=0.1,
            validation=0.05,
        ),
        optimizer=Muon(lr=0.01, decay=0.02, adam=AdamW(lr=3e-3, decay=0.02)),
        schedule=Cosine(warmup=0.05),
        batch=128,
        minutes=9.5,
        execution=Execution(precision="float32"),
        checks=Checks(ema=0.995, validate_every=500),
    )
