"""What a folder of transformers holds beside weights and sizes: names of classes, tokens, tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.files import write
from regard.models.huggingface.settings import LABELS, TOKENS, Config

KEPT = (*TOKENS, *LABELS, "task_specific_params", "tokenizer_class")
FILES = (
    "generation_config.json", "chat_template.jinja", "chat_template.json", "preprocessor_config.json",
    "processor_config.json", "tokenizer.json", "tokenizer_config.json", "tokenizer.model",
    "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "spiece.model",
    "sentencepiece.bpe.model",
)  # fmt: skip


def copy_extras(source: Path, folder: Path) -> None:
    """Bring over what lies beside the weights, byte by byte."""
    for name in FILES:
        if (source / name).is_file():
            write(folder / name, (source / name).read_bytes())


def passed_on(origin: Config, config: Config) -> Config:
    """What a new config keeps of the one that its model came from, where it does not say other itself."""
    said = {name for name in TOKENS if config.get(name) is not None}
    return {name: origin[name] for name in KEPT if name in origin and name not in said}


def labels(count: int | None, names: Sequence[str] | None, kept: Config) -> Config:
    """Names of so many classes: those given, those that were there, or their numbers."""
    if count is None:
        if names is not None:
            raise ValueError(
                f"classes name what a head tells apart, but the model has none, got {list(names)}"
            )
        return {}
    found = kept.get("id2label")
    if names is None and isinstance(found, dict) and set(found) == {str(i) for i in range(count)}:
        names = [str(found[str(i)]) for i in range(count)]
    names = [str(i) for i in range(count)] if names is None else list(names)
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"classes must be {count} different names, got {len(names)}: {names[:8]}")
    return {
        "id2label": {str(i): name for i, name in enumerate(names)},
        "label2id": {name: i for i, name in enumerate(names)},
        "num_labels": count,
    }
