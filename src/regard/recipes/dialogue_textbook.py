"""The course's dialogue model and settings by the same loop: 6 layers of width 128, 80 epochs.

Command: regard train dialogue-textbook
Hardware: one H200
Minutes: 1 on a shared GPU, 0.4 of compiling before
Score: validation perplexity 256.0 at step 408 of 8,562, then it overfits; 1.902 bits per character

Width 128, 3 heads of 64, untied head, no norm before attention, 80 epochs.
"""

from regard.layers import CourseBlock, Gelu
from regard.models import GPTConfig, Untied
from regard.train import AdamW, Checks, Execution, Language, Recipe, Trapezoid, Words


def recipe() -> Recipe:
    return Recipe(
        name="dialogue-textbook",
        task=Language(
            data="tinyshakespeare",
            model=GPTConfig(
                vocab=None,
                context=128,
                depth=6,
                width=128,
                heads=3,
                head_width=64,
                block=CourseBlock(feedforward=Gelu(hidden=128)),
                head=Untied(),
            ),
            tokens=Words(),
            cut="dialogues",
            prompt="ROMEO :",
            sample=100,
        ),
        optimizer=AdamW(lr=1e-3, beta2=0.999, decay=0.0),
        schedule=Trapezoid(warmup=0.0, cooldown=0.0),
        batch=64,
        epochs=80,
        execution=Execution(clip=None, tf32=True),
        checks=Checks(validate_every=102, read_every=50),
    )
