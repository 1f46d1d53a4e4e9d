"""What is said about an answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Finding:
    """Right or wrong, in one line, with more below it; `mistake` is what explains a wrong answer."""

    right: bool
    says: str
    details: tuple[str, ...] = ()
    mistake: str = ""


@dataclass(frozen=True)
class Verdict:
    """A finding with its question and answer, the letters that were translated, and the file it is from."""

    question: str
    asks: str
    domain: str
    answer: str
    right: bool
    says: str
    details: tuple[str, ...] = ()
    mistake: str = ""
    read: tuple[tuple[str, str], ...] = ()
    where: str = ""

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.question}: {self.answer}", f"  {self.says}", *(f"  {d}" for d in self.details)]
        )

    def as_dict(self) -> dict[str, object]:
        """All fields; `read` as an object from the answer's letters to the question's."""
        return asdict(self) | {"details": list(self.details), "read": dict(self.read)}
