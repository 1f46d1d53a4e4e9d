"""What can be priced of a config.json of transformers, from it alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

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


# Families that people ask for, and why they have no price.
REFUSED = {
    "t5": "what its encoder reads and what its decoder writes are of two lengths",
    "whisper": "what its encoder hears and what its decoder writes are of two lengths",
    "mamba": "its state spaces are no attention",
    "modernbert": "encoders with windows to both sides are not described here",
    "gemma3": "it reads images and text; the text model alone is a gemma3_text",
}


def read_config(
    data: Mapping[str, object], source: str = "config.json", *, ignored: Collection[str] = ()
) -> tuple[HasShapes, str]:
    """(what `price` takes, what it is in words) of a config of transformers.

    A class or a field that is not known is refused by name, unless the model is known to have `ignored` it.

    >>> what, words = read_config({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
    ...                            "n_layer": 12, "n_embd": 768, "n_head": 12})
    >>> what.width, words
    (768, 'gpt2, language-model head tied to the embedding')
    """
    family = data.get("model_type")
    if isinstance(family, str) and family in REFUSED:
        raise ValueError(f"{source}: a {family} has no price here: {REFUSED[family]}")
    if not isinstance(family, str) or family not in READERS:
        known = ", ".join(map(str, READERS))
        raise ValueError(f"{source}: model_type must be one of {known}, got model_type={family!r:.80}")
    keys = Keys(data, source)
    found = READERS[family](keys)
    keys.check_known(ignored)
    return found
