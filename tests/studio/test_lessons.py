"""The Lessons room in a real browser: lessons, widgets, exercises with their verdicts, own code graded."""

import json
import re
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from regard.grade import TASKS, get_task, grade
from regard.grade.sandbox import NoIsolation
from regard.lessons import NAMES, check, get
from regard.lessons.hints import hints
from regard.studio.api import lessons_code
from regard.studio.api.body import Body
from regard.studio.app import ROOT
from regard.studio.limits import FieldError
from tests.grade.right import RIGHT

ROOMS = ROOT / "studio" / "page" / "rooms"
TRIANGLE = "import torch\n\n\ndef autoregressive_mask(T):\n    return torch.ones(T, T).triu()\n"
QUICK = "rnn-recurrences"  # a lesson of a moment's work
MASKS = next(iter(RIGHT["masks"].values()))


def opened(seen, state):
    """The room, once its lessons are listed."""
    seen.room("lessons", state)
    seen.page.wait_for_selector(".lessons", timeout=90_000)
    return seen


def computed(seen, lesson=QUICK):
    """A lesson, read to its end."""
    opened(seen, f"lesson={lesson}")
    seen.page.wait_for_selector(".foot .button.main", timeout=60_000)
    return seen


def answering(seen, state):
    opened(seen, f"view=turn&{state}")
    seen.page.wait_for_selector(".answering")
    return seen


def coding(seen, task="masks"):
    opened(seen, f"view=code&task={task}")
    seen.page.wait_for_function("() => document.querySelector('[data-key=source]').value !== ''")
    return seen


def holds(seen, source):
    script = "(text) => document.querySelector('[data-key=source]').value === text"
    seen.page.wait_for_function(script, arg=source)


def graded(seen, source):
    seen.key("source").fill(source)
    seen.page.get_by_role("button", name="Grade", exact=True).click()
    seen.page.wait_for_selector("[data-read=points]", timeout=60_000)
    seen.page.wait_for_selector(".report:not(.stale)")
    return seen.read("points")


@pytest.fixture(scope="module")
def reported():
    """What the grader says of a wrong solution."""
    return grade("masks", TRIANGLE).as_dict()


def test_it_looks_right_everywhere(everywhere, reported):
    seen = computed(everywhere)
    assert (seen.fits(), seen.unreadable()) == (True, [])
    answering(seen, f"lesson={QUICK}&exercise=first&answer=b*a^T&checked=1&hints=2")
    seen.page.wait_for_selector(".verdict.bad")
    seen.page.wait_for_selector(".hints li")
    seen.page.wait_for_selector(".reading math")
    assert (seen.fits(), seen.unreadable()) == (True, [])
    lines = "\n".join(json.dumps(one) for one in ({"stage": "x"}, {"report": reported}))
    seen.page.route("**/api/lessons/grade", lambda route: route.fulfill(body=lines))
    coding(seen)
    graded(seen, TRIANGLE)
    assert (seen.fits(), seen.unreadable()) == (True, [])
    seen.clean()


@pytest.mark.parametrize(
    ("state", "there"),
    [(f"lesson={QUICK}", ".foot .button"), (f"view=turn&lesson={QUICK}&hints=2", ".hints li"),
     ("view=code", ".homework")],
)  # fmt: skip
def test_axe_finds_nothing_serious(visit, state, there):
    seen = opened(visit(), state)
    seen.page.wait_for_selector(there)
    assert seen.axe() == []


def test_a_lesson_shows_what_python_computes(visit):
    lesson = get(QUICK)
    answer = lesson.run()
    seen = computed(visit())
    page = seen.page
    assert page.locator(".lessons h2").first.inner_text() == lesson.title
    kinds = [type(part).__name__ for part in answer.parts]
    places = {"Formula": ".formula math", "Check": ".check", "Table": "table", "Picture": ".drawn img"}
    found = {name: page.locator(f".prose {where}").count() for name, where in places.items()}
    assert found == {name: kinds.count(name) for name in found}
    text = page.locator(".prose").inner_text()
    for one in answer.checks:
        assert one.seen in text
    assert "_" not in page.locator(".prose > p").all_inner_texts()[1].replace("x_", "")  # no raw x_1
    seen.clean()


