"""Lessons: the answers of `regard lesson`, computed when asked for, and a place to check your own."""

from __future__ import annotations

from collections.abc import AsyncIterator

from regard.errors import need
from regard.lessons import NAMES, check, get
from regard.lessons.parts import Picture
from regard.lessons.render.markdown import markdown
from regard.paper.figures import drawn
from regard.paper.pages import inline
from regard.studio import limits, show
from regard.studio.models import Models
from regard.studio.work import WORK, shown, within

LONGEST = 300  # characters of an answer


def computed(name: str) -> str:
    """A lesson as Markdown with its pictures inside, every number from this machine and this run."""
    answer = get(name).run()
    count = len(answer.checks)
    checks = "1 check, which holds" if count == 1 else f"{count} checks, all of which hold"
    held = f"*{checks}; computed here in {answer.seconds:.1f} s.*"
    if not answer.holds:
        held = "**A check failed on this machine.**"
    text = markdown(answer, _inside)
    title, _, rest = text.partition("\n")
    return f"{title}\n\n{held}\n{rest}"


def _inside(picture: Picture) -> str:
    return inline(drawn(picture.draw(), "png", dpi=110), "image/png")


def verdict(name: str, asked: str, given: str) -> str:
    """What is said about an answer to one exercise."""
    if name not in NAMES:
        raise ValueError(f"no lesson is called {str(name)[:60]!r}")
    text = limits.text("an answer", given, LONGEST).strip()
    if not text:
        raise ValueError("write a formula, such as n(n+1)/2")
    found = check(name, f"{asked}={text}")[0]
    kind = "good" if found.right else "bad"
    more = "".join(map(show.note, found.details))
    return f'<p class="{kind}"><strong>{show.escape(found.says)}</strong></p>{more}'


def build(models: Models) -> None:
    """A list of lessons, the chosen one, and a box for an answer of your own."""
    gr = need("gradio", "studio")
    titles = [(get(name).title, name) for name in NAMES]
    gr.HTML(
        show.note(
            "Theory questions answered by running code: formulas derived, numbers measured, claims checked."
        )
    )
    with gr.Row(elem_classes="bar-row"):
        name = gr.Dropdown(titles, value=NAMES[0], label="lesson", scale=3, min_width=260, elem_id="lesson")
        start = gr.Button("Compute now", variant="primary", min_width=130, elem_id="compute")
        stop = gr.Button("Stop", min_width=80, elem_id="lesson-stop")
    fault = gr.HTML("", elem_id="lesson-fault")
    text = gr.Markdown(
        f"*{get(NAMES[0]).question}*", elem_id="lesson-text", elem_classes="lesson", sanitize_html=False,
        latex_delimiters=[{"left": "$$", "right": "$$", "display": True}],
    )  # fmt: skip
    with gr.Row(elem_classes="bar-row"):
        asked = gr.Dropdown(
            _exercises(NAMES[0]), label="your turn", scale=2, min_width=260, elem_id="exercise"
        )
        given = gr.Textbox(
            "", label="your answer", placeholder="n(n+1)/2", scale=2, min_width=200, elem_id="given"
        )
        judge = gr.Button("Check", min_width=90, elem_id="check")
    said = gr.HTML("", elem_id="judged")

    async def work(name: str, anew: bool = False) -> AsyncIterator[tuple[str, object]]:
        try:
            if name not in NAMES:
                raise ValueError(f"no lesson is called {str(name)[:60]!r}")
            yield show.note("Deriving, measuring and checking: some seconds …"), gr.skip()
            if anew or name not in known:
                known[name] = await within(computed, name, seconds=limits.LONG)
            yield "", known[name]
        except ValueError as error:
            yield show.fault(error), gr.skip()

    async def again(name: str) -> AsyncIterator[tuple[str, object]]:
        async for step in work(name, anew=True):
            yield step

    async def turn(name: str, asked: str, given: str) -> str:
        return await shown(verdict, name, asked, given)

    known: dict[str, str] = {}  # lessons as they were computed last

    def choose(name: str) -> tuple[object, object, str]:
        known = name in NAMES
        exercises = _exercises(name) if known else []
        first = exercises[0][1] if exercises else None
        return gr.update(choices=exercises, value=first), f"*{get(name).question}*" if known else "", ""

    chosen = name.input(choose, name, [asked, text, said], show_progress="hidden")
    how = {"show_progress": "minimal", "concurrency_limit": 1, "concurrency_id": "lessons"}
    going = chosen.then(work, name, [fault, text], **how)
    newly = start.click(again, name, [fault, text], **how)
    stop.click(lambda: show.note("Stopped."), None, fault, cancels=[going, newly])
    gr.on([judge.click, given.submit], turn, [name, asked, given], said, **WORK)


def _exercises(name: str) -> list[tuple[str, str]]:
    return [(f"{one.name}: {one.asks}", one.name) for one in get(name).exercises]
