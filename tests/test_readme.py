"""The front door: every Python block of the README runs, and its picture is what the project draws."""

import re
from pathlib import Path

from regard.pattern import parse
from tests.data.own.making import photos, table

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_blocks():
    assert BLOCKS


def test_the_blocks_run_in_order_and_print_what_they_say(capsys):
    names: dict[str, object] = {"__name__": "readme"}  # a reader types them into one session
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
        printed = capsys.readouterr().out
        for said in re.findall(r"print\(.*#.*: (\d+)", block):
            assert said in printed


def test_the_picture_is_the_one_the_project_draws():
    (shown,) = re.findall(r"!\[The pattern (.+?) on (\d+) positions.*?\]\((.+?)\)", README)
    pattern, n, path = shown
    assert (ROOT / path).read_text(encoding="utf-8") == parse(pattern).svg(int(n))


def test_links_lead_somewhere():
    for path in re.findall(r"\]\((?!http)(.+?)\)", README):
        assert (ROOT / path.partition("#")[0]).exists(), path


def test_commands_of_the_readme_run(own_place, monkeypatch, capsys):
    from shlex import split

    from regard.cli.main import main

    monkeypatch.setenv("REGARD_CACHE", str(own_place / "cache"))
    photos(own_place / "photos", ("cat", "dog"), count=30)
    (own_place / "book.txt").write_text("It was the best of times, it was the worst of times.\n" * 300)
    table(own_place / "reviews.csv", header="review,stars", count=60)
    commands = re.findall(r"^regard (.+)$", README, re.MULTILINE)
    quick = [command for command in commands if not command.startswith("bench")]  # it has tests of its own
    assert quick
    answers = 0
    for command in quick:
        words, _, out = command.partition("#")[0].partition(" > ")
        if words.startswith("train"):  # for half a second
            words = re.sub(r" --minutes \d+", "", words) + " --minutes 0.01 --set compile=none"
        assert main(split(words)) == 0, (words, capsys.readouterr().err)
        printed = capsys.readouterr().out
        if out:
            Path(out.strip()).write_text(printed)
        for answer in re.findall(r"# says: (.+)$", command):
            answers += 1
            assert printed.startswith(answer), printed
    assert answers
