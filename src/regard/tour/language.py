"""The tour trains a small GPT on the embedded play, and shows what it says before and after."""

from __future__ import annotations

import math
import re
from html import escape

import torch
from rich.columns import Columns
from rich.panel import Panel
from rich.text import Text

from regard.cost import price
from regard.data import Corpus, load
from regard.data.draws import generator
from regard.data.tokenizers import Tokenizer
from regard.models import GPT
from regard.paper.tables import described
from regard.tour.curves import curves_html
from regard.tour.runs import TourRuns
from regard.tour.stop import Bill, Stop
from regard.train.task import TaskSetting

RECIPE = "play-gpt"
SPEAKERS = ("MERRIN", "HOB", "BRAND")
LONGEST = 220  # characters of one sample


def language(runs: TourRuns) -> Stop:
    """The next character, learnt from one play."""
    corpus = load("play")
    assert isinstance(corpus, Corpus)
    trained = runs.train(RECIPE)
    recipe = trained.recipe
    task = recipe.task.build(TaskSetting(torch.device("cpu"), recipe.seed))
    newborn = task.model(generator(recipe.seed, "weights")).eval()  # what the training began with
    model = trained.run.model
    assert isinstance(model, GPT)
    before, after = speak(newborn, task.tokenizer), speak(model, task.tokenizer)
    cost = price(model.config, tokens=model.config.context, batch=recipe.batch, training=True)
    bill = Bill.of(trained, cost, f"{recipe.batch} windows of {model.config.context} characters")
    scores = trained.result.scores
    bits, guess = scores["bits_per_character"], math.log2(model.config.vocab_size)
    copied = max((longest_copy(text, corpus.text) for text in after), key=len)
    intro = (
        f"A GPT of {cost.parameters:,} parameters reads “play”, a comedy of {len(corpus.text):,} characters "
        "written for this project, and learns to guess the next character. Speakers, line ends and words "
        "are nowhere told to it."
    )
    found = (
        f"On the last part of the play, which it never saw, it needs {bits:.2f} bits for a character; "
        f"guessing blindly among its {model.config.vocab_size} tokens would take {guess:.2f}."
    )
    copy = f"The longest stretch above that stands in the play word for word: “{one_line(copied)}”."
    cards = "\n".join(
        f'<div class="card"><h3>{when}</h3>\n{"".join(_said(text) for text in texts)}</div>'
        for when, texts in (("Before", before), (f"After {bill.steps:,} steps", after))
    )
    lines = {"blind guess": guess}
    use = (
        f'regard generate {trained.run.folder} --prompt "{SPEAKERS[0]}:" --tokens {model.config.context // 2}'
    )
    html = (
        f'<p>{intro}</p>\n<div class="cards">{cards}</div>\n<p>{escape(copy)} {found}</p>\n'
        f"{curves_html(trained.rows, 'bits_per_character', 'bits per character, held out', lines)}\n"
        f"{bill.html(use)}"
    )
    panels = [Panel(Text("\n\n".join(texts), overflow="fold"), title=when, width=38)
              for when, texts in (("before", before), ("after", after))]  # fmt: skip
    return Stop(
        html,
        [intro, Columns(panels), f"{copy} {found}", described(bill.rows())],
        {"scores": scores, "before": before, "after": after, "copied": copied, **bill.as_dict()},
        bill,
        f"{bits:.2f} bits/character",
        (f"{bits:.2f}", "bits for a character of a play, by a small GPT"),
    )


@torch.no_grad()
def speak(model: GPT, tokenizer: Tokenizer) -> list[str]:
    """What the model lets each speaker say, always with the same luck."""
    prompts = [torch.tensor(tokenizer.encode(f"{name}:\n")) for name in SPEAKERS]
    room = min(LONGEST, model.config.context - max(map(len, prompts)))
    draws = torch.Generator().manual_seed(0)
    found = model.generate(prompts, max_new_tokens=room, temperature=0.7, generator=draws)
    return [tokenizer.decode(row.tolist()).strip() + " …" for row in found]


def longest_copy(text: str, source: str) -> str:
    """The longest part of a text that the source holds as well.

    >>> longest_copy("a cold grey morning", "the grey morning came")
    ' grey morning'
    """
    best, start = "", 0
    for end in range(1, len(text) + 1):
        while text[start:end] not in source:
            start += 1
        best = max(best, text[start:end], key=len)
    return best


def one_line(text: str) -> str:
    """A text with its line ends as strokes.

    >>> one_line("HOB:\\nAye.")
    'HOB: / Aye.'
    """
    return " / ".join(re.split(r"\n+", text.strip()))


def _said(text: str) -> str:
    """A sample in which the names of speakers stand out."""
    marked = re.sub(r"^([A-Z ]{2,}:)$", r"<b>\1</b>", escape(text), flags=re.MULTILINE)
    return f'<pre class="said">{marked}</pre>'
