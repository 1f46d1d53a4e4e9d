"""A trained model in use: what a run, or one of the zoo, can be asked."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self, Unpack

import torch
from torch import Tensor, nn

from regard.data import Images, Pictures, Reviews, Source, Texts, Tokenizer, load
from regard.files import write_json
from regard.models.sampling import SamplingOptions
from regard.paper.pages import numbers
from regard.paper.quantities import number
from regard.probe import Completion, ImageLook, TextLook
from regard.probe.report import WORST, EvaluationReport
from regard.train.beginning import Begin
from regard.train.data_notes import DATA, other_data
from regard.train.folder import MODEL, RECIPE, TEST, check_recipe, read_recipe
from regard.train.recipe import Recipe
from regard.train.runs.other_data import loaded, read_as
from regard.train.task import TaskSetting, parted
from regard.train.tasks.course import CourseGPT
from regard.train.tasks.sources import source_in
from regard.values import Json

Folder = str | Path | None


@dataclass(frozen=True)
class Prediction:
    """What a model takes one input for; `notice` says what had to be done to the input."""

    input: str
    label: str
    probability: float
    probabilities: dict[str, float]
    notice: str | None = None

    def as_dict(self) -> Json:
        """Label, probability of every class and notice, as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Look:
    """What was found in all inputs: one of `images`, `texts` and `completion`, and notices on the inputs."""

    kind: str
    images: ImageLook | None = None
    texts: tuple[TextLook, ...] = ()
    completion: Completion | None = None
    notices: tuple[str, ...] = ()

    def as_dict(self) -> Json:
        """What was found in each input, as JSON."""
        return {
            "kind": self.kind,
            "images": None if self.images is None else self.images.as_dict(),
            "texts": [text.as_dict() for text in self.texts],
            "completion": None if self.completion is None else self.completion.as_dict(),
            "notices": list(self.notices),
        }


@dataclass(frozen=True)
class Prompt:
    """A prompt's token ids, how many tokens are to follow, and a notice on what had to be done to it."""

    ids: tuple[int, ...]
    tokens: int
    notice: str = ""


