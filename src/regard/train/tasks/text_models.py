"""The models that read texts: an Encoder, GRUs, or GRUs over an encoder that stays as it is."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from regard.data import load_tokenizer
from regard.data.tokenizers import Tokenizer, WordPieceTokenizer
from regard.layers import Learned
from regard.layers.initial import without_memory
from regard.models import (
    BERTGRUConfig,
    BERTGRUSentiment,
    Encoder,
    EncoderConfig,
    GRUClassifier,
    GRUConfig,
)
from regard.models.files import load as load_model
from regard.models.own import Factory, Own, shown
from regard.models.own_texts import OwnClassifier
from regard.models.weights import place
from regard.train.tasks.building import build
from regard.train.tasks.pretrained import is_foreign, located, read_bert
from regard.train.tasks.rows import readable

TextConfig = EncoderConfig | GRUConfig | BERTGRUConfig
TextModel = Encoder | GRUClassifier | BERTGRUSentiment | OwnClassifier


def fitted(
    model: TextConfig | Factory, begin: TextModel | None, *, vocab: int, context: int, classes: int
) -> TextConfig | Own:
    """The config for this vocabulary and these classes, and for the model to begin with, if any.

    >>> fitted(GRUConfig(vocab=None, context=8), None, vocab=50, context=8, classes=3).vocab
    50
    """
    if not isinstance(model, TextConfig):
        if begin is not None and not isinstance(begin, OwnClassifier):
            raise ValueError(f"start holds {type(begin).__name__}, with which no {shown(model)} begins")
        return Own(model, {"vocab": vocab, "context": context, "classes": classes}, "texts")
    if isinstance(model, BERTGRUConfig):
        if begin is None:
            raise ValueError("start must name the BERT under the GRUs: a folder, package:… or a hub name")
        if isinstance(begin, Encoder):
            return replace(model, bert=begin.config, classes=classes)
    elif begin is None:
        return replace(model, vocab=vocab, classes=classes)
    if isinstance(begin, OwnClassifier) or type(model) is not type(begin.config):
        raise ValueError(f"start holds {type(begin).__name__}, with which no {type(model).__name__} begins")
    names = ["dropout"]
    if isinstance(model, EncoderConfig) and isinstance(begin, Encoder):
        names += ["pool", "pattern", "mixer"]
        if not isinstance(begin.config.position, Learned):  # a table of positions cannot grow
            names.append("context")
    return replace(begin.config, classes=classes, **{name: getattr(model, name) for name in names})


def made(config: TextConfig | Own, begin: TextModel | None, generator: torch.Generator) -> nn.Module:
    """A new model, with the weights it begins with where there are some."""
    model = build(config, generator)
    if begin is not None:
        below = isinstance(model, BERTGRUSentiment) and isinstance(begin, Encoder)
        transfer(begin, model.bert if below else model)  # type: ignore[arg-type]
    return model


def started(start: str) -> tuple[TextModel, Tokenizer]:
    """The model and the tokenizer that training goes on from."""
    folder = located(start)
    if is_foreign(folder):
        return read_bert(folder)
    model = load_model(folder / "model.safetensors")
    if not isinstance(model, TextModel):
        raise ValueError(f"start must hold a model of texts, {folder} holds a {type(model).__name__}")
    return model, load_tokenizer(folder)


def cut(
    begin: TextModel, tokenizer: Tokenizer, texts: Sequence[str], least: int
) -> tuple[Encoder, WordPieceTokenizer]:
    """The encoder and its tokenizer without the word pieces that these texts have less than `least` times."""
    if not isinstance(begin, Encoder) or not isinstance(tokenizer, WordPieceTokenizer):
        raise ValueError(f"least cuts the vocabulary of a BERT, got a {type(begin).__name__}")
    counts = torch.zeros(tokenizer.vocab, dtype=torch.int64)
    for ids in tokenizer.encode_batch(readable(texts)):
        counts += torch.bincount(torch.tensor(ids), minlength=tokenizer.vocab)
    needed = tokenizer.needed((counts >= least).nonzero()[:, 0].tolist())
    kept = [i for i in needed if i < begin.config.vocab_size]  # a file may name words without a vector
    weights = begin.state_dict()
    weights["embed.weight"] = weights["embed.weight"][torch.tensor(kept)]
    with without_memory():
        model = Encoder(replace(begin.config, vocab=len(kept)))
    place(model, weights, "the cut model")
    return model.eval(), tokenizer.cut(kept)


@torch.no_grad()
def transfer(source: nn.Module, model: nn.Module) -> None:
    """Copy every weight that both models have, in the same shape."""
    there, here = source.state_dict(), model.state_dict()
    shared = [name for name in here if name in there and there[name].shape == here[name].shape]
    if not shared:
        raise ValueError(f"{type(source).__name__} shares no weight with {type(model).__name__}")
    for name in shared:
        here[name].copy_(there[name])