def test_every_lesson_has_something_to_play_with():
    source = (ROOMS / "lessons_widgets.js").read_text(encoding="utf-8")
    keys = re.findall(r'^  "([a-z-]+) (\w+)": (?:play|PATTERN|\{)', source, re.MULTILINE)
    assert {lesson for lesson, _ in keys} == set(NAMES)
    for lesson, step in keys:
        assert step in [getattr(one, "__name__", "") for one in get(lesson).steps], (lesson, step)


@pytest.fixture
def played(visit):
    """A page with one widget, whatever lesson it belongs to; gives a function that opens it."""
    seen = opened(visit(), f"view=turn&lesson={QUICK}")

    def go(key):
        seen.page.evaluate(
            """async (key) => {
            const { WIDGETS } = await import("/studio/page/rooms/lessons_widgets.js");
            const { State } = await import("/studio/page/parts/state.js");
            const made = WIDGETS[key], state = new State(made.defaults, made.clean);
            const widget = made.make(state), at = document.createElement("figure");
            at.className = "live"; at.append(widget.element);
            document.querySelector("main").replaceChildren(at);
            state.watch((values) => widget.show(values)); }""",
            key,
        )
        return seen

    return go


def bar(seen, name):
    return seen.page.locator(f"[data-count='{name}'] b").inner_text()


PLAYED = [
    ("counting-attention grids", {"n": 10, "t": 12}, ["55 marks", "(2n−t)(t+1)/2", "too few"]),
    ("rnn-recurrences unrolled", {"a": 0.5, "T": 4}, ["0.125", "0.25", "0.5", "Early inputs fade"]),
    ("linear-attention arrangements", {"T": 1024, "d": 64}, ["134,217,728", "8,388,608", "16 times cheaper"]),
    ("attention-complexity where", {"n": 512, "d": 256}, ["134,217,728", "Equal at n = 2d = 512", "50 %"]),
    ("positions rotary", {"n": 4, "m": 0.5}, ["−1.5", "−0.5"]),
    ("heads in_a_sentence", {"s": 3}, ["25 %", "75 %", "The right one"]),
    ("rnn-or-transformer share_of_first", {"a": 0.9, "T": 20}, ["After 20 steps: 0.1351"]),
    ("why-generation-is-slow cache_size", {"T": 100, "L": 2, "d": 64}, ["5,050", "25,600", "51,200"]),
    ("masks-and-losses two_masks", {"z": 1}, ["73.1 %", "42.2 %", "sum to 57.8 %"]),
    ("attention-copies rows", {"beta": 1}, ["0.67", "0.24", "0.58"]),
    ("weight-sharing matrix", {"n": 7, "k": 2, "stride": 2}, ["= 3", "6 weights"]),
    ("grid-rnn wiring", {"rows": 3, "cols": 3, "step": 3}, ["3 + 3 − 1 = 5", "6 of 9 cells, 3 of them now"]),
]  # fmt: skip


def test_widgets_compute_what_they_say(played):
    for key, given, wanted in PLAYED:
        seen = played(key)
        for name, value in given.items():
            seen.slide(name, value)
        for text in wanted:
            seen.page.wait_for_function(
                "(text) => document.querySelector('main').textContent.includes(text)", arg=text, timeout=5000
            )
    seen.clean()


def test_a_widget_is_in_the_address(visit):
    seen = computed(visit())
    seen.slide("T", 3)
    seen.wait_state("live=T%3D3")
    assert "0.25" not in seen.page.locator(".live").inner_text()
    again = visit()
    again.page.goto(seen.page.evaluate("location.href"))
    again.page.wait_for_selector(".live svg g:nth-of-type(3)")
    assert again.page.locator(".live svg g").count() == 3


