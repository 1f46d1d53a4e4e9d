"""The textbook's dialogue model, trained as its sheet poses it: with its own tokenizer, data set and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.course import DialogueDataset, DialogueGPT, DialogueLoss
from regard.data import WordTokenizer
from regard.data.tokenizers import SPECIALS, WordRules
from regard.models import from_course
from regard.train.order import Examples
from regard.train.task import Batch, Losses, TaskSetting
from regard.train.tasks.course import CourseGPT
from regard.train.tasks.language import LanguageTask

if TYPE_CHECKING:  # a Language of the textbook's model builds this kind of LanguageTask
    from regard.train.tasks.language import Language


class CourseDialogueTask(LanguageTask):
    """Dialogues as the course reads them: one example each, cut to the model's positions.

    Held-out dialogues are scored as those of every language model here, in pieces of which no token is lost,
    so that perplexities can be compared.
    """

    def __init__(self, spec: Language, setting: TaskSetting) -> None:
        super().__init__(spec, setting)
        lines = self.lines[: setting.overfit]
        self.dialogues = DialogueDataset(self.rules, lines, self.per_example)
        lengths = torch.tensor([len(line) for line in self.dialogues.examples])
        self.examples = len(lines)
        near = None if self.fixed else lengths
        self.order = Examples(self.examples, seed=setting.seed, device=self.device, lengths=near)

    def learned(self, lines: list[str]) -> WordTokenizer:
        """The course's tokenizer of these lines, and the one to be saved, which reads alike."""
        self.lines, self.rules = lines, WordRules("\n\n".join(lines))
        return WordTokenizer(self.rules.id_to_tok[len(SPECIALS) :])

    def model(self, generator: torch.Generator) -> nn.Module:
        """A new DialogueGPT."""
        assert isinstance(self.config, CourseGPT)
        return self.config.build(generator)

    def prepare(self, batch: Batch, generator: torch.Generator) -> Batch:
        """`input_ids` (B,T) and `input_mask` (B,T), as the course's loader gives them."""
        found = self.dialogues.collate_fn([self.dialogues[i] for i in batch[0].tolist()])
        return found["input_ids"].to(self.device), found["input_mask"].to(self.device)

    def loss(self, model: nn.Module, inputs: Batch, generator: torch.Generator | None) -> Losses:
        """The course's mean times the number of its targets, and that number."""
        input_ids, input_mask = inputs
        count = input_mask[:, 1:].sum()
        return DialogueLoss()(self.logits(model, input_ids).float(), input_ids, input_mask) * count, count

    def logits(self, model: nn.Module, tokens: Tensor) -> Tensor:
        """What the model says of tokens, the course's or the GPT that it becomes for use."""
        out = model(tokens)
        return out[0] if isinstance(out, tuple) else out

    @torch.no_grad()
    def show(self, model: nn.Module) -> str:
        """What the model says after the prompt: always the likeliest token, as the course generates."""
        assert isinstance(model, DialogueGPT)
        prompt = self.rules.encode(self.spec.prompt).to(self.device)
        room = max(0, model.max_N - len(prompt))
        return self.rules.decode(model.generate(prompt, min(self.spec.sample, room))[1:])

    def export(self, model: nn.Module) -> nn.Module:
        """The GPT that computes the same."""
        assert isinstance(model, DialogueGPT)
        return from_course(model)
