"""The results page: trained recipes beside each other, costs counted now from their configs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import regard.recipes
from regard.cost import Cost, price
from regard.models import BERTGRUConfig, EncoderConfig, GPTConfig, GRUConfig
from regard.models.files import build_config
from regard.train import ClassifyImages, ClassifyTexts, CourseViT, Language, override

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
CACHE = 1024  # tokens after which the cache is weighed
OF_TOKENS = (GPTConfig, EncoderConfig, GRUConfig, BERTGRUConfig)
ORDER = (
    *("vit-fashion-mnist", "convnet-fashion-mnist", "grid-fashion-mnist", "mlp-fashion-mnist"),
    *("vit-fashion-mnist-cpu", "vit-cifar10", "course-cifar10", "vit-cifar10-cpu"),
    *("shakespeare-char", "shakespeare-char-cpu", "dialogue", "dialogue-textbook"),
)  # of recipes in a table; others follow by name
SCORES = {"loss": "{:.4f}", "perplexity": "{:.2f}", "bits_per_character": "{:.3f}"}
Found = dict[str, Any]  # one file of benchmarks/results/runs


def pages() -> dict[str, str]:
    """The page under its path."""
    runs = {path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted((RESULTS / "runs").glob("*.json"))}  # fmt: skip
    baselines = [json.loads(path.read_text(encoding="utf-8"))
                 for path in sorted(RESULTS.glob("sentiment-*.json"))]  # fmt: skip
    parts = [HEAD]
    for title, table in (
        ("Vision", vision(runs)),
        ("Language", language(runs)),
        ("Sentiment", sentiment(runs, baselines)),
    ):
        if table:
            parts.append(f"## {title}\n\n{table}")
    return {"results.md": "\n\n".join(parts) + "\n"}


HEAD = (
    "# Results\n\nWhat the [recipes](recipes.md) reached. Every row is a file under "
    "`benchmarks/results`, which `benchmarks/collect.py` writes from the folders of the runs. Models were "
    "chosen on a part cut from the training set; the test set was used once, at the end, but for CIFAR-10 in "
    "a minute and for the baselines, which were scored on it twice. *Training* is without set-up and "
    "compilation, which stand behind it; the files say which runs shared their GPU with others. "
    "Flops are multiplies and adds of one forward pass, counted from the config "
    "by `regard.cost`; its [conventions](design.md) say what counts."
)


def vision(runs: dict[str, Found]) -> str:
    """Classifiers of images."""
    rows = []
    for name, found, task in chosen(runs, ClassifyImages):
        rows.append([
            task.data, f"`{name}`{changes(found)}", f"{found['parameters']:,}", flops(found), times(found),
            each(found, lambda run: run["test"]["accuracy"], percent), device(found),
        ])  # fmt: skip
    head = ("data", "recipe", "parameters", "flops per image", "training, s", "test accuracy, %", "on")
    return table(head, rows, "llrrrrl")


def language(runs: dict[str, Found]) -> str:
    """Models of Tiny Shakespeare, with their variants: each recipe's own pattern first."""
    rows = []
    for name, found, _ in chosen(runs, Language):
        config = config_of(found)
        context = None if config is None else config.context
        rows.append([
            f"`{name}`{changes(found)}",
            f"{found['parameters']:,}",
            *(each(found, lambda run, key=key: run["validation"][key], digits.format)
              for key, digits in SCORES.items()),
            flops(found, tokens=context, per=context or 1),
            cache(config),
            each(found, lambda run: run.get("tokens_per_second"), "{:,.0f}".format, mean=True),
            times(found), device(found),
        ])  # fmt: skip
    head = ("recipe", "parameters", "validation loss", "perplexity", "bits per character",
            "flops per token", f"cache at {CACHE:,} tokens, bytes", "tokens per s",
            "training, s", "on")  # fmt: skip
    note = (
        "\n\nLoss is in nats per token, a token being a character in `shakespeare-char` and a word in "
        "`dialogue`; bits per character compare the two, and flatter "
        "words a little, since an unknown word (5.2 % here) is not spelt. "
        "Flops per token are those of a full context over its length; "
        "the cache is counted in bfloat16, and a dash stands where learned positions end "
        "before. Tokens per second are those of training, padding included."
    )
    return table(head, rows, "lrrrrrrrrl") + note if rows else ""


