"""The textbook's DialogueGPT with one layer, small enough for two CPU cores.

Command: regard train dialogue-course-cpu
Hardware: two CPU cores
Minutes: 4.8, beside other work
Score: perplexity 246.87 of the held-out dialogues (seed 0)
"""

from regard.train import AdamW, Checks, Cosine, CourseGPT, Language, Recipe, Words


def recipe() -> Recipe:
    return Recipe(
        name="dialogue-course-cpu",
        task=Language(
            data="tinyshakespeare",
            model=CourseGPT(context=128, depth=1, width=128, heads=2, hidden=128),
            tokens=Words(),
            cut="dialogues",
            prompt="First Citizen:",
            sample=50,
        ),
        optimizer=AdamW(lr=3e-3, decay=2.0),
        schedule=Cosine(warmup=0.05),
        batch=32,
        epochs=4,
        checks=Checks(ema=0.98, validate_every=204),
    )
