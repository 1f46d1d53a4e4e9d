"""One studio with three tiny models, one browser for it, and ways to ask it with and without the browser."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from regard.data import CharTokenizer, WordTokenizer, load
from regard.models import GPT, Encoder, EncoderConfig, GPTConfig, ViT, ViTConfig
from tests.train.runs.conftest import draw, write_run

pytest.importorskip("uvicorn", reason="the studio is not installed: pip install 'regard[studio]'")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
COMMAND = (
    "import typer\nfrom regard.cli.studio import studio\napp = typer.Typer()\napp.command()(studio)\napp()\n"
)
HERE = Path(__file__).parent
WIDTHS = (1280, 360)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Three small models as training leaves them; their weights are random, which no room minds."""
    folder = tmp_path_factory.mktemp("runs")
    small = {"depth": 2, "width": 32, "heads": 4}
    play = CharTokenizer.train([load("play").text])
    words = WordTokenizer.train(load("verdicts").train.texts[:200])
    digits = {
        "task": "images", "data": "digits", "classes": [str(i) for i in range(10)], "image": [1, 8, 8],
        "mean": [0.306], "std": [0.377],
    }  # fmt: skip
    verdicts = {"task": "texts", "data": "verdicts", "classes": ["negative", "positive"], "context": 48}
    vit = ViT(ViTConfig(image=8, patch=2, channels=1, classes=10, **small), generator=draw())
    gpt = GPT(GPTConfig(vocab=play.vocab, context=320, **small), generator=draw())
    encoder = Encoder(EncoderConfig(vocab=words.vocab, context=48, classes=2, **small), generator=draw())
    return [
        write_run(folder / "digits-vit", vit, digits),
        write_run(folder / "play-gpt", gpt, {"task": "language", "data": "play", "context": 320}, play),
        write_run(folder / "verdicts-encoder", encoder, verdicts, words),
    ]


@pytest.fixture(scope="session")
def start():
    """Start `regard studio` with these options; what was started is stopped at the end."""
    started = []

    def begin(*options):
        command = [sys.executable, "-c", COMMAND, "--port", "0", "--json", *map(str, options)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        line = process.stdout.readline()
        assert line, process.stderr.read()
        return Studio(json.loads(line)["address"], process)

    yield begin
    for process in started:
        process.terminate()
        process.wait(20)
        process.stdout.close()
        process.stderr.close()


@pytest.fixture(scope="session")
def studio(start, runs):
    return start(*(word for run in runs for word in ("--run", run)))


def in_a_thread(story):
    """The outcome of a coroutine; the thread of the tests is the browser's."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, story).result()


def node_module(path):
    """A file of a tool of npm, in this repository or where NODE_PATH says; else the test is skipped."""
    folders = [
        HERE.parents[1] / "node_modules",
        *map(Path, os.environ.get("NODE_PATH", "").split(os.pathsep)),
    ]
    found = next((folder / path for folder in folders if (folder / path).is_file()), None)
    if found is None:
        pytest.skip("a tool of npm is needed: npm install --no-save typescript axe-core")
    return found


class Studio:
    """A running studio."""

    def __init__(self, address, process):
        self.address, self.process = address, process

    def get(self, path, **headers):
        """Status and body of a request."""
        return self._send(urllib.request.Request(self.address + path.lstrip("/"), headers=headers))

    def post(self, path, body, **headers):
        return self._send(urllib.request.Request(self.address + path, data=body, headers=headers))

    def ask(self, action, **fields):
        """(status, answer) of an action, `patterns/formula`; of a stream, the list of its parts."""
        status, said = self.post(f"api/{action}", json.dumps(fields).encode())
        lines = [json.loads(line) for line in said.splitlines()]
        return status, lines[0] if len(lines) == 1 else lines

    @staticmethod
    def _send(request):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace")


@contextmanager
def chromium():
    """A browser; while it runs, nothing else in the thread can use asyncio."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no browser tests: pip install playwright, apt install chromium"
    )
    if CHROMIUM is None:
        pytest.skip("no browser tests: apt install chromium (or another Chrome) to run them")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="package")
def browser():
    with chromium() as found:
        yield found


class Visitors:
    """Visitors with nothing stored, each a context of the browser that may have been another's before.

    A page takes half the work beside another one, which is why each context keeps an empty page.
    """

    def __init__(self, browser):
        self.browser, self.free, self.busy = browser, {}, []

    def visit(self, address, width=1280, color_scheme="light", **options):
        """A page at an address as nobody saw it before; two at a time share nothing."""
        kind = tuple(sorted(options.items()))
        free = self.free.setdefault(kind, [])
        context = free.pop() if free else self._context(options)
        self.busy.append((kind, context))
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=color_scheme)
        session = context.new_cdp_session(page)
        session.send("Storage.clearDataForOrigin", {"origin": address.rstrip("/"), "storageTypes": "all"})
        session.detach()
        return Visit(page, address)

    def _context(self, options):
        context = self.browser.new_context(**options)
        context.new_page()
        return context

    def leave(self):
        """All of them go."""
        while self.busy:
            kind, context = self.busy.pop()
            for page in context.pages[1:]:
                page.close()
            context.clear_permissions()
            self.free[kind].append(context)