def test_answers_are_read_while_one_types(visit):
    seen = answering(visit(), "lesson=counting-attention&exercise=strided")
    seen.write("answer", r"\frac{N(k+1)}{2}")
    seen.wait("reading", "N stands for n")
    assert seen.page.locator(".reading mfrac").count() == 1
    seen.write("answer", "(n")
    seen.page.get_by_text("a bracket is not closed").wait_for()
    assert seen.page.locator(".reading math").count() == 0
    seen.write("answer", "")
    seen.page.get_by_role("button", name="Check").click()
    seen.page.get_by_text("write an answer first").wait_for()
    seen.clean()


def test_a_verdict_belongs_to_its_answer_and_its_exercise(visit):
    seen = answering(visit(), "lesson=counting-attention")
    seen.write("answer", "n^2/2")
    seen.page.get_by_role("button", name="Check").click()
    wanted = check("counting-attention", "autoregressive = n^2/2")[0]
    seen.wait("verdict", wanted.says)
    assert wanted.details[0] in seen.read("verdict")
    seen.page.locator("[data-key=answer]").press("End")
    seen.page.keyboard.type("+n/2")
    seen.page.wait_for_function("() => document.querySelector('[data-read=verdict]').innerText === ''")
    seen.page.keyboard.press("Enter")
    seen.wait("verdict", "right on the domain")
    assert seen.page.locator(".solved").count() == 1
    seen.page.get_by_role("button", name="Next exercise").click()
    seen.page.wait_for_function("() => document.querySelector('[data-read=verdict]').innerText === ''")
    assert seen.key("answer").input_value() == ""
    assert seen.page.locator("[aria-expanded=true]").inner_text().startswith("2")
    seen.page.reload()
    seen.page.wait_for_selector(".solved")
    assert seen.page.locator("[aria-current] .done").inner_text() == "1/3"
    seen.page.locator(".exercises button").first.click()
    seen.wait("verdict", "right on the domain")  # what was solved is still there
    assert seen.key("answer").input_value() == "n^2/2+n/2"
    seen.page.get_by_role("button", name="Forget my progress").click()
    seen.page.get_by_role("button", name="Really?").click()
    assert seen.page.locator(".solved").count() == 0
    seen.clean()


def test_hints_come_one_by_one(visit):
    exercise = get("counting-attention").exercises[1]
    seen = answering(visit(), "lesson=counting-attention&exercise=strided")
    wanted = hints(exercise)
    for i, line in enumerate(wanted):
        seen.page.get_by_role("button", name="Another hint" if i else "Hint").click()
        seen.wait("hints", line)
    assert seen.page.get_by_role("button", name="No more hints").is_disabled()
    seen.page.locator(".exercises button").last.click()
    seen.page.wait_for_function("() => !document.querySelector('[data-read=hints]').innerText")


def test_no_placeholder_is_an_answer():
    source = (ROOMS / "lessons_turn.js").read_text(encoding="utf-8")
    table = re.search(r"const LIKE = (\{.*\});", source)[1]
    like = {kind: json.loads(f'"{text}"') for kind, text in re.findall(r'(\w+): "((?:[^"\\]|\\.)*)"', table)}
    assert set(like) == {"formula", "growth", "shape", "matrix", "matrices"}
    for name in NAMES:
        for exercise in get(name).exercises:
            shown = like[exercise.as_dict()["kind"]].removeprefix("such as ")
            for text in shown.split(" or "):
                try:
                    (verdict,) = check(name, f"{exercise.name} = {text}")
                except ValueError:
                    continue
                assert not verdict.right


def test_the_address_is_the_state_and_back_is_undo(visit):
    seen = answering(visit(), "lesson=counting-attention&exercise=windowed")
    seen.write("answer", "n w")
    seen.wait_state("answer=n+w")
    seen.page.get_by_role("button", name="Check").click()
    seen.page.wait_for_selector(".verdict.bad")
    link, said = seen.page.evaluate("location.href"), seen.read("verdict")
    again = visit()
    again.page.goto(link)
    again.wait("verdict", said.splitlines()[0])
    assert (again.state, again.key("answer").input_value()) == (seen.state, "n w")
    seen.page.go_back()
    seen.page.wait_for_function("() => document.querySelector('[data-read=verdict]').innerText === ''")
    assert seen.key("answer").input_value() == "n w"
    seen.page.go_forward()
    seen.page.wait_for_selector(".verdict.bad")


