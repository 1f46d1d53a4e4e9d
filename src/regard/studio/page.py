"""The page: seven rooms behind one row of tabs."""

from __future__ import annotations

from collections.abc import Callable

from regard.errors import need
from regard.studio import show
from regard.studio.models import Models
from regard.studio.rooms import costs, dialogue, lessons, patterns, recurrence, sentiment, sharing, vision

gr = need("gradio", "studio")


def _recurrence(models: Models) -> None:
    recurrence.build(models)
    sharing.build(models)


ROOMS: dict[str, Callable[[Models], None]] = {
    "Patterns": patterns.build,
    "Costs": costs.build,
    "Vision": vision.build,
    "Dialogue": dialogue.build,
    "Sentiment": sentiment.build,
    "Recurrence": _recurrence,
    "Lessons": lessons.build,
}
TITLE = '<h1>Regard</h1><p class="quiet">Sequence models you can see, count and run.</p>'


def blocks(models: Models) -> object:
    """All rooms; at most four visitors are answered at once, and sixty-four may wait."""
    with gr.Blocks(title="Regard studio", analytics_enabled=False, delete_cache=(600, 3600)) as page:
        gr.HTML(TITLE, elem_classes="masthead")
        for fault in models.faults:
            gr.HTML(show.fault(fault))
        with gr.Tabs():
            for name, build in ROOMS.items():
                with gr.Tab(name, id=name.lower()):
                    build(models)
    page.queue(max_size=64, default_concurrency_limit=4, api_open=False)
    return page
