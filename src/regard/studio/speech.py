"""How a language model's tokens are told to people, and which models there are."""

from __future__ import annotations

from regard.data import Tokenizer
from regard.models import GPT
from regard.studio.models import here
from regard.train.runs.language import LanguageRun


def label(reader: Tokenizer, token: int) -> str:
    """One token as a text; those that are no text have a name in angle brackets.

    >>> from regard.data import CharTokenizer
    >>> reader = CharTokenizer.train(["ab"])
    >>> label(reader, 0), label(reader, 3)
    ('⟨start⟩', 'a')
    """
    names = {reader.start: "⟨start⟩", reader.pad: "⟨padding⟩", reader.unk: "⟨unknown⟩"}
    names |= dict.fromkeys(reader.ends, "⟨end⟩")
    return names.get(token) or reader.decode([token])


def end_of(run: LanguageRun) -> tuple[list[int], list[int]]:
    """(the tokens that end a text, those that are never drawn)."""
    how = run.sampling()
    return [*how.stop], [*how.ban]  # type: ignore[misc]


def writers(wanted: str) -> dict[str, object]:
    """The GPTs of this studio with their sizes, the one to begin with first; or what to do without any."""
    found = here()
    runs = {name: run for name, run in found.runs.items() if isinstance(run, LanguageRun)}
    names = [name for name, run in runs.items() if isinstance(run.writer, GPT)]
    if not names:
        return {"models": [], "missing": found.missing(LanguageRun)}
    if names[0].startswith("zoo:") and wanted in names:
        names = [wanted, *(name for name in names if name != wanted)]
    return {"models": [{"name": name, **sizes(runs[name].gpt)} for name in names], "missing": None}


def sizes(gpt: GPT) -> dict[str, object]:
    """What a page must know of a model before it asks for more."""
    config = gpt.config
    return {
        "layers": config.depth, "heads": config.heads, "width": config.width, "vocab": config.vocab_size,
        "patterns": [str(pattern) for pattern in config.patterns],
        "linear": [bool(mixer.word) for mixer in config.mixers],
    }  # fmt: skip