@pytest.mark.parametrize(
    "text",
    ["lesson=%F0%9F%98%80&view=turn", "view=code&task=nonsense",
     "view=x&hints=1e99&answer=%E0%A4%A",
     "view=turn&exercise=nonsense&answer=" + "9" * 1500 + "&checked=1"],
)  # fmt: skip
def test_any_address_opens(visit, text):
    seen = opened(visit(), text)
    seen.page.wait_for_timeout(300)
    seen.page.get_by_role("button", name="Counting attention").click()
    seen.page.wait_for_selector(".lesson .prose p")
    assert [one for one in seen.complaints if "422" not in one] == []


def test_lessons_and_tasks_are_chosen_by_list_and_by_menu(visit):
    seen = opened(visit(), f"lesson={QUICK}")
    assert seen.page.locator(".contents [data-goes^=task]").count() == len(TASKS)
    assert seen.page.locator(".contents [data-goes^=lesson]").count() == len(NAMES)
    for name in TASKS:
        assert get_task(name).title in seen.page.locator(".contents").inner_text()
    seen.page.get_by_role("button", name=get_task("counting").title).click()
    seen.wait_state("task=counting")
    narrow = opened(visit(360), f"lesson={QUICK}")
    narrow.page.get_by_role("combobox", name="Lesson or task").select_option("lesson:masks-and-losses")
    narrow.page.get_by_role("heading", name=get("masks-and-losses").title).wait_for()
    narrow.wait_state("masks-and-losses")


def test_files_of_a_lesson(visit):
    seen = opened(visit(), f"lesson={QUICK}")
    got = {}
    for kind in ("Markdown", "LaTeX", "Questions"):
        with seen.page.expect_download() as waiting:
            seen.page.get_by_role("button", name=kind, exact=True).click()
        got[kind] = waiting.value.path().read_text(encoding="utf-8")
    assert got["Markdown"].startswith(f"# {get(QUICK).title}")
    assert "\\documentclass" in got["LaTeX"]
    assert len(got["Questions"]) < len(got["LaTeX"]) / 2


def test_a_right_solution_gets_all_points(visit):
    seen = coding(visit())
    assert seen.key("source").input_value() == get_task("masks").skeleton
    assert graded(seen, MASKS) == "5 of 5"
    assert "right: equal to the definition" in seen.read("report").lower()
    assert seen.page.locator("[aria-current] .done").inner_text() == "5/5"
    seen.key("source").press("End")
    seen.page.keyboard.type("#")
    assert "stale" in seen.page.locator(".report").get_attribute("class")
    seen.page.reload()
    seen.page.wait_for_selector(".homework")
    assert seen.key("source").input_value().startswith(MASKS.splitlines()[0])
    seen.page.get_by_role("button", name="Back to the skeleton").click()
    seen.page.wait_for_function(
        "(text) => document.querySelector('[data-key=source]').value === text", arg=get_task("masks").skeleton
    )
    seen.clean()


def test_a_wrong_one_is_told_its_mistake(visit):
    wanted = grade("masks", TRIANGLE)
    seen = coding(visit())
    assert graded(seen, TRIANGLE) == f"{wanted.points} of {wanted.most}"
    said = wanted.says[0].upper() + wanted.says[1:]
    assert said in seen.read("report")
    grids = seen.page.locator(".report svg[data-cells]")
    expected, found = (grids.nth(i).locator("text").all_text_contents() for i in (0, 1))
    shown = lambda value: [str(int(x)) for x in value.flatten().tolist()]  # noqa: E731
    assert (expected, found) == (shown(wanted.example.expected), shown(wanted.example.found))
    grids.first.focus()
    seen.page.keyboard.press("ArrowRight")
    assert f"expected {expected[0]}, found {found[0]}" in seen.page.locator(".example .readout").inner_text()
    seen.page.get_by_role("button", name="The lesson about this mistake").first.click()
    seen.wait_state("counting-attention", there=False)  # it is the one that is open at the start
    seen.page.get_by_text(get("counting-attention").question[:40]).wait_for()
    seen.clean()


