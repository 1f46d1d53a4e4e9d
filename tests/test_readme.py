"""The front door: every Python block of the README runs, and its picture is what the project draws."""

import re
from pathlib import Path

import pytest

from regard.pattern import parse

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_blocks():
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs_and_prints_what_it_says(block, capsys):
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    for said in re.findall(r"print\(.*#.*: (\d+)", block):
        assert said in printed


def test_the_picture_is_the_one_the_project_draws():
    (shown,) = re.findall(r"!\[The pattern (.+?) on (\d+) positions.*?\]\((.+?)\)", README)
    pattern, n, path = shown
    assert (ROOT / path).read_text(encoding="utf-8") == parse(pattern).svg(int(n))


def test_links_lead_somewhere():
    for path in re.findall(r"\]\((?!http)(.+?)\)", README):
        assert (ROOT / path).exists(), path


def test_commands_of_the_readme_run(tmp_path, monkeypatch, capsys):
    from shlex import split

    from regard.cli.main import main

    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^regard (.+)$", README, re.MULTILINE)
    assert commands
    for command in commands:
        assert main(split(command)) == 0, capsys.readouterr().err
