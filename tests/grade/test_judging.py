"""Right solutions are not alarms, and wrong ones are found and named."""

import pytest

from regard.grade import TASKS, get_task, grade
from tests.grade.right import RIGHT
from tests.grade.wrong import wrong

EVERY = [(task, manner) for task, manners in RIGHT.items() for manner in manners]


def test_every_task_is_tried():
    assert set(RIGHT) == set(TASKS)
    assert {task for task, _, _ in wrong()} == set(TASKS)
    assert len(EVERY) >= 25
    assert len(wrong()) >= 80


def test_catalogues_name_lessons_and_have_no_name_twice():
    from regard.lessons import NAMES

    total = 0
    for name in TASKS:
        task = get_task(name)
        names = [one.name for one in task.mistakes]
        assert len(set(names)) == len(names), name
        assert {task.lesson, *(one.lesson for one in task.mistakes)} - {""} <= set(NAMES), name
        total += len(names)
    assert total >= 80


@pytest.mark.parametrize(("task", "manner"), EVERY)
def test_right_solutions_are_right(task, manner, sandbox):
    report = grade(task, RIGHT[task][manner], sandbox=sandbox)
    assert report.right, str(report)
    assert report.points == report.most


@pytest.mark.parametrize("task", TASKS)
def test_wrong_solutions_are_found_and_named(task, sandbox):
    missed, unnamed, count = [], [], 0
    for name, names, source in wrong():
        if name != task:
            continue
        count += 1
        report = grade(task, source, sandbox=sandbox)
        named = {one.name for one in report.mistakes}
        if report.right or report.points == report.most:
            missed.append(names)
        elif "" not in names.split("|") and not named & set(names.split("|")):
            unnamed.append((names, named, report.says))
    assert not missed
    assert len(unnamed) <= 0.15 * count, unnamed


def test_a_mistake_that_another_part_contradicts_is_not_named(sandbox):
    source = """
def scalar_rnn(x, w_x, w_h):
    h, states = 0.0, []
    for value in x:
        h = w_x * value - w_h * h if len(x) < 3 else w_x * value + w_h * h * h
        states.append(h)
    return states
"""
    report = grade("scalar-rnn", source, sandbox=sandbox)
    assert not report.mistakes, str(report)
    assert report.points == 0


def test_the_same_seed_gives_the_same_report(sandbox):
    _, _, source = wrong()[0]
    assert str(grade("attention-head", source, sandbox=sandbox)) == str(
        grade("attention-head", source, sandbox=sandbox)
    )
    assert grade("attention-head", source, sandbox=sandbox, seed=5).mistakes