def test_files_and_notebooks_are_taken(visit, tmp_path):
    seen = coding(visit())
    picture = {"data": {"image/png": "x" * 1000}}
    cells = [
        {"cell_type": "markdown", "source": ["# Mine"]},
        {"cell_type": "code", "source": ["%time\n", "1 / 0"]},
        {"cell_type": "code", "source": MASKS, "outputs": [picture]},
    ]
    files = {"mine.ipynb": json.dumps({"cells": cells}), "mine.py": MASKS, "bad.ipynb": "{}", "mine.txt": "x"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    seen.page.set_input_files("input[type=file]", tmp_path / "mine.ipynb")
    seen.page.wait_for_function("() => document.querySelector('[data-key=source]').value.startsWith('# %%')")
    assert "Mine" not in seen.key("source").input_value()
    assert graded(seen, seen.key("source").input_value()) == "5 of 5"  # a cell that fails does no harm
    assert "ZeroDivisionError" in seen.read("report")
    seen.page.set_input_files("input[type=file]", tmp_path / "mine.py")
    seen.page.wait_for_function(
        "(text) => document.querySelector('[data-key=source]').value === text", arg=MASKS
    )
    for name, why in (("bad.ipynb", "no notebook"), ("mine.txt", "a solution is a .py or .ipynb file")):
        seen.page.set_input_files("input[type=file]", tmp_path / name)
        seen.page.get_by_text(why).wait_for()
        assert seen.key("source").input_value() == MASKS
    seen.key("source").evaluate(
        "(one) => { one.value = '😀 '.repeat(20_000); one.dispatchEvent(new Event('input')); }"
    )
    seen.page.get_by_text("a solution may have at most 40,000 characters").wait_for()
    seen.key("source").fill("")
    seen.page.get_by_role("button", name="Grade", exact=True).click()
    seen.page.get_by_text("write or paste a solution first").wait_for()


def guests(pid):
    """Processes below one that belong to the grader's sandbox."""
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(path.name)] = (path / "cmdline").read_bytes()
        except OSError:
            continue

    def below(one):
        while one > 1 and one != pid:
            one = parents.get(one, 0)
        return one == pid

    return [one for one, line in found.items() if b"guest.zygote" in line and below(one)]


def until(true, seconds=40):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.1)
    return true()


def test_who_cancels_ends_the_sandbox(visit, studio):
    seen = coding(visit(), "counting")
    seen.key("source").fill("while True:\n    pass\n")
    seen.page.get_by_role("button", name="Grade", exact=True).click()
    assert until(lambda: len(guests(studio.process.pid)) >= 3)  # who waits, who watches, who runs
    seen.page.get_by_role("button", name="Cancel").click()
    seen.page.get_by_text("Stopped: nothing was graded.").wait_for()
    assert until(lambda: guests(studio.process.pid) == [])
    assert seen.page.get_by_role("button", name="Grade", exact=True).is_enabled()


def test_who_leaves_ends_the_sandbox_and_the_studio_goes_on(studio):
    body = json.dumps({"task": "counting", "source": "while True:\n    pass\n"}).encode()
    host = urlsplit(studio.address)
    with socket.create_connection((host.hostname, host.port)) as line:
        line.sendall(
            b"POST /api/lessons/grade HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body
        )
        assert until(lambda: len(guests(studio.process.pid)) >= 3)
    assert until(lambda: guests(studio.process.pid) == [])
    status, said = studio.ask(
        "lessons/grade", task="counting", source="def count_autoregressive(n):\n    return n * n"
    )
    assert (status, said[-1]["report"]["mistakes"][0]["name"]) == (200, "count-square")
    assert guests(studio.process.pid) == []


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import os\nos._exit(3)", "exit code 3"),
        ("x = [0] * 10**10", "MemoryError"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 80))", "Permission"),
        ("def count_autoregressive(n):\n    return float('nan')\n", "NaN"),
    ],
)  # fmt: skip
def test_hostile_code_harms_nobody(studio, source, why):
    status, said = studio.ask("lessons/grade", task="counting", source=source)
    assert status == 200
    assert not said[-1]["report"]["right"]
    assert why in json.dumps(said[-1]["report"], ensure_ascii=False)