def sentiment(runs: dict[str, Found], baselines: Sequence[Found]) -> str:
    """Readers of reviews, trained by us and by scikit-learn."""
    rows = []
    for found in baselines:
        machine, data = found["machine"], found["settings"]["data"]
        for row in found["rows"]:
            rows.append([
                data, f"{row['method']}<br>{safe(row['setting'])}", f"{row['parameters']:,}",
                f"{row['flops']:,}", f"{row['training_seconds']:.1f}", percent(row["validation"]),
                f"{percent(row['test'])} ({percent(row['test_all'])})",
                f"{machine['cores']} cores of {machine['processor']}",
            ])  # fmt: skip
    for name, found, task in chosen(runs, ClassifyTexts):
        rows.append([
            task.data, f"`{name}`{changes(found)}", f"{found['parameters']:,}",
            flops(found, tokens=found.get("tokens_per_text")), times(found),
            each(found, lambda run: run["validation"]["accuracy"], percent),
            each(found, lambda run: run.get("test", {}).get("accuracy"), percent), device(found),
        ])  # fmt: skip
    head = ("data", "recipe or method", "parameters", "flops per review", "training, s",
            "validation accuracy, %", "test accuracy, %", "on")  # fmt: skip
    note = (
        "\n\nA review is one of average length, as the model reads it. The first rows count words, by "
        "scikit-learn (`regard bench sentiment`): their flops are a multiply and an add for each feature "
        "that a review has, times the width of the hidden layer in the MLP, and one multiply more for its "
        "document frequency in TF-IDF. In brackets: trained again on all labelled reviews, as published "
        "figures are; all other rows saw nine tenths of them."
    )
    return table(head, rows, "llrrrrrl") + note if rows else ""


def chosen(runs: dict[str, Found], kind: type) -> list[tuple[str, Found, Any]]:
    """The runs of a kind of task, each recipe before its variants, with the task."""
    tasks = {name: regard.recipes.get(found["recipe"]).task for name, found in runs.items()}

    def place(name: str) -> tuple[int, str, bool, str]:
        recipe = runs[name]["recipe"]
        return ORDER.index(recipe) if recipe in ORDER else len(ORDER), recipe, name != recipe, name

    names = sorted((name for name in runs if isinstance(tasks[name], kind)), key=place)
    return [(name, runs[name], tasks[name]) for name in names]


def changes(found: Found) -> str:
    """What differs from the recipe, below its name."""
    return "".join(f"<br>`{safe(change)}`" for change in found.get("set", []))


def config_of(found: Found) -> Any:
    """The config with as many parameters as were trained: the recorded one or the recipe's; else None."""
    configs = [override(regard.recipes.get(found["recipe"]), found.get("set", [])).task.model]
    if "model" in found:
        configs.insert(0, build_config(found["model"])[0])
    known = (one for one in configs if getattr(one, "vocab", 0) is not None)  # None: the data decided
    return next((one for one in known if priced(one, 1).parameters == found["parameters"]), None)


def flops(found: Found, tokens: int | None = None, per: int = 1) -> str:
    """Of a forward pass over an image or so many tokens."""
    config = config_of(found)
    if config is None or (tokens is None and isinstance(config, OF_TOKENS)):
        return "–"
    return f"{round(priced(config, tokens).flops / per):,}"


def priced(config: Any, tokens: int | None) -> Cost:
    """The exact cost of a config, that of the textbook's model among them."""
    what = config.build() if isinstance(config, CourseViT) else config
    return price(what, tokens if isinstance(config, OF_TOKENS) else None)


def cache(config: Any) -> str:
    """Bytes of the cache after CACHE tokens."""
    if config is None:
        return "–"
    try:
        cost = price(config, CACHE, decode=True, dtype=torch.bfloat16)
    except ValueError:  # learned positions end before
        return "–"
    return f"{cost.cache_bytes:,}"


def times(found: Found) -> str:
    """Seconds of training, on average over the seeds, and the longest set-up."""

    def of(part: str) -> list[float]:
        return [run["seconds"].get(part, 0.0) + run.get("seconds_before", {}).get(part, 0.0)
                for run in found["runs"]]  # fmt: skip

    return f"{statistics.mean(of('training')):,.0f} (+ {max(of('setup')):,.0f})"


def each(
    found: Found,
    value: Callable[[Found], float | None],
    show: Callable[[float], str],
    mean: bool = False,
) -> str:
    """The mean over the seeds, and each of them in its order."""
    values = [value(run) for run in found["runs"]]
    known = [one for one in values if one is not None]
    if not known:
        return "–"
    average = show(statistics.mean(known))
    return average if mean or len(known) == 1 else f"{average}<br>({', '.join(map(show, known))})"


def device(found: Found) -> str:
    """What the runs ran on."""
    return safe(", ".join(dict.fromkeys(run["device"] for run in found["runs"])))


def percent(share: float) -> str:
    """A share in hundredths."""
    return f"{100 * share:.2f}"


def safe(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """A Markdown table, or nothing without rows; `sides` says for each column l or r."""
    assert all(len(row) == len(head) == len(sides) for row in rows)
    if not rows:
        return ""
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("|" + "|".join("---:" if side == "r" else "---" for side in sides) + "|")
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
