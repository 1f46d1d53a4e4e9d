"""What a user trains, and how its weights come and go."""

from regard.models.bert_gru import BERTGRUConfig, BERTGRUSentiment
from regard.models.completion import GridCompletion, GridCompletionConfig
from regard.models.convnet import ConvNet, ConvNetConfig
from regard.models.encoder import Encoder, EncoderConfig
from regard.models.files import load, save
from regard.models.from_course import from_course
from regard.models.gpt import GPT, GPTConfig, Tied, Untied
from regard.models.grid import GridRNN, GridRNNConfig
from regard.models.gru import GRUClassifier, GRUConfig
from regard.models.huggingface import from_huggingface, to_huggingface
from regard.models.mlp import MLP, MLPConfig
from regard.models.trunk import mean_pool
from regard.models.vit import ViT, ViTConfig

__all__ = [
    "GPT",
    "MLP",
    "BERTGRUConfig",
    "BERTGRUSentiment",
    "ConvNet",
    "ConvNetConfig",
    "Encoder",
    "EncoderConfig",
    "GPTConfig",
    "GRUClassifier",
    "GRUConfig",
    "GridCompletion",
    "GridCompletionConfig",
    "GridRNN",
    "GridRNNConfig",
    "MLPConfig",
    "Tied",
    "Untied",
    "ViT",
    "ViTConfig",
    "from_course",
    "from_huggingface",
    "load",
    "mean_pool",
    "save",
    "to_huggingface",
]