@pytest.fixture(scope="package")
def visitors(browser):
    return Visitors(browser)


class Visit:
    """A page of the studio, with all that it asked for and complained about."""

    def __init__(self, page, address):
        self.page, self.address, self.requests, self.complaints = page, address, [], []
        page.on("request", lambda one: self.requests.append(one.url))
        page.on("console", lambda one: self.complaints.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda one: self.complaints.append(str(one)))

    def room(self, name, state=""):
        """Open a room, in the state of a URL."""
        self.page.goto(f"{self.address}#{name}{'?' + state if state else ''}")
        self.page.wait_for_selector(f"main[data-ready={name}]")
        return self

    @property
    def state(self):
        """What the URL says of the room's state."""
        return self.page.evaluate("location.hash").partition("?")[2]

    def key(self, key, kind=""):
        """The controls of a key of the state, of one kind: `range`, `text`, `radio` or `checkbox`."""
        return self.page.locator(f"[data-key={key}]" + (f"[type={kind}]" if kind else ""))

    def write(self, key, text):
        """Type into a text field."""
        field = self.page.locator(
            f"input[type=text][data-key={key}]:visible, textarea[data-key={key}]:visible"
        )
        field.first.fill(text)

    def choose(self, key, value):
        """One of several: a segment or an entry of a list."""
        if self.page.locator(f"select[data-key={key}]").count():
            self.page.locator(f"select[data-key={key}]").select_option(value)
        else:
            self.page.locator(f"[data-key={key}][value='{value}']").check()

    def slide(self, key, value):
        """Put a slider where a hand would, in one go."""
        script = (
            "(one, value) => { one.value = value; one.dispatchEvent(new Event('input', {bubbles: true})); }"
        )
        self.key(key, "range").evaluate(script, str(value))

    def read(self, name):
        """The text of what is marked `data-read`."""
        return self.page.locator(f"[data-read={name}]").inner_text()

    def wait(self, name, text, timeout=30_000):
        """Until what is marked says something."""
        script = "([name, text]) => document.querySelector(`[data-read=${name}]`)?.innerText.includes(text)"
        self.page.wait_for_function(script, arg=[name, text], timeout=timeout)

    def wait_state(self, text, there=True):
        """Until the URL says something, or says it no more."""
        script = "([text, there]) => location.hash.includes(text) === there"
        self.page.wait_for_function(script, arg=[text, there])

    def fits(self):
        """Whether nothing is wider than the window."""
        return self.page.evaluate("(one => one.scrollWidth <= one.clientWidth)(document.documentElement)")

    def unreadable(self):
        """Texts whose colour is too near to what is behind them (WCAG AA), each as (text, contrast)."""
        return self.page.evaluate((HERE / "contrast.js").read_text(encoding="utf-8"))

    def axe(self):
        """The serious faults that axe-core finds for those who do not see or do not point."""
        self.page.evaluate(node_module("axe-core/axe.min.js").read_text(encoding="utf-8"))
        found = self.page.evaluate("() => axe.run()")["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        return [(one["id"], [node["html"][:160] for node in one["nodes"]]) for one in serious]

    def frames(self, moves):
        """Milliseconds between repaints while a script makes one move a frame."""
        script = (HERE / "frames.js").read_text(encoding="utf-8")
        return self.page.evaluate(script.replace("MOVES", moves))

    def clean(self):
        """Nothing was fetched from elsewhere, and nothing complained about."""
        foreign = [
            url for url in self.requests if not re.match(re.escape(self.address) + "|data:|blob:", url)
        ]
        assert (foreign, self.complaints) == ([], [])


@pytest.fixture
def visit_at(visitors):
    """`visit_at(studio)` opens a page of a studio, `visit_at(studio, 360)` a narrow one."""
    yield lambda studio, *size, **options: visitors.visit(studio.address, *size, **options)
    visitors.leave()


@pytest.fixture
def visit(visit_at, studio):
    """`visit()` opens a page; `visit(360, color_scheme="dark")` one of another size and scheme."""
    return partial(visit_at, studio)


@pytest.fixture(params=[(width, scheme) for width in WIDTHS for scheme in SCHEMES], ids=str)
def everywhere(request, visit):
    """A visit at each width and in each scheme."""
    width, scheme = request.param
    return visit(width, color_scheme=scheme)
