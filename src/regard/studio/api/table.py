"""Every action of the studio's API, `POST /api/<room>/<action>`: how long it may take, whether it streams.

`patterns/formula` is the function `formula` of `regard.studio.api.patterns`, which takes a `Body` and gives a
dict, or yields dicts where it streams. It runs in a worker process; the server itself imports no torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from regard.studio import limits


@dataclass(frozen=True)
class Action:
    """A question that can be asked."""

    seconds: int = limits.SECONDS
    streams: bool = False  # a line of JSON for each part


ELSEWHERE = {"token": "one_token"}  # a room whose file has another name: Python has a module `token`
STREAM = Action(limits.LONG, streams=True)

TABLE: dict[str, Action] = {
    # the page itself
    "shell/models": Action(),
    # patterns
    "patterns/pairs": Action(),
    "patterns/count": Action(),
    "patterns/formula": Action(),
    "patterns/exchange": Action(),
    # token
    "token/models": Action(),
    "token/step": Action(),
    "token/append": Action(),
    # costs
    "costs/models": Action(),
    "costs/price": Action(),
    "costs/curves": Action(),
    "costs/formula": Action(),
    "costs/exchange": Action(),
    # vision
    "vision/model": Action(),
    "vision/pictures": Action(),
    "vision/read": Action(),
    "vision/look": Action(),
    "vision/gradient": Action(),
    "vision/several": Action(),
    "vision/hide": STREAM,
    "vision/check": STREAM,
    # language
    "language/models": Action(),
    "language/write": STREAM,
    "language/attention": Action(),
    # sentiment
    "sentiment/model": Action(),
    "sentiment/verdict": Action(),
    "sentiment/gradient": Action(),
    "sentiment/without": Action(),
    "sentiment/flip": STREAM,
    # recurrence
    "recurrence/share": Action(),
    # lessons
    "lessons/titles": Action(),
    "lessons/lesson": STREAM,
    "lessons/read": Action(),
    "lessons/check": Action(),
    "lessons/hint": Action(),
    "lessons/file": STREAM,
    "lessons/tasks": Action(),
    "lessons/skeleton": Action(),
    "lessons/grade": STREAM,
    # runs
    "runs/overview": Action(),
    "runs/records": Action(),
    "runs/differences": Action(),
}
