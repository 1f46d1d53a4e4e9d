"""The textbook's DialogueGPT itself, with its own tokenizer, data set and loss, by the same loop.

Command: regard train dialogue-course
Hardware: one H200
Minutes: 0.6
Score: perplexity 228.7, 235.4, 232.9 of the held-out dialogues (seeds 0 to 2)

After each epoch 50 tokens are written, always the likeliest one, as the course's `generate` does.
"""

from regard.train import AdamW, Checks, Cosine, CourseGPT, Execution, Language, Recipe, Words


def recipe() -> Recipe:
    return Recipe(
        name="dialogue-course",
        task=Language(
            data="tinyshakespeare",
            model=CourseGPT(context=128, depth=6, width=128, heads=3, hidden=128),
            tokens=Words(),
            cut="dialogues",
            prompt="First Citizen:",
            sample=50,
        ),
        optimizer=AdamW(lr=2e-3, decay=2.0),  # its embeddings begin with entries near 1, and must shrink
        schedule=Cosine(warmup=0.05),
        batch=64,
        epochs=8,
        execution=Execution(
            compile="none",  # the course's loss looks at its mask, which no graph can wait for
            tf32=True,
        ),
        checks=Checks(ema=0.99, validate_every=102, read_every=50),
    )
