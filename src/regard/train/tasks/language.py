"""Language models: the next token, over windows of one long text or over dialogues padded to one length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.data import Corpus, load
from regard.data.draws import generator
from regard.data.own.corpora import StoredCorpus
from regard.data.tokenizers import Tokenizer
from regard.errors import check_choice, check_int, check_kind, check_shares
from regard.models import GPT, GPTConfig
from regard.models.own import Factory, Own, is_own
from regard.models.own_texts import OwnLanguageModel
from regard.paper.commands import is_plain
from regard.parallel import Shard
from regard.train.distributed import ALONE, Team
from regard.train.fingerprint import fingerprint
from regard.train.sequences import PartReader, Sequences
from regard.train.task import OWN_MODEL, BaseTask, Batch, Losses, TaskSetting
from regard.train.tasks.building import build, context_of
from regard.train.tasks.course import CourseGPT
from regard.train.tasks.dialogues import dialogues_of
from regard.train.tasks.rows import TokenTable
from regard.train.tasks.sources import Data, data_name, described
from regard.train.tasks.token_files import learned_from, token_files
from regard.train.tasks.tokens import BytePairs, Characters, Tokens, Words
from regard.train.tasks.windows import Windows, consecutive
from regard.values import Json

IGNORED = -100
CUTS = ("windows", "dialogues")


@dataclass(frozen=True, kw_only=True)
class Language:
    """Train a GPT on a corpus: its first part, the last `validation` of it being held out.

    The vocabulary is the training part's, so `model.vocab` is set from it. `cut` says what an example is:
    a window anywhere in the text, or a dialogue (a stretch between blank lines) after a start token.

    Two things against learning by heart, other ones each time: `hide` is the share of tokens that are read as
    unknown, `rare` the chance that a token which occurs only once in the training part counts as unknown,
    read and predicted so; without it a model learns that unknown tokens never come.

    A `CourseGPT` is trained with the textbook's own tokenizer, data set and loss. A model of one's own is any
    causal module that maps tokens (B,N) to logits (B,N,vocab); `context` is then how many it reads at once.
    """

    data: Data
    model: GPTConfig | CourseGPT | Factory
    tokens: Tokens = Characters()  # noqa: RUF009 - a frozen value
    cut: str = "windows"
    hide: float = 0.0
    rare: float = 0.0
    validation: float = 0.1
    prompt: str = "\n"
    sample: int = 200
    context: int | None = None

    def __post_init__(self) -> None:
        if not is_own(self.model):
            check_kind("model", self.model, (GPTConfig, CourseGPT), OWN_MODEL)
        if self.context is not None:
            check_int("context", self.context, 1)
        check_choice("cut", self.cut, CUTS)
        check_shares(hide=self.hide, rare=self.rare, validation=self.validation)
        if (self.hide or self.rare) and isinstance(self.tokens, BytePairs):
            raise ValueError("hide and rare need a tokenizer with an unknown token, BytePairs has none")
        if isinstance(self.model, CourseGPT):
            given = (self.tokens, self.cut, self.hide, self.rare)
            if given != (Words(), "dialogues", 0.0, 0.0):
                raise ValueError(
                    "the textbook reads dialogues by all their words: a CourseGPT needs tokens=Words(), "
                    f"cut='dialogues', hide=0 and rare=0, got {given}"
                )

    def build(self, setting: TaskSetting) -> LanguageTask:
        """The corpus as tokens on the device; the textbook's model has a task of its own."""
        if isinstance(self.model, CourseGPT):
            from regard.train.tasks.course_dialogue import CourseDialogueTask

            return CourseDialogueTask(self, setting)
        return LanguageTask(self, setting)