def test_without_isolation_nothing_is_run(monkeypatch):
    class Open:
        def __init__(self, limits):
            raise NoIsolation("this system leaves open to student code: network")

    monkeypatch.setattr(lessons_code, "Sandbox", Open)
    parts = lessons_code.grade(Body({"task": "masks", "source": "open('x', 'w')"}))
    assert "stage" in next(parts)
    with pytest.raises(FieldError, match=r"not run, because.*leaves open.*--unsafe") as refused:
        next(parts)
    assert refused.value.field == "source"


@pytest.mark.parametrize(
    ("action", "fields", "field"),
    [
        ("read", {"lesson": "nonsense", "exercise": "x", "answer": "n"}, "lesson"),
        ("read", {"lesson": "heads", "exercise": "x", "answer": "n"}, "exercise"),
        ("read", {"lesson": "heads", "exercise": "pairs", "answer": "n" * 2000}, "answer"),
        ("check", {"lesson": "heads", "exercise": "pairs", "answer": "💥"}, "answer"),
        ("check", {"lesson": "heads", "exercise": "pairs", "answer": "9^9^9^"}, "answer"),
        ("hint", {"lesson": "heads", "exercise": "pairs", "count": 1e9}, "count"),
        ("lesson", {"lesson": ["heads"]}, "lesson"),
        ("file", {"lesson": "heads", "format": "exe"}, "format"),
        ("skeleton", {"task": "../x.py"}, "task"),
        ("grade", {"task": "x.py", "source": "1"}, "task"),
        ("grade", {"task": "masks", "source": "x" * 50_000}, "source"),
        ("grade", {"task": "masks", "source": "\0"}, "source"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_field(studio, action, fields, field):
    status, said = studio.ask(f"lessons/{action}", **fields)
    assert (status, said["error"]["field"]) == (422, field)


@pytest.mark.alone
def test_a_reading_and_a_verdict_take_a_moment(studio):
    given = {"lesson": "counting-attention", "exercise": "strided", "answer": "(2n-t)(t+1)/2"}
    for action in ("read", "check", "hint"):
        fields = given | ({"count": 2} if action == "hint" else {})
        times = []
        for _ in range(20):
            begin = time.monotonic()
            assert studio.ask(f"lessons/{action}", **fields)[0] == 200
            times.append(time.monotonic() - begin)
        assert sorted(times[1:])[-2] < 0.8, (action, times)


def test_formulas_scroll_in_their_own_frame(visit):
    seen = computed(visit(360), "counting-attention")
    apart = """() => [...document.querySelectorAll('.math mtr')].every((row) => {
        const at = [...row.children].map((cell) => cell.getBoundingClientRect());
        return at.every((one, i) => !i || at[i - 1].right <= one.left + 1)
            && [...row.children].every((cell) => cell.scrollWidth <= cell.clientWidth + 1); })"""
    assert seen.page.evaluate(apart)
    wide = "[...document.querySelectorAll('.math')].some((one) => one.scrollWidth > one.clientWidth)"
    assert seen.page.evaluate(wide)
    whole = "one => getComputedStyle(one).overflowWrap"
    assert seen.page.locator(".prose td").first.evaluate(whole) == "normal"
    assert seen.fits()


def test_why_a_file_does_not_run_is_the_headline(studio):
    for source, says in (
        ("def f(:", "the file does not run: line 1 raises SyntaxError"),
        ("import os\nos.fork()", "the file does not run: line 2 raises PermissionError"),
    ):
        status, said = studio.ask("lessons/grade", task="attention-head", source=source)
        assert (status, said[-1]["report"]["says"].startswith(says)) == (200, True), said
