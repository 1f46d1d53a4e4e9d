"""Opening a run, or a model of the zoo: every file checked, the weights read, and the class of its kind."""

import json
import threading
import warnings
from pathlib import Path

import torch
from torch import nn

import regard
from regard.data import HubTokenizer, Tokenizer, load_tokenizer
from regard.errors import did_you_mean
from regard.files import SUMS, check_all, find_folder, read_sums
from regard.layers.initial import without_memory
from regard.models import GPT, from_huggingface, load
from regard.models.files import build_config, read_tensors
from regard.models.quantise import grow
from regard.models.weights import place
from regard.train.folder import MODEL, RECIPE, code_of, read_recipe
from regard.train.runs.hub import open_hub
from regard.train.runs.images import CompletionRun, ImageRun
from regard.train.runs.language import LanguageRun
from regard.train.runs.run import PretrainingRun, Run
from regard.train.runs.texts import TextRun
from regard.train.tasks.pretrained import is_foreign
from regard.values import Json

KINDS: dict[str, type[Run]] = {
    "images": ImageRun,
    "completion": CompletionRun,
    "texts": TextRun,
    "language": LanguageRun,
    "masked": PretrainingRun,
}
ZOO = "zoo:"
# Models that ship with the package: files, which the room `zoo` to the right of this one writes.
WEIGHTS = Path(regard.__file__).parent / "zoo" / "weights"
TURNS = threading.RLock()  # while a model of the zoo is replaced, its folder is not there for a moment


def open_run(
    name: str | Path, *, device: str | torch.device = "cpu", trust: bool = False, writes: bool = False
) -> Run:
    """A run by its folder, or a model of the zoo by `zoo:NAME`, ready for use; or a folder of transformers.

    Code of one's own that it names is imported from where this user ran it before; with `trust`, from
    wherever it is. A folder of transformers is looked at as it is; if it `writes`, its weights are read
    into a model of ours.

    >>> open_run("zoo:verdicts-encoder").predict(["Not one dull minute."])[0].label
    'positive'
    """
    text = str(name)
    if text.startswith(ZOO):
        return load_shipped(text, device=device)
    if is_foreign(Path(name)):
        return load_foreign(Path(name), device=device) if writes else open_hub(Path(name), device)
    return load_run(name, device=device, trust=trust)


def load_run(folder: str | Path, *, device: str | torch.device = "cpu", trust: bool = False) -> Run:
    """The best model of a run, ready for use; `folder` may also be a folder of such a model itself.

    Every file is checked against the checksums that training wrote beside it.
    """
    folder = Path(folder)
    inner = find_folder(folder / MODEL)
    inner = inner if inner.is_dir() else folder
    if not (inner / "model.safetensors").exists():
        if (folder / RECIPE).exists():
            raise ValueError(f"{folder} has no model yet: a run keeps one at its first validation")
        raise ValueError(f"{folder} holds no run: it has neither {RECIPE} nor a model")
    sums = read_sums(inner)
    if sums is None:
        warnings.warn(f"{inner} was written without checksums: damage to it cannot be noticed", stacklevel=2)
    check_all(inner, [name for name in sums or () if name != "model.safetensors"])  # `load` checks that one
    if trust and (folder / RECIPE).exists():
        read_recipe(folder, trust=True)  # from now on its names are known
    model = load(inner / "model.safetensors", trust=trust, roots=code_of(folder)).to(device).eval()
    return make_run(folder, model, _read_json(inner / "task.json"), _tokenizer(inner))


def load_foreign(folder: Path, *, device: str | torch.device = "cpu") -> LanguageRun:
    """The language model of a folder as transformers wrote it, with its tokenizer."""
    model = from_huggingface(folder)
    if not isinstance(model, GPT):
        raise ValueError(
            f"{folder} holds a {type(model).__name__} of transformers; of those, language models alone are "
            "opened as runs, and others are where a training starts (--set before=…)"
        )
    return LanguageRun(folder, model.to(device), {"task": "language"}, HubTokenizer.read(folder))


def make_run(
    folder: Path,
    model: nn.Module,
    description: Json,
    tokenizer: Tokenizer | None = None,
    card: str = "",
) -> Run:
    """A run of the kind that its description tells; of another kind, its model can be used and no more."""
    kind = KINDS.get(str(description.get("task")), Run)
    return kind(folder, model, description, tokenizer, card)


def shipped(folder: Path | None = None) -> tuple[str, ...]:
    """The models of the zoo, sorted."""
    folder = WEIGHTS if folder is None else folder
    found = (path.parent.name for path in folder.glob("*/config.json"))
    return tuple(sorted(name for name in found if not name.startswith(".")))


def load_shipped(name: str, folder: Path | None = None, *, device: str | torch.device = "cpu") -> Run:
    """A model of the zoo in float32 and evaluation mode.

    >>> load_shipped("vit-cifar11")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: the zoo has no model 'vit-cifar11'...
    """
    with TURNS:
        path = find_shipped(name, folder)
        try:
            if not check_all(path):
                raise ValueError(f"it has no {SUMS}")
            config, kind = build_config(_read_json(path / "config.json"))
            with without_memory():
                model = kind(config)
            place(model, grow(read_tensors(path / "model.safetensors")[0]), str(path / "model.safetensors"))
            card = (path / "card.md").read_text(encoding="utf-8")
            described, tokenizer = _read_json(path / "task.json"), _tokenizer(path)
        except (ValueError, OSError) as error:
            raise ValueError(f"zoo:{path.name} is damaged: {error}; install regard again") from error
        return make_run(path, model.to(device).eval(), described, tokenizer, card)


def find_shipped(name: str, folder: Path | None = None) -> Path:
    """The folder of a model of the zoo, or a ValueError that names those there are."""
    name = name.removeprefix(ZOO)
    there = shipped(folder)
    if name in there:
        return (WEIGHTS if folder is None else folder) / name
    listed = f"there are {', '.join(there)}" if there else "it is empty"
    raise ValueError(f"the zoo has no model {name!r}:{did_you_mean(name, there, before=' ')} {listed}")


def _tokenizer(folder: Path) -> Tokenizer | None:
    return load_tokenizer(folder) if (folder / "tokenizer.json").exists() else None


def _read_json(path: Path) -> Json:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} cannot be read: it is no object")
    return found
