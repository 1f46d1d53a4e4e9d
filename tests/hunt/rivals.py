"""Several processes in one run's folder at once: one trains, the others leave with one line and touch none of
it, and the run is to the bit the one that nobody disturbed, also where the one that trains is killed.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

from regard.files import remove
from tests.hunt._trials import KINDS, NEVER, Accident, Whole, chance, finished, quick_disk, train, undisturbed
from tests.hunt.found import Found
from tests.train.same import difference

USED = ("images", "windows", "two stages")


def hunt(times: int, seed: int) -> Found:
    """Let `times` groups of two to four processes meet in a folder."""
    found, whole = Found(), {}
    with quick_disk() as folder:
        for number in range(times):
            kind = USED[(seed + number) % len(USED)]
            if kind not in whole:
                whole[kind] = undisturbed(folder, kind)
            place = folder / str(number)
            place.mkdir()
            try:
                found.add(f"{kind}: {_one(place, kind, whole[kind], chance(seed, number))}")
            except AssertionError as error:
                found.add(f"{kind}: wrong", str(error))
            remove(place)
    return found


def _one(place: Path, kind: str, whole: Whole, luck: Random) -> str:
    run, many = place / "run", luck.randint(2, 4)
    killed = luck.random() < 0.5
    forks = []
    for number in range(many):
        accident: Accident = NEVER
        if number == 0 and killed:
            accident = (0, luck.randint(1, whole.events[0]), luck.random())
        forks += KINDS[kind].start(place / f"log {number}", late, str(run), accident, luck.random() * 0.3)
    ends = finished(forks)
    refused = 0
    for code, text in ends:
        assert code in (0, 2, -9), f"ended with {code}: {text}"
        if code == 2:
            refused += 1
            lines = [line for line in text.splitlines() if line]
            assert len(lines) == 1, text
            assert "is in use by " in lines[0], text
    if any(code == -9 for code, _ in ends):  # its lock stays, however late it came, until the next one starts
        ends = finished(KINDS[kind].start(place / "then", train, str(run), NEVER))
        assert ends[0][0] == 0, ends
    wrong = difference(whole.folder, run)
    assert wrong is None, f"{wrong}: {ends}"
    return f"{refused} of {many} refused"


def late(recipe: str, changes: dict[str, Any], folder: str, accident: Accident, seconds: float) -> None:
    """Train after a while."""
    time.sleep(seconds)
    train(recipe, changes, folder, accident)