class LanguageTask(BaseTask):
    """A corpus on the device, cut into examples."""

    better, unit, has_test = "min", "tokens", False
    tokenizer: Tokenizer

    def __init__(self, spec: Language, setting: TaskSetting) -> None:
        self.per_example = context_of(spec.model, spec.context)
        corpus = load(spec.data, folder=setting.data_dir)
        if not isinstance(corpus, Corpus):
            raise ValueError(f"data must be a corpus of text, got data={data_name(spec.data)!r}")
        self.spec, self.device, self.overfit = spec, setting.device, setting.overfit
        self.hide, self.rare = (0.0, 0.0) if self.overfit else (spec.hide, spec.rare)
        self.table: TokenTable | None = None
        self.held: TokenTable | Tensor
        if isinstance(corpus, StoredCorpus) and spec.cut == "windows":
            self._map(corpus, setting)
        else:
            self._read(corpus, setting)
        if not len(self.held):
            raise ValueError(f"{corpus.name} is too short to hold {spec.validation:.0%} of it out")

    def _map(self, corpus: StoredCorpus, setting: TaskSetting) -> None:
        """A corpus on the disk, whose tokens stay there too unless they are for a GPU."""
        spec, length = self.spec, self.per_example
        self.tokenizer: Tokenizer = setting.tokenizer(
            lambda: learned_from(corpus, spec.tokens, spec.validation)
        )
        self.config = self._config()
        files = token_files(corpus, self.tokenizer, spec.validation)
        self.unknown, self.held_characters = files.unknown, files.held_characters
        self.once = (files.counts(self.tokenizer.vocab) == 1 if self.rare else torch.zeros(0)).to(self.device)
        whole = files.train[: length * self.overfit + 1] if self.overfit else files.train
        self.held = (whole if self.overfit else files.held).to(self.device)
        self.windows = Windows(whole.to(self.device), length=length, seed=setting.seed)
        self.order, self.examples = self.windows.stream, self.windows.count
        self.parts = {"train": len(files.train), "validation": len(files.held)}
        self.fingerprint = fingerprint(corpus, files.print)

    def _read(self, corpus: Corpus, setting: TaskSetting) -> None:
        """A corpus in memory."""
        spec, length = self.spec, self.per_example
        texts, held = _parted(corpus, spec)
        self.tokenizer = setting.tokenizer(lambda: self.learned(texts))
        self.config = self._config()
        self.held_characters = sum(map(len, held))
        ids, held_ids = self.tokenizer.encode_batch(texts), self.tokenizer.encode_batch(held)
        unknown = sum(token == self.tokenizer.unk for row in held_ids for token in row)
        self.unknown = unknown / max(1, sum(map(len, held_ids)))
        counts = torch.bincount(torch.tensor([i for row in ids for i in row]), minlength=self.tokenizer.vocab)
        self.once = (counts == 1).to(self.device)
        if spec.cut == "windows":
            whole = torch.tensor(ids[0][: length * self.overfit + 1] if self.overfit else ids[0])
            self.held = (whole if self.overfit else torch.tensor(held_ids[0])).to(self.device)
            self.windows = Windows(whole.to(self.device), length=length, seed=setting.seed)
            self.order, self.examples = self.windows.stream, self.windows.count
            seen = self.windows.tokens
        else:
            rows = pieces(ids, length, self.tokenizer.start)[: self.overfit]
            held_rows = rows if self.overfit else pieces(held_ids, length, self.tokenizer.start)
            self.table, self.held = (
                TokenTable.of(one, width=length + 1, tokenizer=self.tokenizer, device=self.device)
                for one in (rows, held_rows)
            )
            self.order, self.examples = self.table.examples(setting.seed, fixed=self.fixed), len(rows)
            seen = self.table.tokens
        self.parts = {"train": sum(map(len, ids)), "validation": sum(map(len, held_ids))}
        self.fingerprint = fingerprint(corpus, seen)

    def learned(self, texts: list[str]) -> Tokenizer:
        """The tokenizer of the training part."""
        return self.spec.tokens.train(texts)

    def _config(self) -> GPTConfig | CourseGPT | Own:
        """The model's config with the vocabulary of the data."""
        model, vocab = self.spec.model, self.tokenizer.vocab
        if isinstance(model, GPTConfig | CourseGPT):
            return replace(model, vocab=vocab)
        return Own(model, {"vocab": vocab, "context": self.per_example}, "language")

    def model(self, generator: torch.Generator) -> nn.Module:
        """A new GPT, or a new model of one's own."""
        return build(self.config, generator)

    def logits(self, model: nn.Module, tokens: Tensor) -> Tensor:
        """What the model says of held-out tokens."""
        return model(tokens)

    def prepare(self, batch: Batch, generator: torch.Generator) -> Batch:
        """Tokens (B,N) and the tokens that follow, −100 where none does."""
        (at,) = batch
        if self.table is None:
            rows = self._with_unknown(self.windows.rows(at, extra=1), generator)
            tokens, targets = rows[:, :-1], rows[:, 1:]
        else:
            rows, lengths = self.table.rows(at, whole=self.fixed)
            tokens, targets = pairs(self._with_unknown(rows, generator), lengths)
        if self.hide:
            luck = torch.rand(tokens.shape, device=self.device, generator=generator)
            tokens = torch.where(luck < self.hide, self._unk, tokens)
        return tokens, targets

    @property
    def _unk(self) -> int:
        assert self.tokenizer.unk is not None
        return self.tokenizer.unk

    def _with_unknown(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        if not self.rare:
            return rows
        luck = torch.rand(rows.shape, device=self.device, generator=generator)
        return torch.where(self.once[rows] & (luck < self.rare), self._unk, rows)

    def cut(self, inputs: Batch, sequences: Sequences) -> tuple[Batch, Shard]:
        """This process's tokens and what follows each of them."""
        shard = sequences.shard(inputs[0].shape[1])
        return tuple(shard.cut(x) for x in inputs), shard

    def loss(self, model: nn.Module, inputs: Batch, generator: torch.Generator | None) -> Losses:
        """The sum of −log p of all targets, and their number."""
        tokens, targets = inputs
        logits = model(tokens, generator=generator)
        total = cross_entropy(
            logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )
        return total, (targets != IGNORED).sum()

    def validate(self, model: nn.Module, team: Team = ALONE) -> dict[str, float]:
        """Loss in nats per token over the whole held-out part, perplexity, and bits per character.

        Where tokens of it are unknown, also the perplexity of the known ones: an unknown one is easy to say.
        """

        def score(batch: Batch) -> Sequence[Tensor]:
            reader = model
            if team.sequences is not None:
                batch, shard = self.cut(batch, team.sequences)
                reader = PartReader(model, shard)
            tokens, targets = batch
            losses = cross_entropy(
                self.logits(reader, tokens).flatten(0, 1).float(),
                targets.flatten(),
                ignore_index=IGNORED,
                reduction="none",
            ).view_as(targets)
            real = targets != IGNORED
            known = real & (targets != (-1 if self.tokenizer.unk is None else self.tokenizer.unk))
            return losses.sum(), real.sum(), losses[known].sum(), known.sum()

        nats, count, known_nats, known_count = self.sums(team, 4, self._held_batches(), score)
        scores = {"loss": nats / count, "perplexity": perplexity(nats, count)}
        if not self.overfit:
            scores["bits_per_character"] = nats / math.log(2) / self.held_characters
        if self.unknown:
            scores["perplexity_of_known"] = perplexity(known_nats, known_count)
        return scores

    def test(self, model: nn.Module) -> dict[str, float]:
        """Nothing: a corpus is cut into training and validation, and has no third part."""
        raise ValueError(
            f"{data_name(self.spec.data)} has no test part: it is cut into training and validation only"
        )

    def _held_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        batch = 256 if self.fixed else 32
        if isinstance(self.held, TokenTable):
            for at in torch.arange(len(self.held), device=self.device).split(batch):
                yield pairs(*self.held.rows(at))
        else:
            for rows in consecutive(self.held, self.per_example, batch):
                yield rows[:, :-1], rows[:, 1:]

    @torch.no_grad()
    def show(self, model: nn.Module) -> str:
        """What the model says after the prompt, always with the same luck."""
        assert isinstance(model, GPT | OwnLanguageModel)
        ids = self.tokenizer.encode(self.spec.prompt)
        start = [] if self.tokenizer.start is None or self.spec.cut == "windows" else [self.tokenizer.start]
        prompt = torch.tensor([[*start, *ids] or [0]], device=self.device)
        draws = generator(0, "sample", device=self.device)
        room = max(0, self.per_example - prompt.shape[1])
        found = model.generate(
            prompt,
            max_new_tokens=min(self.spec.sample, room),
            temperature=0.8,
            top_k=50,
            ban=() if self.tokenizer.unk is None else self.tokenizer.unk,
            generator=draws,
        )
        return self.tokenizer.decode(found[0, len(start) :].tolist()).strip()

    def trial(self) -> tuple[str, ...]:
        """What follows the prompt that samples begin with."""
        prompt = " ".join(self.spec.prompt.split())
        return ("generate", "--prompt", prompt) if prompt and is_plain(prompt) else ()

    def describe(self) -> Json:
        """What generating takes later."""
        return {
            "task": "language",
            **described(self.spec.data, self.parts),
            "cut": self.spec.cut,
            "prompt": self.spec.prompt,
            "unknown": self.unknown,
        }


def perplexity(nats: float, count: float) -> float:
    """e to the nats per token, a number for the worst of models too.

    >>> perplexity(0.0, 10), round(perplexity(30 * math.log(2), 10), 6)
    (1.0, 8.0)
    """
    return math.exp(min(nats / max(count, 1.0), 700.0))


def _parted(corpus: Corpus, spec: Language) -> tuple[list[str], list[str]]:
    """The texts of the training part and of the last `validation` of the corpus."""
    if spec.cut == "windows":
        at = int(len(corpus.text) * (1 - spec.validation))
        return [corpus.text[:at]], [corpus.text[at:]]
    return dialogues_of(corpus, spec.validation)


def pieces(texts: Sequence[Sequence[int]], length: int, start: int | None) -> list[list[int]]:
    """Each text after a start token, in rows of at most length + 1 tokens; no token is lost as a target.

    >>> pieces([[5, 6, 7, 8]], length=3, start=0)
    [[0, 5, 6, 7], [7, 8]]
    """
    rows = []
    for text in texts:
        whole = [*([] if start is None else [start]), *text]
        rows += [whole[i : i + length + 1] for i in range(0, len(whole) - 1, length)]
    return rows


def pairs(tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Inputs (B,N) and targets (B,N) of padded rows (B,N+1)."""
    inside = torch.arange(1, tokens.shape[1], device=tokens.device) < lengths[:, None]
    return tokens[:, :-1], torch.where(inside, tokens[:, 1:], IGNORED)
