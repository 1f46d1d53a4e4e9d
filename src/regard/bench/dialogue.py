"""`regard bench dialogue`: bits per character of held-out dialogues, of ours and of what else one would use.

All say the same characters. Models by words pay for unknown words letter by letter and for white space, by
what the training part teaches of both. Settings of n-grams are chosen on the last tenth of the training part.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from regard.bench.charging import Spacing, Spelling, gaps
from regard.bench.ngrams import KneserNey
from regard.bench.report import BenchReport, BenchRow
from regard.data import CharTokenizer, Corpus, WordTokenizer, load
from regard.data.tokenizers import START, UNK
from regard.train import open_run
from regard.train.runs.language import LanguageRun
from regard.train.tasks.dialogues import dialogues_of
from regard.train.tasks.language import IGNORED, pairs, pieces
from regard.train.tasks.rows import TokenTable

HELD = 0.1  # as the recipe holds out
OURS = "zoo:dialogue"
ORDERS = (3, 4, 5, 6)
CHARACTER_ORDERS = (5, 6, 7, 8, 9)
Rows = list[list[int]]


@dataclass(frozen=True)
class Spoken(BenchRow):
    """One model on the held-out dialogues."""

    columns = (
        ("model", "<44"), ("bits/char", ">9"), ("tokens", ">8"), ("spelling", ">8"), ("space", ">7"),
        ("perplexity", ">10"), ("unknown", ">8"), ("seconds", ">8"), ("  setting", ""),
    )  # fmt: skip

    model: str
    setting: str
    bits_per_character: float
    tokens: float  # bits per character that its own tokens take
    spelling: float
    space: float
    perplexity: float  # of its own tokens
    unknown: float  # share of tokens
    seconds: float  # of learning and scoring

    def cells(self) -> list[str]:
        """The cells as texts."""
        bits = [f"{x:.3f}" for x in (self.bits_per_character, self.tokens, self.spelling, self.space)]
        return [self.model, *bits, f"{self.perplexity:.1f}", f"{100 * self.unknown:.1f} %",
                f"{self.seconds:.1f}", f"  {self.setting}"]  # fmt: skip


ROW = Spoken


class Charged:
    """A held-out part, and what a model by words is charged for it beside its own bits."""

    def __init__(self, learn: Sequence[str], held: Sequence[str]) -> None:
        self.rules = WordTokenizer.train(learn)
        self.learn, self.held = list(learn), list(held)
        cut = self.rules.rules.tokenize
        self.words = [cut(text) for text in learn]
        self.held_words = [cut(text) for text in held]
        counts = Counter(word for words in self.words for word in words)
        once = [word for word, count in counts.items() if count == 1]
        self.spelling = Spelling(sorted(once))
        self.spacing = Spacing(
            (words, gaps(text, words)) for text, words in zip(learn, self.words, strict=True)
        )
        self.once = {self.rules.ids[word] for word in once}
        self.characters = sum(map(len, held))
        self.space = sum(
            self.spacing.bits(words, gaps(text, words))
            for text, words in zip(held, self.held_words, strict=True)
        )

    def spelled(self, known: set[str]) -> float:
        """The bits of all held-out words that are not among the known ones."""
        return sum(
            self.spelling.bits(word) for words in self.held_words for word in words if word not in known
        )

    def by_words(
        self, name: str, setting: str, bits: Sequence[float], known: set[str], begin: float
    ) -> Spoken:
        """The row of a model by words that took these bits, one for each held-out word."""
        unknown = sum(word not in known for words in self.held_words for word in words)
        total, spelled = sum(bits), self.spelled(known)
        count = sum(map(len, self.held_words))
        if len(bits) != count:
            raise ValueError(f"{name} must say {count:,} words, said {len(bits):,}")
        each = [x / self.characters for x in (total, spelled, self.space)]
        seconds = time.perf_counter() - begin
        return Spoken(
            name,
            setting,
            sum(each),
            each[0],
            each[1],
            each[2],
            2 ** (total / count),
            unknown / count,
            seconds,
        )


def run(device: str, quick: bool, data_dir: Path | None = None) -> BenchReport:
    """Choose and score the n-grams, and score our model of the zoo; of the embedded play if quick."""
    corpus = load("play" if quick else "tinyshakespeare", folder=data_dir)
    assert isinstance(corpus, Corpus)
    learn, held = dialogues_of(corpus, HELD)
    charged = Charged(learn, held)
    chooses = Charged(*dialogues_of(Corpus("training part", "\n\n".join(learn)), HELD))
    report = BenchReport(
        "dialogue",
        {"quick": quick, "data": corpus.name, "held out": HELD, "device": "cpu"}
        | {"held-out characters": charged.characters, "dialogues": [len(learn), len(held)]},
    )
    report.record(_best(ORDERS, _words, chooses, charged, report, "Kneser-Ney by words"))
    report.record(_best(CHARACTER_ORDERS, _characters, chooses, charged, report, "Kneser-Ney by characters"))
    if not quick:  # the zoo's model has learnt from this very training part, and from no other
        report.record(ours(OURS, charged))
    return report


def _best(
    orders: Sequence[int],
    score: Callable[[int, Charged, str], Sequence[Spoken]],
    chooses: Charged,
    charged: Charged,
    report: BenchReport,
    name: str,
) -> Spoken:
    """The setting that is best on the end of the training part, on what is held out."""
    tried = {
        row.setting: (order, row.bits_per_character)
        for order in orders
        for row in score(order, chooses, name)
    }
    best = min(tried, key=lambda setting: tried[setting][1])
    report.settings[name] = {setting: bits for setting, (_, bits) in tried.items()}
    (found,) = (row for row in score(tried[best][0], charged, name) if row.setting == best)
    return found


def _words(order: int, charged: Charged, name: str) -> list[Spoken]:
    """By words: all that were seen known, or those seen twice, the others counting as unknown."""
    out, ids = [], charged.rules.ids
    for rare in (False, True):
        begin = time.perf_counter()
        hidden = charged.once if rare else set()

        def read(words: Sequence[str], hidden: set[int] = hidden) -> list[int]:
            found = [ids.get(word, UNK) for word in words]
            return [START, *(UNK if one in hidden else one for one in found)]

        known = {word for word, i in ids.items() if i not in hidden and i > UNK}
        model = KneserNey([read(words) for words in charged.words], len(known) + 1, order)
        bits = [one for words in charged.held_words for one in model.bits(read(words))]
        setting = f"{order}-grams, words seen once {'unknown' if rare else 'known'}"
        out.append(charged.by_words(name, setting, bits, known, begin))
    return out


def _characters(order: int, charged: Charged, name: str) -> list[Spoken]:
    begin, chars = time.perf_counter(), CharTokenizer.train(charged.learn)
    model = KneserNey([[START, *chars.encode(text)] for text in charged.learn], chars.vocab - 2, order)
    rows: Rows = [[START, *chars.encode(text)] for text in charged.held]
    total = sum(sum(model.bits(row)) for row in rows)
    count = sum(len(row) - 1 for row in rows)
    unknown = sum(row.count(UNK) for row in rows) / count
    each, seconds = total / charged.characters, time.perf_counter() - begin
    return [Spoken(name, f"{order}-grams", each, each, 0.0, 0.0, 2 ** (total / count), unknown, seconds)]


@torch.no_grad()
def ours(name: str, charged: Charged) -> Spoken:
    """A language model by words that was trained on the same training part."""
    begin, run = time.perf_counter(), open_run(name)
    if not isinstance(run, LanguageRun) or not isinstance(run.reader, WordTokenizer):
        raise ValueError(f"{name} must be a language model by words")
    reader, model = run.reader, run.gpt
    texts = [[reader.ids.get(word, UNK) for word in words] for words in charged.held_words]
    rows = pieces(texts, model.config.context, START)
    table = TokenTable.of(rows, width=model.config.context + 1, tokenizer=reader, device=torch.device("cpu"))
    bits: list[float] = []
    for at in torch.arange(len(rows)).split(32):
        tokens, targets = pairs(*table.rows(at))
        losses = cross_entropy(
            model(tokens).flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED, reduction="none"
        )
        bits += (losses[targets.flatten() != IGNORED] / log(2)).tolist()
    known = set(reader.words[UNK + 1 :])
    return charged.by_words(f"{name}, by words", f"{sum(x.numel() for x in model.parameters()):,} parameters",
                            bits, known, begin)  # fmt: skip
