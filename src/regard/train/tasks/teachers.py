"""Trained models as teachers: what they make of texts is learned in place of labels (Hinton et al. 2015)."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from regard.train.tasks.row_files import table_of
from regard.train.tasks.rows import readable, segments_of
from regard.train.tasks.text_models import started

END = re.compile(r"(?<=[.!?])\s+")  # of a sentence, nearly always
SHORTEST, LONGEST = 3, 40  # words of a sentence that is cut out


@torch.no_grad()
def taught(
    teachers: Sequence[str], texts: Sequence[str], *, classes: Sequence[str], device: torch.device
) -> Tensor:
    """The mean of what the models in these folders say of each text: chances (N,classes)."""
    total = torch.zeros(len(texts), len(classes), device=device)
    for folder in teachers:
        model, tokenizer = started(folder)
        told = json.loads((Path(folder) / "task.json").read_text(encoding="utf-8"))
        if told.get("classes") != [*classes]:
            raise ValueError(
                f"teachers must know the classes {', '.join(classes)}, {folder} knows {told.get('classes')}"
            )
        width, keep = told["context"], told.get("keep", "head")
        table = table_of(texts, tokenizer, width=width, keep=keep, device=device)
        model.to(device).eval()
        for at in table.by_length().split(64 if device.type == "cpu" else 256):
            tokens, lengths = table.rows(at)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                logits = model(tokens, segments=segments_of(tokens, lengths))
            total[at] += logits.float().softmax(1)
    return total / len(teachers)


def cut_out(texts: Sequence[str], count: int) -> list[str]:
    """So many sentences, or all there are, of the texts that have more than one; always the same.

    >>> cut_out(["A dull film. It never moved me! Why?", "One sentence."], 5)
    ['A dull film.', 'It never moved me!']
    """
    found: dict[str, None] = {}
    for text in readable(texts):
        parts = END.split(text)
        if len(parts) > 1:
            found |= dict.fromkeys(one for one in parts if SHORTEST <= len(one.split()) <= LONGEST)
    several = [*found]
    if len(several) > count:
        chosen = sorted(Random(0).sample(range(len(several)), count))
        several = [several[i] for i in chosen]
    return several
