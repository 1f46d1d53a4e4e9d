"""Runs of every kind that are killed at random events on their files, again and again, and go on: the final
weights, optimiser, best model and record are, to the bit, those of the run that nobody disturbed.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from regard.files import remove
from tests.hunt._trials import KINDS, NEVER, Whole, chance, finished, quick_disk, train, undisturbed
from tests.hunt.found import Found
from tests.train.forks import Fork
from tests.train.same import difference, losses

MOST = 3  # kills of one run
CLOSE = 1e-5  # what the losses may differ by once another number of processes went on


def hunt(times: int, seed: int) -> Found:
    """Kill `times` runs, all kinds in turn."""
    found = Found()
    whole: dict[str, Whole] = {}
    with quick_disk() as folder:
        number = 0
        while (left := times - sum(found.tried.values())) > 0:
            kind = list(KINDS)[(seed + number) % len(KINDS)]
            if kind not in whole:
                whole[kind] = undisturbed(folder, kind)
            _one(folder / str(number), kind, whole[kind], chance(seed, number), min(MOST, left), found)
            number += 1
    return found


def _one(place: Path, kind: str, whole: Whole, luck: Random, most: int, found: Found) -> None:
    """One run of a kind, killed so often, or a few times less."""
    place.mkdir()
    what, told, kills, same = KINDS[kind], [], 0, True
    run, wanted = place / "run", luck.randint(1, most)
    while True:
        world, accident = what.world, NEVER
        if told and what.worlds and luck.random() < 0.5:
            world, same = luck.choice(what.worlds), False
        rank = luck.randrange(world)
        if kills < wanted:
            accident = rank, luck.randint(1, whole.events[min(rank, 1)]), luck.random()
        forks = what.start(place / f"log {len(told)}", train, str(run), accident, world=world)
        ends = _ends(forks, rank, all_at_once=luck.random() < 0.5)
        told.append(f"{world} process(es), {accident}: {[code for code, _ in ends]}")
        if ends[rank][0] == -9:
            kills += 1
            found.add(kind)
            continue
        if any(code for code, _ in ends):
            found.faults.append(f"{kind}: {told}: {ends}")
            return
        if kills:
            break
    wrong = difference(whole.folder, run) if same else _far(losses(whole.folder), losses(run))
    if wrong is not None:
        found.faults.append(f"{kind}: {told}: {wrong}")
    remove(place)


def _ends(forks: list[Fork], rank: int, *, all_at_once: bool) -> list[tuple[int, str]]:
    """How all processes ended; those that lost one are killed with it, or must see for themselves."""
    first = finished([forks[rank]])[0]
    if first[0] == -9 and all_at_once:
        for one in forks:
            one.kill()
    rest = iter(finished([one for i, one in enumerate(forks) if i != rank]))
    return [first if i == rank else next(rest) for i in range(len(forks))]


def _far(a: list[float], b: list[float]) -> str | None:
    near = len(a) == len(b) and all(abs(x - y) <= CLOSE for x, y in zip(a, b, strict=True))
    return None if near else f"the losses differ: {a} and {b}"
