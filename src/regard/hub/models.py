"""Which modules of a transformers model attend, and which pattern each of them has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torch import nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface

from regard.attention.inputs import pattern_of
from regard.hub.attention import PATTERN
from regard.pattern import Pattern

NAME = "regard"  # of the implementation
ASKS = "ALL_ATTENTION_FUNCTIONS"  # the name by which a forward asks for the implementation that was chosen


def register(attention: Callable[..., object], mask: Callable[..., object]) -> None:
    """Make the implementation known to transformers, with its masks: without them padding is dropped."""
    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, mask)


def attention_modules(model: nn.Module) -> dict[str, nn.Module]:
    """The modules that attend by the chosen implementation, by name, in the order of the model."""
    return {name: module for name, module in model.named_modules() if _asks(type(module))}


def _asks(kind: type) -> bool:
    forward = inspect.unwrap(kind.forward) if hasattr(kind, "forward") else None
    code = getattr(forward, "__code__", None)
    return code is not None and ASKS in code.co_names


def pattern_on(module: nn.Module) -> Pattern | None:
    """The pattern that `use` gave an attention module."""
    found: Pattern | None = getattr(module, PATTERN, None)
    return found


def check_model(model: object) -> PreTrainedModel:
    """The model, if it is one of transformers that lets its attention be chosen."""
    if not isinstance(model, PreTrainedModel):
        raise ValueError(f"model must be a transformers model, got {type(model).__name__}")
    if not attention_modules(model):
        raise ValueError(f"{type(model).__name__} does not let its attention be chosen")
    return model


def use(
    model: PreTrainedModel, pattern: Pattern | str | Sequence[Pattern | str | None] | None
) -> dict[str, Pattern | None]:
    """Give a model's layers a pattern, one each, or None for the model's own: what each has now, by name.

    A pattern takes the place of the model's window, not of its causality: in a causal model it is joined with
    `causal`. Positions count from each row's first real token, and in packed documents from each one's first.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> config = LlamaConfig(vocab_size=8, hidden_size=8, num_hidden_layers=2, num_attention_heads=2)
    >>> use(LlamaForCausalLM(config), ["strided(3)", None])
    {'model.layers.0.self_attn': Strided(back=3), 'model.layers.1.self_attn': None}
    """
    check_model(model)
    modules = attention_modules(model)
    if model.config.is_encoder_decoder and pattern is not None:
        raise ValueError(
            f"patterns are for models of one stack, {type(model).__name__} has an encoder and a decoder"
        )
    if isinstance(pattern, list | tuple):
        given = list(pattern)
        if len(given) != len(modules):
            raise ValueError(
                f"pattern must be one, or one for each of the {len(modules)} layers, got {len(given)}"
            )
    else:
        given = [pattern] * len(modules)
    values = [None if one is None else pattern_of(one) for one in given]
    if model.config._attn_implementation != NAME:
        model.set_attn_implementation(NAME)
    for module, value in zip(modules.values(), values, strict=True):
        setattr(module, PATTERN, value)
    return dict(zip(modules, values, strict=True))


def open_folder(folder: str | Path) -> PreTrainedModel:
    """The model of a transformers folder, in use, of the class its config names, attending by Regard.

    A folder that cannot be opened, or that lacks weights, is refused in one line.
    """
    import transformers
    from transformers import AutoConfig

    if not (Path(folder) / "config.json").is_file():
        raise ValueError(f"{folder} holds no model of transformers: it has no config.json")
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        names = config.architectures or []
        kind = getattr(transformers, names[0], None) if names else transformers.AutoModel
        if kind is None:
            raise ValueError(f"transformers has no class {names[0]}")
        with quiet():
            model, info = kind.from_pretrained(
                folder, attn_implementation=NAME, local_files_only=True, output_loading_info=True
            )
    except Exception as error:  # of any kind: a folder is somebody else's
        said = " ".join(str(error).split())
        raise ValueError(f"{folder} cannot be opened: {said:.300}") from error
    if missing := sorted(info["missing_keys"]):  # which transformers would fill at random
        more = f" and {len(missing) - 1} more" if missing[1:] else ""
        raise ValueError(f"{folder} lacks the weights {missing[0]}{more} of a {type(model).__name__}")
    return check_model(model).eval()


@contextmanager
def quiet() -> Iterator[None]:
    """Transformers without its progress bars and reports of loading."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
