"""The kinds of training: images, language, classes of texts, masked language, and completion of images."""

from regard.train.tasks.completion import CompleteImages
from regard.train.tasks.course import CourseGPT, CourseViT
from regard.train.tasks.images import ClassifyImages
from regard.train.tasks.language import Language
from regard.train.tasks.masked import MaskedText
from regard.train.tasks.text_classes import ClassifyTexts
from regard.train.tasks.tokens import BytePairs, Characters, Words

# Every dataclass that a recipe may hold from here.
PARTS = (
    *(ClassifyImages, CompleteImages, ClassifyTexts, Language, MaskedText),
    *(CourseGPT, CourseViT, BytePairs, Characters, Words),
)

__all__ = [
    "PARTS",
    "BytePairs",
    "Characters",
    "ClassifyImages",
    "ClassifyTexts",
    "CompleteImages",
    "CourseGPT",
    "CourseViT",
    "Language",
    "MaskedText",
    "Words",
]
