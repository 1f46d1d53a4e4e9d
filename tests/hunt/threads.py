"""Threads on shared models, runs and settings: each gets what it would get alone, and nothing is left behind.

Every public function of `probe` and `zoo`, generating and streaming in every way, asked about different
inputs at the same time. Values must be the same to the last bit.
"""

import json
import random
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import torch

from tests.hunt.found import Found
from tests.hunt.shared import VARIANTS, World, jobs_of

THREADS = 4


def hunt(times: int, seed: int, only: tuple[str, ...] = ()) -> Found:
    """So many rounds of threads, each asking several random questions about the shared models.

    `only` these are asked, by their names or beginnings of names.
    """
    found = Found()
    with tempfile.TemporaryDirectory() as folder, impatient():
        world = World(Path(folder))
        jobs = jobs_of(world, only)
        alone: dict[tuple[str, int], object] = {}
        before = world.state()
        for number in range(times):
            draw = random.Random(f"threads {seed} {number}")
            asked = [
                [(draw.choice(list(jobs)), draw.randrange(VARIANTS)) for _ in range(3)]
                for _ in range(THREADS)
            ]
            if draw.random() < 0.5:  # all of them at one door
                name = draw.choice(list(jobs))
                asked = [[(name, (i + j) % VARIANTS) for j in range(3)] for i in range(THREADS)]
            for question in {question for each in asked for question in each} - set(alone):
                alone[question] = jobs[question[0]](question[1])
            for (name, i), answer in together(jobs, asked):
                same = answer == alone[name, i]
                told = f"seed {seed}, round {number}, input {i}: {str(answer)[:300]}"
                found.add(name.partition(":")[0], None if same else f"{name}, {told}")
            if (after := world.state()) != before:
                found.add("state", f"seed {seed}, round {number}: {asked} left {_apart(before, after)}")
                before = after
            else:
                found.add("state")
    return found


def together(jobs, asked):
    """(question, answer) of threads that begin at the same time; an exception is an answer, too."""
    answers, begin = [], threading.Barrier(len(asked))

    def work(questions):
        begin.wait()
        for name, i in questions:
            try:
                answer = jobs[name](i)
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            answers.append(((name, i), answer))

    threads = [threading.Thread(target=work, args=(questions,)) for questions in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@contextmanager
def impatient():
    """Threads take turns all the time, and torch has none of its own."""
    turns, count = sys.getswitchinterval(), torch.get_num_threads()
    sys.setswitchinterval(1e-5)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        sys.setswitchinterval(turns)
        torch.set_num_threads(count)


def _apart(before, after):
    return json.dumps(
        {key: (str(before[key])[:200], str(after[key])[:200]) for key in before if before[key] != after[key]}
    )