@dataclass(frozen=True, repr=False)
class Run:
    """A trained model and what using it takes: what its task says, and its tokenizer where it has one.

    What it can do depends on what it was trained for, `kind`; the rest raises a ValueError that says so.
    """

    folder: Path
    model: nn.Module
    description: Json
    tokenizer: Tokenizer | None = None
    card: str = ""

    @property
    def kind(self) -> str:
        """What it was trained for: images, texts, language, completion or masked."""
        return str(self.description.get("task", "something unknown"))

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def recipe(self) -> Recipe | None:
        """What it was trained by, where that is in its folder."""
        return read_recipe(self.folder) if (self.folder / RECIPE).exists() else None

    def as_dict(self) -> Json:
        """What it is, but for its weights, as JSON."""
        return {
            "name": self.name,
            "model": type(self.model).__name__,
            "parameters": sum(weight.numel() for weight in self.model.parameters()),
            "description": self.description,
            "card": self.card,
        }

    def __str__(self) -> str:
        """What it is in one line; the weights are not for reading."""
        count = sum(weight.numel() for weight in self.model.parameters())
        return f"{self.name}: {type(self.model).__name__} for {self.kind}, {count:,} parameters"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what it is, what it was trained on, and its scores."""
        rows = [("run", self.name), ("what", str(self).partition(": ")[2])]
        rows += [
            (name, str(self.description[name])) for name in ("data", "classes") if name in self.description
        ]
        rows += [(name, number(value)) for name, value in self.description.get("scores", {}).items()]
        return numbers(rows)

    def predict(self, inputs: Sequence[str]) -> list[Prediction]:
        """One prediction for each input: an image file, a text, or a file of text."""
        raise ValueError(f"predict needs a classifier of images or texts, this model is for {self.kind}")

    def explain(self, inputs: Sequence[str], *, steps: int = 32) -> list[Prediction]:
        """The predictions, those of texts with how much each word did."""
        return self.predict(inputs)

    def look(
        self,
        inputs: Sequence[str] = (),
        *,
        labels: Sequence[str] | None = None,
        steps: int = 32,
        data_dir: Folder = None,
    ) -> Look:
        """Where the model looked in image files, texts or files of text, and what moved its answer.

        `labels` are the true classes of images, where they are known. Without inputs a run for images is
        shown the first ten that its training held out, from the data set that it names. `steps` are those
        of the integrated gradient.
        """
        if labels is not None and (self.kind != "images" or not inputs):
            got = f"a run for {self.kind}, {len(inputs)} inputs"
            raise ValueError(f"labels are for images that are given, got {got}")
        return self._look(inputs, labels, steps, data_dir)

    def _look(
        self, inputs: Sequence[str], labels: Sequence[str] | None, steps: int, data_dir: Folder
    ) -> Look:
        raise ValueError(
            f"look needs a run for images, texts, language or completion, got one for {self.kind}"
        )

    def with_pattern(self, pattern: str | Sequence[str | None]) -> Self:
        """This run, whose layers now look as a pattern says, or as one for each of them."""
        raise ValueError(
            f"a pattern can be set on a model of transformers; {self.name} is a run of Regard, "
            "whose recipe says how it looks"
        )

    def prompt(self, text: str, tokens: int | None = None) -> Prompt:
        """A prompt for `stream` and `generate`, checked."""
        raise ValueError(
            f"{self.name} is a {type(self.model).__name__}, which writes no text: a GPT is needed"
        )

    def stream(
        self,
        prompt: str | Prompt,
        tokens: int | None = None,
        *,
        seed: int = 0,
        times: list[float] | None = None,
        **how: Unpack[SamplingOptions],
    ) -> Iterator[str]:
        """The text of `generate`, piece by piece: the prompt, then what each token adds."""
        self.prompt("", tokens)
        raise NotImplementedError

    def generate(
        self,
        prompt: str | Prompt,
        tokens: int | None = None,
        *,
        seed: int = 0,
        **how: Unpack[SamplingOptions],
    ) -> str:
        """The prompt, continued by so many tokens; how they are chosen is what `Sampling` takes."""
        return "".join(self.stream(prompt, tokens, seed=seed, **how))

    def held_out(self, count: int | None = None, *, data_dir: Folder = None) -> Pictures:
        """The pictures that its training held out, or the first of them."""
        raise ValueError(f"held-out pictures need a run for images or completion, got one for {self.kind}")

    @torch.no_grad()
    def evaluate(
        self, *, test: bool = False, data: Source | None = None, data_dir: Folder = None
    ) -> dict[str, float]:
        """Its scores, in float32: on its validation part or, recorded, on the test part.

        `data` is where its data lie now, or another set of the same classes, whose parts are cut alike. A
        model of the zoo has no recipe, so that only the test part is known.
        """
        recipe = self.recipe
        if recipe is None:
            return self.report(test=test, data=data, data_dir=data_dir).scores
        check_recipe(self.folder, recipe)  # another one may mean other data, or another cut of them
        value = recipe.task
        if hasattr(value, "start"):
            value = replace(value, start=str(self.folder / MODEL))  # its tokenizer, not one trained anew
        folder = None if data_dir is None else Path(data_dir)
        if data is not None:
            value = replace(value, data=read_as(self.description, data))
            loaded(self.description, value.data, folder)
        # Of other data another tokenizer would be learned; the textbook's data set brings its own.
        textbook = isinstance(getattr(value, "model", None), CourseGPT)
        if textbook and data is not None:
            raise ValueError(
                f"{self.name} is the textbook's GPT, which knows the words of its own data alone"
            )
        begin = None if textbook else Begin(self.name, tokenizer=self.tokenizer)
        task = value.build(TaskSetting(self.device, recipe.seed, folder, recipe.checks.overfit, begin))
        scores = task.test(self.model) if test else task.validate(self.model)
        change = other_data(self.folder, task)
        if data is not None and not (self.folder / DATA).exists():
            change = f"{data.named} is not the set that this run was trained on"
        if change is not None:
            unkept = "; the score is not recorded" if test else ""
            warnings.warn(f"{change}{unkept}", stacklevel=2)
        elif test:
            write_json(self.folder / TEST, scores)
        return scores

    def report(
        self,
        *,
        test: bool = False,
        data: Source | None = None,
        whole: bool = False,
        data_dir: Folder = None,
        worst: int = WORST,
    ) -> EvaluationReport:
        """How a classifier fares on its validation part or, recorded, on the test part, and its mistakes."""
        raise ValueError(f"report needs a classifier of images or texts, this model is for {self.kind}")


class PretrainingRun(Run):
    """What an encoder learned from hidden words: a start for others, whose own head was not kept."""

    def evaluate(
        self, *, test: bool = False, data: Source | None = None, data_dir: Folder = None
    ) -> dict[str, float]:
        """Nothing: it cannot name hidden words any more."""
        raise ValueError(
            f"{self.folder} is a pretraining: its head was not kept; evaluate what was trained from it"
        )


class Classifier(Run):
    """A run that names classes: of images or of texts."""

    @property
    def classes(self) -> list[str]:
        """The classes, in the order of the logits."""
        return list(self.description["classes"])

    def report(
        self,
        *,
        test: bool = False,
        data: Source | None = None,
        whole: bool = False,
        data_dir: Folder = None,
        worst: int = WORST,
    ) -> EvaluationReport:
        """How it fares on its validation part or, recorded, on the test part, and its worst mistakes.

        `data` is where its data lie now, or another set of the same classes; with `whole`, every example of
        that one is scored.
        """
        recipe = self.recipe
        if whole and (data is None or test):
            raise ValueError("--all is for another set, which --data names, and goes without --test")
        if recipe is None and not test and not whole:
            raise ValueError(f"{self.name} has no recipe that tells its validation part; add --test")
        named = source_in(self.description) if data is None else read_as(self.description, data)
        found = load(named, folder=data_dir) if data is None else loaded(self.description, named, data_dir)
        assert isinstance(found, Images | Reviews)
        part = found.test
        if test and not len(part):
            raise ValueError(f"{found.name} has no test part")
        if whole:
            if len(part):
                raise ValueError(f"{found.name} has a test part: score that with --test in place of --all")
            return replace(self.judge(found.train, worst), name=self.name, data=found.name, part="all")
        if recipe is not None and not test:
            _, held = parted(found, recipe.task.validation, recipe.checks.overfit)
            part = found.train.take(held)
        out = self.judge(part, worst)
        if test and recipe is not None and data is None:
            write_json(self.folder / TEST, out.scores)
        return replace(out, name=self.name, data=found.name, part="test" if test else "validation")

    def judge(self, part: Pictures | Texts, worst: int) -> EvaluationReport:
        """The report on some examples."""
        raise NotImplementedError

    def prediction(self, given: str, chances: Tensor, notice: str | None) -> Prediction:
        """What these probabilities (classes,) say of an input."""
        best = int(chances.argmax())
        named = dict(zip(self.classes, chances.tolist(), strict=True))
        return Prediction(given, self.classes[best], float(chances[best]), named, notice)
