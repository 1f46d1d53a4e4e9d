"""A config.json of transformers, read strictly: a field that nobody asked for is refused by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from regard.sharing.sizes import pair
from regard.values import Json

Config = Json  # a config.json of theirs

# What changes no number that a model gives: names, tokens, training, and how others load or generate.
TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "mask_token_id",
          "unk_token_id", "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id")  # fmt: skip
LABELS = ("id2label", "label2id", "num_labels", "problem_type")
GENERATION = ("max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups",
              "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty",
              "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids",
              "num_return_sequences", "output_scores", "return_dict_in_generate", "remove_invalid_values",
              "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens",
              "cache_implementation", "use_cache")  # fmt: skip
BOOKKEEPING = ("_name_or_path", "_commit_hash", "_attn_implementation", "_attn_implementation_autoset",
               "_attn_implementation_internal", "_experts_implementation", "architectures",
               "attn_implementation", "auto_map", "chunk_size_feed_forward", "dtype", "torch_dtype",
               "finetuning_task", "gradient_checkpointing", "initializer_range", "initializer_factor",
               "model_type", "output_attentions", "output_hidden_states", "output_past", "prefix",
               "return_dict", "task_specific_params", "tf_legacy_loss", "tokenizer_class", "torchscript",
               "transformers.js_config", "transformers_version", "use_bfloat16")  # fmt: skip
HARMLESS = frozenset((*TOKENS, *LABELS, *GENERATION, *BOOKKEEPING))
PLAIN: dict[str, object] = {
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "tie_encoder_decoder": False,
    "pruned_heads": {},
}


@dataclass
class Settings:
    """The fields of one config, in a family's name; `finish` raises for those that nobody asked for.

    >>> settings = Settings({"hidden_size": 8, "swing": 3}, "Llama")
    >>> settings.size("hidden_size")
    8
    >>> settings.finish()
    Traceback (most recent call last):
        ...
    ValueError: Llama with swing=3 is not supported: the field is not known here and may change the result
    """

    data: Mapping[str, object]
    family: str
    asked: set[str] = field(default_factory=set)

    def take(self, name: str, default: object = None) -> object:
        """The value as it is; absent and null are the default."""
        self.asked.add(name)
        value = self.data.get(name)
        return default if value is None else value

    def size(self, name: str, default: int | None = None) -> int:
        """A positive integer."""
        value = self.take(name, default)
        if value is None:
            raise ValueError(f"{self.family}: config.json lacks {name}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{self.family}: {name} must be a positive integer, got {name}={value!r}")
        return value

    def maybe_size(self, name: str) -> int | None:
        """A positive integer, or None where it is absent."""
        return None if self.take(name) is None else self.size(name)

    def sides(self, name: str, default: int) -> tuple[int, int]:
        """(rows, cols) of one integer or two."""
        return pair(name, self.take(name, default), 1)  # type: ignore[arg-type]

    def number(self, name: str, default: float) -> float:
        """A number that is not negative."""
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(f"{self.family}: {name} must be a number from 0 on, got {name}={value!r}")
        return float(value)

    def maybe_number(self, name: str, default: float | None = None) -> float | None:
        """A positive number; absent is the default and null is None."""
        self.asked.add(name)
        if self.data.get(name, default) is None:
            return None
        return self.number(name, default or 0.0)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.take(name, default)
        if not isinstance(value, bool):
            raise ValueError(f"{self.family}: {name} must be true or false, got {name}={value!r}")
        return value

    def word(self, name: str, default: str) -> str:
        """A text."""
        value = self.take(name, default)
        if not isinstance(value, str):
            raise ValueError(f"{self.family}: {name} must be a text, got {name}={value!r}")
        return value

    def words(self, name: str) -> list[str] | None:
        """Several texts, or None where there are none."""
        value = self.take(name)
        if value is not None and (
            not isinstance(value, list) or not all(isinstance(one, str) for one in value)
        ):
            raise ValueError(f"{self.family}: {name} must be a list of texts, got {name}={value!r}")
        return value

    def inner(self, name: str) -> Mapping[str, object] | None:
        """An object of its own, or None where there is none."""
        value = self.take(name)
        if value is not None and not isinstance(value, Mapping):
            raise ValueError(f"{self.family}: {name} must be an object, got {name}={value!r}")
        return value

    def must(self, **wanted: object) -> None:
        """Raise unless each has, or is absent and so defaults to, the value that our model computes."""
        for name, value in wanted.items():
            if (found := self.take(name, value)) != value:
                raise ValueError(f"{self.family} with {name}={found!r} is not supported, only {value!r}")

    def ignore(self, *names: str) -> None:
        """These change nothing in this family."""
        self.asked.update(names)

    def finish(self) -> None:
        """Raise for the first field that nobody asked for and that says something."""
        self.must(**PLAIN)
        for name in sorted(set(self.data) - self.asked - HARMLESS):
            if self.data[name] not in (None, [], {}):
                raise ValueError(
                    f"{self.family} with {name}={self.data[name]!r} is not supported: "
                    "the field is not known here and may change the result"
                )


class Inexpressible(ValueError):  # noqa: N818 - it says what a model is
    """What keeps a model of ours from being one of a family of theirs."""

    def __init__(self, family: str, faults: tuple[str, ...]) -> None:
        self.faults = faults
        super().__init__(f"transformers' {family} cannot express {'; '.join(faults)}")


def refuse(family: str, faults: Iterable[tuple[bool, str]]) -> None:
    """Raise with all that keeps a model of ours from being one of theirs."""
    found = tuple(text for wrong, text in faults if wrong)
    if found:
        raise Inexpressible(family, found)
