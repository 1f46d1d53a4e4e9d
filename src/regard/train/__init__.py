"""One training loop for all tasks: exact resume, whole-step CUDA graphs, PyTorch's distributed engine."""

from regard.train.distributed import ALONE
from regard.train.fingerprint import fingerprint
from regard.train.folder import read_recipe
from regard.train.loop import Result
from regard.train.optimizers import AdamW, Muon
from regard.train.order import Examples
from regard.train.overrides import override
from regard.train.recipe import Checks, Execution, Parallelism, Recipe, Start
from regard.train.runs.listing import list_runs
from regard.train.runs.opening import load_run, open_run
from regard.train.runs.run import Look, Prediction, Run
from regard.train.runs.texts import TextPrediction
from regard.train.schedules import Cosine, Linear, Trapezoid
from regard.train.start import train
from regard.train.stopping import Stopped
from regard.train.task import BaseTask, TaskSetting
from regard.train.tasks.building import build as build_model
from regard.train.tasks.completion import CompleteImages
from regard.train.tasks.course import CourseGPT, CourseViT
from regard.train.tasks.images import ClassifyImages
from regard.train.tasks.language import Language
from regard.train.tasks.masked import MaskedText
from regard.train.tasks.text_classes import ClassifyTexts
from regard.train.tasks.tokens import BytePairs, Characters, Words

__all__ = [
    "ALONE",
    "AdamW",
    "BaseTask",
    "BytePairs",
    "Characters",
    "Checks",
    "ClassifyImages",
    "ClassifyTexts",
    "CompleteImages",
    "Cosine",
    "CourseGPT",
    "CourseViT",
    "Examples",
    "Execution",
    "Language",
    "Linear",
    "Look",
    "MaskedText",
    "Muon",
    "Parallelism",
    "Prediction",
    "Recipe",
    "Result",
    "Run",
    "Start",
    "Stopped",
    "TaskSetting",
    "TextPrediction",
    "Trapezoid",
    "Words",
    "build_model",
    "fingerprint",
    "list_runs",
    "load_run",
    "open_run",
    "override",
    "read_recipe",
    "train",
]
