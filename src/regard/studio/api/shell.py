"""What the page asks before any room does: which models there are."""

from __future__ import annotations

from regard.studio.api.body import Body
from regard.studio.models import here, kind, listed_kinds


def models(body: Body) -> dict[str, object]:
    """Names and kinds of all models, named ones first, and what could not be opened."""
    found = here()
    return {
        "models": [
            *({"name": name, "kind": kind(run)} for name, run in found.runs.items()),
            *({"name": name, "kind": word} for name, word in listed_kinds().items()),
        ],
        "faults": list(found.faults),
    }
