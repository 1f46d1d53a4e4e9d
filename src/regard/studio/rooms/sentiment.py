"""Sentiment: a verdict while you type, the words that made it, and what it would be without each of them."""

from __future__ import annotations

from dataclasses import dataclass

from regard.errors import need
from regard.paper.quantities import chance, signed
from regard.probe import text_html
from regard.studio import limits, show
from regard.studio.budget import Budget
from regard.studio.controls import FAST
from regard.studio.models import Models
from regard.train.runs.texts import TextRun

gr = need("gradio", "studio")

STEPS = 8  # of the integrated gradient
WORDS = 24  # that are left out in turn
KEPT = 6  # verdicts that are remembered
DEFAULT = "zoo:sentiment"
# Judged right by the model that ships, as a test checks.
EXAMPLES = (
    ("I expected little, and got a wonderful film.", "positive"),
    ("It starts well, but the ending is awful.", "negative"),
    ("A warm, funny film, and the best thing I saw all year.", "positive"),
)
FIRST = EXAMPLES[0][0]


@dataclass(frozen=True)
class PastVerdict:
    """A text and what it was taken for."""

    text: str
    label: str
    probability: float


def asked(models: Models, name: str, text: object) -> tuple[TextRun, str]:
    """A run that has so many seconds from now, and a text that is not too long for it."""
    run = models.open(name, TextRun)
    given = limits.text("a text", text, limits.TEXT)
    limits.tokens("a text", run.reader.encode(given))
    return Budget().of(run), given


def answer(run: TextRun, text: str) -> str:
    """The verdict, and the text coloured by attention and by gradient."""
    return text_html(run.look_at(text, steps=STEPS))


def without(run: TextRun, text: str) -> str:
    """The verdict on the text with each word left out, those that change it most first."""
    words = text.split()
    if not 2 <= len(words) <= WORDS:
        return show.note(
            f"Words are left out in turn for texts of 2 to {WORDS} words, this one has {len(words)}."
        )
    variants = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
    whole = run.predict_text(text)
    rows = []
    for word, variant in zip(words, variants, strict=True):
        try:
            found = run.predict_text(variant)
        except ValueError:  # nothing is left that the model knows
            continue
        rows.append((word, found, found.probabilities[whole.label] - whole.probability))
    rows.sort(key=lambda row: -abs(row[2]))
    body = [
        (f"“{word}”", f"{found.label} {chance(found.probability)}", signed(100 * moved, 1))
        for word, found, moved in rows[:8]
    ]
    return show.table(("left out", "verdict", "change, points"), body)


def remember(past: tuple[PastVerdict, ...], run: TextRun, text: str) -> tuple[PastVerdict, ...]:
    """The last verdicts, the newest first; a text that was only typed on replaces what it grew from."""
    found = run.predict_text(text)
    new = PastVerdict(text, found.label, found.probability)
    if past and (text.startswith(past[0].text) or past[0].text.startswith(text)):
        past = past[1:]
    return (new, *(one for one in past if one.text != text))[:KEPT]


def history(past: tuple[PastVerdict, ...]) -> str:
    """The alternatives that were tried."""
    rows = [
        (one.text if len(one.text) < 90 else one.text[:88] + "…", one.label, chance(one.probability))
        for one in past
    ]
    return show.table(("what you tried", "verdict", "sure"), rows)


def build(models: Models) -> None:
    """A box to type in, the verdict, and the words behind it."""
    names = models.names(TextRun)
    gr.HTML(show.note("A verdict while you type; orange words spoke for it, blue ones against."))
    if not names:
        gr.HTML(show.fault(models.missing(TextRun)))
        return
    first = models.first(TextRun, DEFAULT)
    run = models.open(first, TextRun)
    past = gr.State(remember((), run, FIRST))
    with gr.Row(elem_classes="bar-row"):
        name = gr.Dropdown(names, value=first, label="model", min_width=200, elem_id="sentiment-model")
        example = gr.Dropdown(
            [text for text, _ in EXAMPLES], value=FIRST, label="an example", min_width=260, scale=2
        )
    text = gr.Textbox(FIRST, label="text", lines=3, max_lines=10, elem_id="review")
    with gr.Row(equal_height=False):
        with gr.Column(scale=3, min_width=300):
            result = gr.HTML(answer(run, FIRST), elem_id="verdict")
        with gr.Column(scale=2, min_width=300):
            tried = gr.HTML(history(past.value), elem_id="tried")
            fewer = gr.HTML(without(run, FIRST), elem_id="fewer")

    def judge(name: str, text: str, past: tuple[PastVerdict, ...]) -> tuple[str, object, object]:
        try:
            run, given = asked(models, name, text)
            past = remember(past, run, given)
            return answer(run, given), past, history(past)
        except ValueError as error:
            return show.fault(error), past, gr.skip()

    def vary(name: str, text: str) -> str:
        try:
            return without(*asked(models, name, text))
        except ValueError:
            return ""

    example.input(lambda one: one, example, text, **FAST)
    judged = gr.on([text.change, name.input], judge, [name, text, past], [result, past, tried], **FAST)
    judged.then(vary, [name, text], fewer, **FAST)
