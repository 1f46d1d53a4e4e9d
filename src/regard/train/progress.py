"""What people see while a model trains: a bar in a terminal, plain lines elsewhere, nothing if they wish."""

import sys
import time
from importlib.util import find_spec

SECONDS = 10.0  # between two plain lines


class Progress:
    """Plain lines: a run's progress every ten seconds, everything else at once."""

    def __init__(self, title: str, quiet: bool = False) -> None:
        self.title, self.quiet = title, quiet
        self.said = 0.0

    def say(self, text: str) -> None:
        """Something that stays on the screen."""
        if not self.quiet:
            print(text, flush=True)

    def warn(self, text: str) -> None:
        """Something that must be seen, on stderr where nothing else is wished."""
        if self.quiet:
            print(text, file=sys.stderr, flush=True)
        else:
            self.say(text)

    def show(self, share: float, parts: dict[str, str]) -> None:
        """How far the run is."""
        now = time.monotonic()
        if now - self.said >= SECONDS:
            self.said = now
            self.say(f"{share:4.0%}  " + "  ".join(f"{name} {value}" for name, value in parts.items()))

    def close(self) -> None:
        """The end."""


class Bar(Progress):
    """A bar that stays at the bottom of a terminal."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self.rich = RichProgress(
            TextColumn("[bold]{task.description}"), BarColumn(None), TextColumn("{task.fields[parts]}")
        )
        self.task = self.rich.add_task(title, total=1.0, parts="")
        self.rich.start()

    def say(self, text: str) -> None:
        """Above the bar."""
        from rich.text import Text

        self.rich.console.print(Text(text))

    def show(self, share: float, parts: dict[str, str]) -> None:
        """Move the bar."""
        shown = "  ".join(f"{name} {value}" for name, value in parts.items())
        self.rich.update(self.task, completed=share, parts=shown)

    def close(self) -> None:
        """Leave the bar as it stands."""
        self.rich.stop()


def progress(title: str, *, quiet: bool) -> Progress:
    """The bar where there is a terminal and rich to draw it, lines otherwise."""
    if not quiet and sys.stdout.isatty() and find_spec("rich") is not None:
        return Bar(title)
    return Progress(title, quiet)
