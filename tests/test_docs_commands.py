"""Every command of the README and of the docs runs, page by page and in order, on small stand-in data.

What is substituted, and nothing else:

- `train` takes four steps of eight examples, uncompiled and on the CPU, in place of its minutes or steps
  (`RUN:400` is then `RUN:4`, more steps than before are six), and pictures or a text of one's own in place of
  a set that would be downloaded;
- `torchrun` starts two processes on this machine; `bench` times one case in place of all;
- the answer `…` of a lesson is 0, which is judged to be wrong;
- `pip` and `make` are the business of `make test-install`.

Pages with commands that take long are run by `make test-docs`; `make test` runs the others.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shlex import split

import pytest

from regard.cli.main import main
from regard.pattern import parse
from tests.docs_places import ROOT, furnish

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINE = re.compile(r"^(?:\$ |    )?((?:regard|torchrun|curl) .+)$")
INLINE = re.compile(r"`(regard [a-z]+(?: [^`]*)?)`")
SHORT = ["--set", "steps=4", "--set", "save_every=2", "--set", "batch=8", "--set", "compile=none"]
DOWNLOADED = {"shakespeare-char": "book.txt", "shakespeare-char-cpu": "book.txt", "vit-cifar10": "photos/"}
JUDGED = {"check"}  # which ends with 1 where an answer is wrong
LONG = ("torchrun", "regard bench", "regard tour", "curl")


def commands_of(page: Path) -> list[str]:
    """The commands of a page, as they stand there, without what is said behind them."""
    text = re.sub(
        r"^```python\n.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    found = [match[1] for line in text.splitlines() if (match := LINE.match(line))]
    return [re.sub(r"\s+#(?= ).*$", "", one).strip() for one in found]


COMMANDS = {str(page.relative_to(ROOT)): found for page in PAGES if (found := commands_of(page))}
QUICK = [name for name, found in COMMANDS.items() if not any(one.startswith(LONG) for one in found)]


def substituted(words: list[str]) -> list[str]:
    """The words of a command of `regard` as they are run here."""
    verb, *rest = words
    if verb == "train" and "--list" not in rest:
        return [verb, *trained(rest)]
    if verb == "bench":
        return [*words, "--only", "strided(16)"] if "--only" in words else words
    return [word.replace("…", "0") for word in words] if verb == "check" else words


def trained(rest: list[str]) -> list[str]:
    """The words behind `train`, for a run of a few steps."""
    goes_on = "--resume" in rest
    text = re.sub(r" --minutes [\d.]+| --set (steps|minutes)=\S+", "", " ".join(map(quoted, rest)))
    text = re.sub(r"(?<=parallel\.context=)\d+", "2", text)
    rest = split(re.sub(r"(?<=:)\d+\b", "4", text) if "--from" in rest else text)
    steps = ["--set", "steps=6"] if goes_on or "--from" in rest else SHORT[:2]
    steps += [] if (goes_on and "auto" not in rest) or "--from" in rest else SHORT[2:]
    here = ["--data", DOWNLOADED[rest[0]]] if "--data" not in rest and rest and rest[0] in DOWNLOADED else []
    return [*rest, *here, *steps, "--device", "cpu"]


def quoted(word: str) -> str:
    return f'"{word}"' if re.search(r"[^\w./:=,-]", word) else word


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run one command, which must do what it says, and give what it printed."""
    command, _, file = command.partition(" > ")
    tool, *words = split(command)
    if tool == "torchrun":
        return started(words)
    code = main(substituted(words))
    out, err = capsys.readouterr()
    assert code in ({0, 1} if words[0] in JUDGED else {0}), (command, substituted(words), code, err)
    if file:
        Path(file).write_text(out, encoding="utf-8")
    return out


def started(words: list[str]) -> str:
    """What two processes say that torchrun starts."""
    at = words.index("-m") if "-m" in words else next(i for i, one in enumerate(words) if one.endswith(".py"))
    program = words[at:]
    if program[0] == "-m":
        out = [] if "--out" in words else ["--out", f"runs/{len(list(Path().glob('runs/*')))}"]
        program = ["-m", "regard", *substituted([*words[at + 2 :], *out])]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*torchrun, *program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr[-3000:])
    return done.stdout


@pytest.fixture
def place(own_place, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(own_place / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    return own_place


def walk(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All commands of a page in order, each with what the page says it answers; curl has its own test."""
    text = (ROOT / page).read_text(encoding="utf-8")
    furnish(folder, text)
    for command in COMMANDS[page]:
        if not command.startswith("curl"):
            out = run(command, capsys)
            for answer in re.findall(re.escape(command) + r"\s+# says: (.+)$", text, re.MULTILINE):
                assert out.startswith(answer), out


def test_there_are_commands_on_many_pages():
    assert len(COMMANDS) > 20
    assert sum(map(len, COMMANDS.values())) > 90
    assert {"docs/howto/own-images.md", "docs/howto/own-table.md", "docs/howto/fine-tune.md"} <= set(QUICK)


@pytest.mark.parametrize("page", QUICK)
def test_the_commands_of_a_page_run_in_order(page, place, capsys):
    walk(page, place, capsys)


@pytest.mark.long
@pytest.mark.parametrize("page", sorted(set(COMMANDS) - set(QUICK)))
def test_long_commands_run_in_order(page, place, capsys):
    walk(page, place, capsys)


@pytest.mark.long
def test_the_studio_answers_what_curl_asks(place):
    (command,) = (one for found in COMMANDS.values() for one in found if one.startswith("curl"))
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    studio = [sys.executable, "-m", "regard", "studio", "--port", "0", "--json"]
    with subprocess.Popen(studio, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["address"].rstrip("/")
            words = split(command.replace("http://127.0.0.1:7860", address))
            answer = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
            assert answer["pairs"] == parse("strided(5)").pairs(4096)
        finally:
            server.terminate()


def test_a_command_that_does_not_work_is_noticed(place, capsys):
    with pytest.raises(AssertionError, match="no-such-recipe"):
        run("regard train no-such-recipe", capsys)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_within_a_sentence_have_a_verb_and_options_that_exist(page, capsys):
    for command in INLINE.findall(page.read_text(encoding="utf-8")):
        verb = command.split()[1]
        assert main([verb, "--help"]) == 0, command
        helped = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
        for option in re.findall(r"(?<=\s)--[a-z-]+", command):
            assert option in helped, (command, option)
