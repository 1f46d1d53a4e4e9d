"""The command `regard`: its verbs, and errors as one line with exit code 2.

A verb imports torch and the like when it is called, so that help, version and completion come at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import typer

from regard import __version__
from regard.cli.bench import bench
from regard.cli.check import check
from regard.cli.cost import cost
from regard.cli.count import count
from regard.cli.data import data
from regard.cli.draw import draw
from regard.cli.evaluate import evaluate
from regard.cli.export import export
from regard.cli.faults import fail, told
from regard.cli.generate import generate
from regard.cli.grade import exercise, grade
from regard.cli.lesson import lesson
from regard.cli.look import look
from regard.cli.predict import predict
from regard.cli.recipe import recipe
from regard.cli.runs import runs
from regard.cli.studio import studio
from regard.cli.tour import tour
from regard.cli.train import auto_as_one, train
from regard.importing import look_here

app = typer.Typer(
    name="regard",
    help="Sequence models you can see, count and run.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for verb in (draw, count, cost, data, recipe, train, evaluate, predict, generate, look, runs, export,
             lesson, check, exercise, grade, studio, tour, bench):  # fmt: skip
    app.command("eval" if verb is evaluate else None)(verb)

# Some versions of Typer bring their own copy of click; of its errors they export this one, two levels below
# the common ClickException.
Fault: type[Exception] = typer.BadParameter.__mro__[2]


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code.

    >>> main(["count", "strided(3)", "-n", "16", "--json"])  # doctest: +ELLIPSIS
    {"pattern": "strided(3)", "n": 16, "m": 16, "pairs": 58, ...}
    0
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        look_here()
        _before_torch(arguments)
        code = app(args=auto_as_one(arguments), prog_name="regard", standalone_mode=False)
        sys.stdout.flush()
    except Fault as error:
        return fail(error.format_message(), arguments)  # type: ignore[attr-defined]
    except BrokenPipeError:  # a reader such as `head` has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, ImportError, OSError) as error:
        return fail(told(error), arguments)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    return code if isinstance(code, int) else 0


def _before_torch(arguments: Sequence[str]) -> None:
    """Let the CPU do what an Apple GPU cannot; torch asks for it once, when it is imported."""
    if "--device=mps" in arguments or ("--device", "mps") in pairwise(arguments):
        os.environ.setdefault("PYTORCH_ENABLE_MPS_FALLBACK", "1")


def run() -> None:
    """The entry point of the installed command."""
    sys.exit(main())
