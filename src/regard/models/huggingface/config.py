"""What can be priced of a config.json of transformers, from it alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from regard.layers.shapes import HasShapes
from regard.models.huggingface.decoders import FAMILIES, read_decoder, read_gpt2, read_neox, read_opt
from regard.models.huggingface.encoders import read_bert, read_vit
from regard.models.huggingface.keys import Keys

READERS: dict[object, Callable[[Keys], tuple[HasShapes, str]]] = {
    "gpt2": read_gpt2,
    "bert": read_bert,
    "vit": read_vit,
    **dict.fromkeys(FAMILIES, read_decoder),
    "gpt_neox": read_neox,
    "opt": read_opt,
    "roberta": read_bert,
    "distilbert": read_bert,
    "dinov2": read_vit,
}


def read_config(
    data: Mapping[str, object], source: str = "config.json", *, known_only: bool = True
) -> tuple[HasShapes, str]:
    """(what `price` takes, what it is in words) of a config of transformers.

    A class, or with `known_only` a field, that is not known is refused by name.

    >>> what, words = read_config({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
    ...                            "n_layer": 12, "n_embd": 768, "n_head": 12})
    >>> what.width, words
    (768, 'gpt2, language-model head tied to the embedding')
    """
    family = data.get("model_type")
    if not isinstance(family, str) or family not in READERS:
        known = ", ".join(map(str, READERS))
        raise ValueError(f"{source}: model_type must be one of {known}, got model_type={family!r:.80}")
    keys = Keys(data, source)
    found = READERS[family](keys)
    if known_only:
        keys.check_known()
    return found
