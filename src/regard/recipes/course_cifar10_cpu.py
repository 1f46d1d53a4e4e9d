"""The textbook's VisionTransformer, untouched, at a size for two CPU cores.

Command: regard train course-cifar10-cpu
Hardware: two CPU cores
Minutes: 47 on one thread of a busy machine
Score: 73.13 % of the test set (seed 0; validation 73.56 %)
"""

from regard.data import Augment
from regard.train import AdamW, Checks, ClassifyImages, Cosine, CourseViT, Execution, Muon, Recipe


def recipe() -> Recipe:
    return Recipe(
        name="course-cifar10-cpu",
        task=ClassifyImages(
            data="cifar10",
            model=CourseViT(
                image=32,
                patch=4,
                channels=3,
                classes=10,
                depth=4,
                width=64,
                heads=4,
                head_width=16,
                hidden=256,
            ),
            augment=Augment(
                classes=10, mean=(0.491, 0.482, 0.447), std=(0.247, 0.243, 0.262), crop=4, flip=0.5
            ),
            validation=0.05,
        ),
        optimizer=Muon(lr=3e-3, decay=0.05, adam=AdamW(lr=2e-3, decay=0.05)),
        schedule=Cosine(warmup=0.05),
        batch=64,
        epochs=8,
        execution=Execution(compile="compile"),
        checks=Checks(ema=0.999, validate_every=2000, save_every=2000),
    )
