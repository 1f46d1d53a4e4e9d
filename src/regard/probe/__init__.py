"""Look inside a model: where it looked, what moved its answer, and how far to trust the picture.

>>> import torch
>>> from regard.models import ViT, ViTConfig
>>> model = ViT(ViTConfig(image=(4, 6), patch=2, channels=1, classes=2, depth=2, width=8, heads=2))
>>> seen = see(model, torch.zeros(1, 1, 4, 6))
>>> patch_map(mean_attention(seen), (2, 3)).shape
torch.Size([1, 2, 3])
"""

from regard.data.pictures import ImageRead, read_image
from regard.paper.figures import save_figure
from regard.paper.pages import Section, page
from regard.paper.pixels import upsample
from regard.probe.attribution import Attribution, input_gradient, integrated_gradients
from regard.probe.completions import Completion, complete_images, to_levels
from regard.probe.hiding import HidingCheck, check_by_hiding
from regard.probe.images import ImageLook, look_images, score_images
from regard.probe.inputs import read_text
from regard.probe.maps import AttentionMaps, head_attention, mean_attention, patch_map, relative, rollout, see
from regard.probe.plot_images import completion_figure, heads_figure, images_figure
from regard.probe.plot_measures import hiding_figure, position_figure
from regard.probe.plot_texts import text_figure
from regard.probe.positions import PositionSimilarity, position_similarity
from regard.probe.report import Bin, EvaluationReport, WrongAnswer, judge
from regard.probe.report_page import report_markdown, report_sections
from regard.probe.sections import (
    completion_section,
    heads_section,
    hiding_section,
    images_section,
    text_section,
)
from regard.probe.text_colours import text_html, text_terminal
from regard.probe.texts import Piece, TextLook, Window, clean, look_text, pieces_of

__all__ = [
    "AttentionMaps",
    "Attribution",
    "Bin",
    "Completion",
    "EvaluationReport",
    "HidingCheck",
    "ImageLook",
    "ImageRead",
    "Piece",
    "PositionSimilarity",
    "Section",
    "TextLook",
    "Window",
    "WrongAnswer",
    "check_by_hiding",
    "clean",
    "complete_images",
    "completion_figure",
    "completion_section",
    "head_attention",
    "heads_figure",
    "heads_section",
    "hiding_figure",
    "hiding_section",
    "images_figure",
    "images_section",
    "input_gradient",
    "integrated_gradients",
    "judge",
    "look_images",
    "look_text",
    "mean_attention",
    "page",
    "patch_map",
    "pieces_of",
    "position_figure",
    "position_similarity",
    "read_image",
    "read_text",
    "relative",
    "report_markdown",
    "report_sections",
    "rollout",
    "save_figure",
    "score_images",
    "see",
    "text_figure",
    "text_html",
    "text_section",
    "text_terminal",
    "to_levels",
    "upsample",
]
