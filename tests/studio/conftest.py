"""One studio with three tiny models, one browser for it, and a way to ask it without a browser."""

import asyncio
import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import uuid

import pytest

from regard.data import CharTokenizer, WordTokenizer, load
from regard.models import GPT, Encoder, EncoderConfig, GPTConfig, ViT, ViTConfig
from tests.train.runs.conftest import draw, write_run

pytest.importorskip("gradio", reason="the studio is not installed: pip install 'regard[studio]'")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
COMMAND = (
    "import typer\nfrom regard.cli.studio import studio\napp = typer.Typer()\napp.command()(studio)\napp()\n"
)


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


def built(build, models):
    """The page of one room."""
    import gradio as gr

    async def make():  # inside a loop, for Gradio makes one where there is none and leaves it open
        with gr.Blocks() as page:
            build(models)
        return page

    return asyncio.run(make())


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


class Studio:
    """A running studio."""

    def __init__(self, address, process):
        self.address, self.process = address, process

    def get(self, path, **headers):
        """Status and body of a request."""
        request = urllib.request.Request(self.address + path.lstrip("/"), headers=headers)
        return self._send(request)

    def post(self, path, body, kind="application/json"):
        request = urllib.request.Request(self.address + path, data=body, headers={"content-type": kind})
        return self._send(request)

    @staticmethod
    def _send(request):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace")

    def config(self):
        return json.loads(self.get("config")[1])

    def ask(self, element, event, **values):
        """What the handler of an element's event answers, as any program could ask it; values by element."""
        config = self.config()
        names = {part["id"]: part["props"].get("elem_id") for part in config["components"]}
        defaults = {part["id"]: part["props"].get("value") for part in config["components"]}
        number, found = next(
            (i, one)
            for i, one in enumerate(config["dependencies"])
            if any(names.get(target) == element and kind == event for target, kind in one["targets"])
        )
        data = [values.get(names[i] or "", defaults[i]) for i in found["inputs"]]
        session = uuid.uuid4().hex
        body = {
            "data": data,
            "fn_index": found.get("id", number),
            "session_hash": session,
            "event_data": None,
        }
        status, said = self.post("gradio_api/queue/join", json.dumps(body).encode())
        if status != 200:
            return status, said
        request = urllib.request.Request(f"{self.address}gradio_api/queue/data?session_hash={session}")
        with urllib.request.urlopen(request, timeout=120) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    message = json.loads(line[5:])
                    if message["msg"] == "process_completed":
                        return message["success"], message["output"]
        raise AssertionError("the stream ended without an answer")


@pytest.fixture(scope="module")  # while it runs, nothing else in the process can use asyncio
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no browser tests: pip install playwright, apt install chromium"
    )
    if CHROMIUM is None:
        pytest.skip("no browser tests: apt install chromium (or another Chrome) to run them")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Visit:
    """A page of the studio, with all that it asked for and complained about."""

    def __init__(self, page, address):
        self.page, self.requests, self.complaints = page, [], []
        page.on("request", lambda one: self.requests.append(one.url))
        page.on("console", lambda one: self.complaints.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda one: self.complaints.append(str(one)))
        page.goto(address)
        page.wait_for_selector("#picture-a svg", timeout=60_000)

    def room(self, name):
        tab = self.page.get_by_role("tab", name=name)
        if tab.is_visible():
            tab.click()
        else:  # on a phone most rooms are behind the dots
            self.page.locator(".overflow-menu > button").click()
            self.page.locator(".overflow-dropdown button", has_text=name).click()
        return self.page

    def text(self, element):
        return self.page.locator(f"#{element}").inner_text()

    def write(self, element, text):
        field = self.page.locator(f"#{element} textarea, #{element} input").first
        field.fill(text)
        field.press("End")

    def press(self, element, key, times=1):
        """Move a slider by the keyboard."""
        knob = self.page.locator(f"#{element} input[type=range]")
        knob.focus()
        for _ in range(times):
            knob.press(key)

    def wait(self, element, text, timeout=30_000):
        """Until an element says something."""
        script = "([id, text]) => document.getElementById(id)?.innerText.includes(text)"
        self.page.wait_for_function(script, arg=[element, text], timeout=timeout)


@pytest.fixture
def visit(browser, studio):
    opened = []

    def go(width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        opened.append(context)
        return Visit(context.new_page(), studio.address)

    yield go
    for context in opened:
        context.close()
